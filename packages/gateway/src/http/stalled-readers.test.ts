import { randomBytes } from 'node:crypto';
import { dial, type RawConnection } from '@svc/testkit';
import { afterAll, expect, test } from 'vitest';
import { createCompressor } from './compress.ts';
import type { Exchange } from './exchange.ts';
import { post, startServer, type StartedServer } from './server-by-hand.testing.ts';

const servers: StartedServer[] = [];
const clients: RawConnection[] = [];
afterAll(async () => {
  for (const { socket } of clients) socket.destroy();
  await Promise.all(servers.map((server) => server.close()));
});

/** Node looks again when the ten seconds are over, and counts what the system has taken since. */
const CUT_OFF_MS = 20_000;
const PIECE_BYTES = 8192;

/** What gzip cannot make shorter. */
function* pieces(count: number): Generator<Buffer, void, undefined> {
  for (let made = 0; made < count; made++) yield randomBytes(PIECE_BYTES);
}

type Answer = (exchange: Exchange, count: number, delivered: () => void) => void;
const { write } = createCompressor();
const WAYS: Readonly<Record<string, Answer>> = {
  whole: (exchange, count, delivered) => exchange.send(200, [], [...pieces(count)], delivered),
  'in pieces': (exchange, count, delivered) => exchange.stream(200, [], pieces(count), delivered),
  'in gzip': (exchange, count, delivered) => exchange.stream(200, [], pieces(count), delivered, write),
};
const REQUESTS: Readonly<Record<string, string>> = {
  '': post('{}'),
  ' after another': `GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n${post('{}')}`,
};

test(
  'a caller that stops reading is cut off, at whatever byte of whatever answer',
  { timeout: 3 * CUT_OFF_MS },
  async () => {
    const open = new Set<string>();
    let held = 0;
    for (const [way, answer] of Object.entries(WAYS)) {
      for (const [how, request] of Object.entries(REQUESTS)) {
        // Many answers, the last of which the system does not take any more; and one that is too large for it.
        for (const count of [1, 1000]) {
          const name = `${count} ${way}${how}`;
          open.add(name);
          const server = await startServer({
            call: async (exchange) => {
              const { socket } = exchange.request;
              held++;
              answer(exchange, count, () => {
                held--;
                client.send(request);
              });
              if (socket.listenerCount('close', closed) === 0) socket.on('close', closed);
            },
          });
          const closed = (): void => void open.delete(name);
          servers.push(server);
          const client = await dial(server.port);
          clients.push(client);
          client.socket.pause();
          client.send(request);
        }
      }
    }
    await expect.poll(() => [...open], { interval: 200, timeout: 2 * CUT_OFF_MS }).toEqual([]);
    expect(held).toBe(0);
  },
);
