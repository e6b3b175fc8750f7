import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A connection on which a test writes every byte itself. */
export interface RawConnection {
  readonly socket: Socket;
  send(bytes: string | Uint8Array): void;
  /** All that has arrived, as Latin-1. */
  text(): string;
  /** The same once it matches; rejects when the server ends before. */
  until(pattern: RegExp): Promise<string>;
  /** All that ever arrives; resolves when the server has ended its side. */
  readonly ended: Promise<string>;
}

/** To the loopback address. */
export async function dial(port: number): Promise<RawConnection> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
  await once(socket, 'connect');
  let text = '';
  let over = false;
  const watchers = new Set<() => void>();
  const changed = (): void => {
    for (const watcher of watchers) watcher();
  };
  socket.on('error', () => {});
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
    changed();
  });
  const ended = new Promise<string>((resolve) => {
    const end = (): void => {
      over = true;
      changed();
      resolve(text);
      socket.destroy();
    };
    socket.once('end', end).once('close', end);
  });
  return {
    socket,
    send: (bytes) => void socket.write(bytes),
    text: () => text,
    ended,
    until: (pattern) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (!pattern.test(text) && !over) return;
          watchers.delete(look);
          if (pattern.test(text)) resolve(text);
          else reject(new Error(`the server closed after ${JSON.stringify(text)}`));
        };
        watchers.add(look);
        look();
      }),
  };
}
