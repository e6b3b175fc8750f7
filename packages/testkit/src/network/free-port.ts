import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/** Below the ports that systems give to outgoing connections, one of which would keep a server from its own. */
const LOWEST = 20_000;
const HIGHEST = 32_000;

/** A TCP port of the loopback interface that nobody listened on a moment ago. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(LOWEST, HIGHEST);
    if (await isPortFree(port)) return port;
  }
}

/**
 * Resolves to the port, of the loopback interface. Where none is given it is one that no outgoing connection gets, should
 * the server be closed and started again.
 */
export async function listenOnLoopback(server: Server, wanted?: number): Promise<number> {
  if (wanted !== undefined) {
    await listen(server, wanted);
    return wanted;
  }
  for (;;) {
    const port = randomInt(LOWEST, HIGHEST);
    if (await canListen(server, port)) return port;
  }
}

export async function isPortFree(port: number): Promise<boolean> {
  const server = createServer();
  if (!(await canListen(server, port))) return false;
  server.close();
  await once(server, 'close');
  return true;
}

async function canListen(server: Server, port: number): Promise<boolean> {
  try {
    await listen(server, port);
    return true;
  } catch {
    return false;
  }
}

async function listen(server: Server, port: number): Promise<void> {
  server.listen({ host: '127.0.0.1', port });
  await once(server, 'listening');
}
