import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** As many at once as a listening socket keeps waiting. */
const STEP = 200;
const ANSWER = 'HTTP/1.1 ';

/** Connections to the loopback address, on each of which `request` is sent at once. */
export async function dialAll(
  port: number,
  count: number,
  request: string | (() => string),
  { reads = true }: { readonly reads?: boolean } = {},
): Promise<Socket[]> {
  const sockets: Socket[] = [];
  while (sockets.length < count) {
    const step = Array.from({ length: Math.min(STEP, count - sockets.length) }, async () => {
      const socket = connect({ host: '127.0.0.1', port, noDelay: true });
      socket.on('error', () => {});
      await once(socket, 'connect').catch(() => {});
      if (reads) socket.resume();
      socket.write(typeof request === 'string' ? request : request());
      return socket;
    });
    sockets.push(...(await Promise.all(step)));
  }
  return sockets;
}

/** Resolves to true once so many answers to pipelined requests have come, to false when the connection ends before. */
export async function answersTo(socket: Socket, requests: string, count: number): Promise<boolean> {
  let answers = 0;
  let rest = '';
  return await new Promise<boolean>((resolve) => {
    const settle = (all: boolean): void => {
      socket.off('data', onData).off('close', onClose);
      resolve(all);
    };
    const onData = (data: Buffer): void => {
      const text = rest + data.toString('latin1');
      answers += text.split(ANSWER).length - 1;
      rest = text.slice(1 - ANSWER.length);
      if (answers >= count) settle(true);
    };
    const onClose = (): void => settle(false);
    if (socket.destroyed) {
      resolve(false);
      return;
    }
    socket.on('data', onData).once('close', onClose);
    socket.write(requests, 'latin1');
  });
}
