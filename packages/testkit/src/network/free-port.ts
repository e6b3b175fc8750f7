import { once } from 'node:events';
import { createServer } from 'node:net';

/** A TCP port of the loopback interface that nobody listened on a moment ago. */
export async function freePort(): Promise<number> {
  const port = await listenBriefly(0);
  if (port === undefined) throw new Error('cannot find a free port: the system gave none');
  return port;
}

export async function isPortFree(port: number): Promise<boolean> {
  return (await listenBriefly(port)) !== undefined;
}

async function listenBriefly(port: number): Promise<number | undefined> {
  const server = createServer().listen({ host: '127.0.0.1', port });
  try {
    await once(server, 'listening');
  } catch {
    return undefined;
  }
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : undefined;
}
