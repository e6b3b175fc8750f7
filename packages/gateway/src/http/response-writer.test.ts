import { dial } from '@svc/testkit';
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import type { Exchange } from './exchange.ts';
import { ask, CALL, post, silentCalls, startServer, type StartedServer } from './server-by-hand.testing.ts';
import type { Handlers } from './server.ts';

const started: StartedServer[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((server) => server.close()));
});

async function start(handlers?: Partial<Handlers>): Promise<StartedServer> {
  const server = await startServer(handlers);
  started.push(server);
  return server;
}

describe('a caller who takes nothing of a large answer', () => {
  // Far more than two kernels' buffers hold.
  const LARGE = Buffer.alloc(32_000_000, 'x');

  test('is cut off, and the memory is free then and not before', async () => {
    let delivered = 0;
    const exchanges: Exchange[] = [];
    const { port, gateway } = await start({
      call: async (exchange) => {
        exchange.send(200, [], [LARGE], () => delivered++);
        exchanges.push(exchange);
      },
    });
    const client = await dial(port);
    client.socket.pause();
    client.send(post('{}'));
    await expect.poll(() => exchanges.length, { interval: 5 }).toBe(1);
    const socket = exchanges[0]?.request.socket;
    expect(socket?.timeout).toBe(10_000);
    expect(delivered).toBe(0);
    socket?.setTimeout(200);
    await expect.poll(() => gateway.inFlight, { interval: 20 }).toBe(0);
    expect(delivered).toBe(1);
    client.socket.destroy();
  });

  test('is cut off also when the answer waited behind another', async () => {
    const exchanges: Exchange[] = [];
    const { port, gateway } = await start({
      call: async (exchange) => void exchanges.push(exchange),
    });
    const client = await dial(port);
    client.socket.pause();
    client.send(post('{}') + post('{}'));
    await expect.poll(() => exchanges.length, { interval: 5 }).toBe(2);
    const [first, second] = exchanges;
    let delivered = 0;
    second?.send(200, [], [LARGE], () => delivered++);
    expect(first?.request.socket.timeout).not.toBe(10_000);
    first?.send(200, [], [Buffer.from('{}')]);
    await expect.poll(() => first?.request.socket.timeout, { interval: 5 }).toBe(10_000);
    first?.request.socket.setTimeout(200);
    await expect.poll(() => gateway.inFlight, { interval: 20 }).toBe(0);
    expect(delivered).toBe(1);
    client.socket.destroy();
  });

  test('is cut off also when it leaves many small answers', async () => {
    const exchanges: Exchange[] = [];
    const { port, gateway } = await start({
      call: async (exchange) => {
        exchanges.push(exchange);
        exchange.send(200, [], [Buffer.alloc(60_000, 'x')]);
        client.send(post('{}'));
      },
    });
    const client = await dial(port);
    client.socket.pause();
    client.send(post('{}'));
    await expect.poll(() => exchanges[0]?.request.socket.timeout, { interval: 20 }).toBe(10_000);
    exchanges[0]?.request.socket.setTimeout(200);
    await expect.poll(() => gateway.inFlight, { interval: 20 }).toBe(0);
    expect(exchanges[0]?.request.socket.destroyed).toBe(true);
    client.socket.destroy();
  }, 20_000);

  test('is cut off also when it goes on sending', async () => {
    const { handlers, next } = silentCalls();
    const { port, gateway } = await start(handlers);
    const client = await dial(port);
    client.socket.pause();
    client.send(post('{}'));
    const exchange = await next();
    await once(exchange.request.resume(), 'end');
    exchange.send(200, [], [LARGE]);
    exchange.request.socket.setTimeout(300);
    const drip = setInterval(() => client.send('\r\n'), 50);
    await expect.poll(() => gateway.inFlight, { interval: 20 }).toBe(0);
    clearInterval(drip);
    client.socket.destroy();
  });

  test('and takes it in the end leaves no time-out to the call behind it', async () => {
    const exchanges: Exchange[] = [];
    const { port } = await start({ call: async (exchange) => void exchanges.push(exchange) });
    const client = await dial(port);
    client.socket.pause();
    client.send(post('{}') + post('{}'));
    await expect.poll(() => exchanges.length, { interval: 5 }).toBe(2);
    const [first, second] = exchanges;
    const socket = first?.request.socket;
    first?.send(200, [], [LARGE]);
    expect(socket?.timeout).toBe(10_000);
    client.socket.resume();
    await expect.poll(() => socket?.timeout, { interval: 5 }).toBe(0);
    expect(socket?.writableLength).toBe(0);
    second?.send(200, ['Connection', 'close'], [Buffer.from('{}')]);
    expect((await client.ended).endsWith('\r\n\r\n{}')).toBe(true);
  });

  test('is not cut off while it takes something', async () => {
    let delivered = 0;
    const { port, gateway } = await start({
      call: async (exchange) => {
        exchange.send(200, [], [LARGE], () => delivered++);
        exchange.request.socket.setTimeout(800);
      },
    });
    const client = connect({ port, host: '127.0.0.1' });
    client.write(post('{}'));
    let taken = 0;
    await new Promise<void>((resolve) => {
      client.on('data', (chunk: Buffer) => {
        taken += chunk.length;
        if (taken > LARGE.length) resolve();
        // Slow at first, for longer than the time-out.
        else if (taken < 10_000_000) {
          client.pause();
          setTimeout(() => client.resume(), 10);
        }
      });
    });
    await expect.poll(() => gateway.inFlight, { interval: 5 }).toBe(0);
    expect(delivered).toBe(1);
    client.destroy();
  });
});

