import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { answerOrders } from './child.ts';

export interface HolderOrder {
  readonly port: number;
  /** 0 only asks how many are open. */
  readonly count: number;
  /** Sends one request on each; otherwise nothing at all. */
  readonly greets: boolean;
}

/** As many at once as a listening socket keeps waiting. */
const STEP = 200;
/** Each source address has its own ports, so that connections of earlier rounds do not use them up. */
const SOURCES = 10;
const GREETING = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n';

const sockets: Socket[] = [];
let open = 0;

/** Resolves once connected and, when it greets, answered. */
async function openOne(port: number, source: number, greets: boolean): Promise<void> {
  const localAddress = `127.0.0.${2 + (source % SOURCES)}`;
  const socket = connect({ host: '127.0.0.1', port, localAddress, noDelay: true });
  sockets.push(socket);
  socket.on('error', () => {});
  await once(socket, 'connect');
  open++;
  socket.once('close', () => open--);
  if (greets) {
    socket.write(GREETING);
    await new Promise<unknown>((resolve, reject) => {
      socket
        .once('data', resolve)
        .once('close', () => reject(new Error('cannot hold idle connections: one was closed')));
    });
  }
  socket.resume();
}

/** Answers with how many are open altogether. */
answerOrders(async ({ port, count, greets }: HolderOrder): Promise<number> => {
  for (let from = 0; from < count; from += STEP) {
    const step = Array.from({ length: Math.min(STEP, count - from) }, (_, at) =>
      openOne(port, from + at, greets),
    );
    await Promise.all(step);
  }
  return open;
});
