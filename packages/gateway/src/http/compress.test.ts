import { randomBytes } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { dial } from '@svc/testkit';
import { afterEach, describe, expect, test } from 'vitest';
import { createCompressor, takesGzip } from './compress.ts';
import { post, startServer, type StartedServer } from './server-by-hand.testing.ts';

const started: StartedServer[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((server) => server.close()));
});

/** What gzip cannot make shorter. */
const PIECE = randomBytes(65_536);

describe('answers that are compressed', { tags: ['setting:GATEWAY_COMPRESS'] }, () => {
  /** Each answer is without end; counts what has been made of it. */
  async function endless(maxAnswers: number): Promise<{
    readonly port: number;
    readonly made: number[];
    readonly delivered: () => number;
    readonly plain: () => number;
  }> {
    const compressor = createCompressor(maxAnswers);
    const made: number[] = [];
    let delivered = 0;
    let plain = 0;
    const server = await startServer({
      call: async (exchange) => {
        const { write } = compressor;
        if (write === undefined) {
          plain++;
          exchange.send(200, [], []);
          return;
        }
        const at = made.push(0) - 1;
        function* pieces(): Generator<Buffer, void, undefined> {
          for (;;) {
            made[at] = (made[at] ?? 0) + 1;
            yield PIECE;
          }
        }
        exchange.stream(200, [], pieces(), () => delivered++, write);
      },
    });
    started.push(server);
    return { port: server.port, made, delivered: () => delivered, plain: () => plain };
  }

  test('are made only as far as they are taken, so many at once, and end with their callers', async () => {
    const { port, made, delivered, plain } = await endless(3);
    const clients = await Promise.all([1, 2, 3].map(() => dial(port)));
    for (const client of clients) {
      client.socket.pause();
      client.send(post('{}'));
    }
    let before = '';
    // Until the buffers of both ends are full.
    await expect
      .poll(
        () => {
          const grown = String(made) !== before;
          before = String(made);
          return grown || made.length < 3;
        },
        { interval: 100, timeout: 10_000 },
      )
      .toBe(false);
    for (const pieces of made) expect(pieces).toBeLessThan(500);
    // A further answer leaves as it is, at once.
    const another = await dial(port);
    another.send(post('{}'));
    await expect.poll(plain).toBe(1);
    for (const client of clients) client.socket.destroy();
    await expect.poll(delivered).toBe(3);
    const last = String(made);
    another.send(post('{}'));
    await expect.poll(() => made.length).toBe(4);
    expect(String(made.slice(0, 3))).toBe(last);
    another.socket.destroy();
    await expect.poll(delivered).toBe(4);
  });

  test('a caller who takes nothing is cut off', async () => {
    const compressor = createCompressor();
    let delivered = 0;
    const sockets: { setTimeout(ms: number): unknown; timeout?: number | undefined }[] = [];
    const server = await startServer({
      call: async (exchange) => {
        const pieces = Array.from({ length: 500 }, () => PIECE);
        exchange.stream(200, [], pieces, () => delivered++, compressor.write);
        sockets.push(exchange.request.socket);
      },
    });
    started.push(server);
    const client = await dial(server.port);
    client.socket.pause();
    client.send(post('{}'));
    await expect.poll(() => sockets[0]?.timeout, { interval: 5 }).toBe(10_000);
    expect(delivered).toBe(0);
    sockets[0]?.setTimeout(200);
    await expect.poll(() => delivered).toBe(1);
    client.socket.destroy();
  });

  test('arrive whole, many at once', async () => {
    const compressor = createCompressor();
    const texts = Array.from({ length: 20 }, (_, at) => `${at} `.repeat(200_000));
    let next = 0;
    const server = await startServer({
      call: async (exchange) => exchange.stream(200, [], [texts[next++] ?? ''], () => {}, compressor.write),
    });
    started.push(server);
    const bodies = await Promise.all(
      texts.map(async () => {
        const answer = await fetch(`http://127.0.0.1:${server.port}/api/v1/capabilities/get`, {
          method: 'POST',
        });
        return gunzipSync(await answer.arrayBuffer()).toString();
      }),
    );
    expect(new Set(bodies).size).toBe(texts.length);
    expect(bodies.filter((body) => !texts.includes(body))).toHaveLength(0);
  });
});

test.each<[string | undefined, boolean]>([
  [undefined, false],
  ['', false],
  ['identity', false],
  ['gzip', true],
  ['GZIP;q=0.5', true],
  ['deflate, gzip;q=1.0, *;q=0.5', true],
  ['gzip;q=0', false],
  ['gzip;q=0.000', false],
  ['*', true],
  ['*;q=0', false],
  ['*, gzip;q=0', false],
  ['gzipped', false],
])('Accept-Encoding: %s', (acceptEncoding, takes) => {
  expect(takesGzip(acceptEncoding)).toBe(takes);
});