describe('an answer in pieces', () => {
  const PIECE = Buffer.alloc(65_536, 'x');

  test('arrives whole, piece after piece', async () => {
    let delivered = 0;
    const { port } = await start({
      call: async (exchange) =>
        exchange.stream(
          200,
          [],
          Array.from({ length: 100 }, () => PIECE),
          () => delivered++,
        ),
    });
    const { status, headers, text } = await ask(port, CALL, { method: 'POST' });
    expect([status, headers['content-type'], text.length]).toEqual([
      200,
      'application/json',
      100 * PIECE.length,
    ]);
    await expect.poll(() => delivered).toBe(1);
  });

  test('is made only as far as it is taken, and no further once its caller is gone', async () => {
    let made = 0;
    let delivered = 0;
    function* pieces(): Generator<Buffer, void, undefined> {
      for (; made < 10_000; made++) yield PIECE;
    }
    const { port, gateway } = await start({
      call: async (exchange) => exchange.stream(200, [], pieces(), () => delivered++),
    });
    const client = await dial(port);
    client.socket.pause();
    client.send(post('{}'));
    let before = -1;
    // Until the buffers of both ends are full.
    await expect
      .poll(
        () => {
          const grown = made > before;
          before = made;
          return grown;
        },
        { interval: 100 },
      )
      .toBe(false);
    expect(made).toBeGreaterThan(0);
    expect(made).toBeLessThan(500);
    expect(delivered).toBe(0);
    client.socket.destroy();
    await expect.poll(() => delivered).toBe(1);
    expect(made).toBeLessThan(500);
    expect(gateway.inFlight).toBe(0);
  });
});

test('a connection is closed when it stays idle after a large answer', async () => {
  const server = await startServer(
    { call: async (exchange) => exchange.send(200, [], [Buffer.alloc(300_000, 'x')]) },
    { keepAliveMs: 1000 },
  );
  started.push(server);
  const { port } = server;
  const client = await dial(port);
  client.send(post('{}'));
  const text = await client.ended;
  expect(text).toMatch(/^HTTP\/1\.1 200 [^]*^connection: keep-alive\r$/im);
  expect(text).toMatch(/x{300000}$/);
  client.socket.destroy();
});
