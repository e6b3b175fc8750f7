import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import type { ValkeyConfig } from '../config/model.ts';

/** A server that answers as a Valkey does, until a test has it do something else. */
export interface HostileValkey {
  readonly config: ValkeyConfig;
  /** Connections that are open. */
  readonly sockets: ReadonlySet<Socket>;
  close(): Promise<void>;
}

const bulk = (text: string): string => `$${text.length}\r\n${text}\r\n`;

/** What a Valkey answers to the commands of the gateway. */
const ANSWERS: Readonly<Record<string, string>> = {
  HELLO: `%1\r\n${bulk('server')}${bulk('valkey')}`,
  EVALSHA: `*2\r\n${bulk('1')}${bulk('0.000')}`,
  SUBSCRIBE: `>3\r\n${bulk('subscribe')}${bulk('svc:revocations')}:1\r\n`,
  HKEYS: `*1\r\n${bulk('key-1')}`,
};

/** `answer` gets each command with its number among those of its name, and what a Valkey would answer. */
export async function startHostileValkey(
  answer: (socket: Socket, command: string, nth: number, usual: string) => void,
): Promise<HostileValkey> {
  const sockets = new Set<Socket>();
  const counts = new Map<string, number>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    socket.setEncoding('latin1').on('data', (text: string) => {
      for (const [word] of text.matchAll(/\b(?:HELLO|EVALSHA|SUBSCRIBE|HKEYS)\b/gi)) {
        const command = word.toUpperCase();
        const nth = (counts.get(command) ?? 0) + 1;
        counts.set(command, nth);
        answer(socket, command, nth, ANSWERS[command] ?? '');
      }
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return {
    config: {
      host: '127.0.0.1',
      port: address.port,
      tls: false,
      username: undefined,
      password: undefined,
      database: 0,
      prefix: 'svc:',
    },
    sockets,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Sends as long as the connection is there and takes more. */
export function flood(socket: Socket, head: string, piece: string): void {
  const bytes = Buffer.from(piece.repeat(Math.ceil(65_536 / piece.length)), 'latin1');
  const more = (): void => {
    while (!socket.destroyed && socket.write(bytes));
  };
  socket.on('drain', more).write(head);
  more();
}
