import { createServer } from 'node:net';

const MOST_PORTS = 100;

/** `port`, or the next one that is free on 127.0.0.1; any for 0. Undefined where a hundred are taken. */
export async function freePort(port: number): Promise<number | undefined> {
  for (let tried = port; tried < port + MOST_PORTS && tried <= 65_535; tried += 1) {
    const found = await tryPort(tried);
    if (found !== undefined) return found;
  }
  return undefined;
}

function tryPort(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen(port, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' ? address?.port : undefined));
    });
  });
}
