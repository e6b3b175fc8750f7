import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface KeyProxy {
  /** Without a trailing slash. */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Passes what arrives on a free port of this machine on to `port`, with this API key added, for programs that
 * cannot send one. Method, path, headers (Host and Origin too) and bodies stay as they are, and both sides
 * stream; a client that leaves ends the request behind.
 */
export async function startKeyProxy(port: number, apiKey: string): Promise<KeyProxy> {
  const server = createServer({ keepAliveTimeout: 1000 }, (incoming, outgoing) =>
    passOn(port, apiKey, incoming, outgoing),
  );
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', resolve);
  });
  const address: AddressInfo | string | null = server.address();
  if (address === null || typeof address === 'string') throw new Error('cannot tell the port of the proxy');
  return {
    url: `http://127.0.0.1:${address.port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function passOn(port: number, apiKey: string, incoming: IncomingMessage, outgoing: ServerResponse): void {
  const behind = request({
    host: '127.0.0.1',
    port,
    method: incoming.method,
    path: incoming.url,
    headers: [...incoming.rawHeaders, 'X-API-Key', apiKey],
    agent: false,
    setHost: false,
  });
  behind.once('response', (answer) => {
    outgoing.sendDate = false;
    outgoing.writeHead(answer.statusCode ?? 502, answer.statusMessage, answer.rawHeaders);
    answer.pipe(outgoing);
    answer.on('error', () => outgoing.destroy());
  });
  // No answer of our own: the suite must not take it for the gateway's.
  behind.on('error', () => outgoing.destroy());
  outgoing.on('error', () => behind.destroy()).once('close', () => behind.destroy());
  incoming.pipe(behind);
}
