import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { listenOnLoopback } from './free-port.ts';

/** A length that was changed may announce bytes that never come. */
const SILENCE_MS = 300;

/** A TCP proxy on the loopback interface that changes bytes which come from the target. */
export interface GarblingProxy {
  readonly host: string;
  readonly port: number;
  /** Resets every connection and stops listening. */
  close(): Promise<void>;
}

/** `share` of the bytes, from 0 to 1, become any other; a connection on which nothing comes for 300 ms is ended. */
export async function startGarblingProxy(options: {
  readonly target: { readonly host: string; readonly port: number };
  readonly share: number;
  readonly random: () => number;
}): Promise<GarblingProxy> {
  const { target, share, random } = options;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(target.port, target.host);
    const end = (): void => {
      for (const socket of [client, upstream]) {
        sockets.delete(socket);
        socket.destroy();
      }
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', end);
      socket.on('close', end);
    }
    upstream.setTimeout(SILENCE_MS, end);
    client.pipe(upstream);
    upstream.on('data', (chunk: Buffer) => {
      client.write(chunk.map((byte) => (random() < share ? Math.floor(random() * 256) : byte)));
    });
  });
  const port = await listenOnLoopback(server);
  return {
    host: '127.0.0.1',
    port,
    close: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}
