import { once } from 'node:events';
import { dial, startFaultProxy, type RawConnection } from '@svc/testkit';
import { afterEach, expect, test } from 'vitest';
import { startServer, type StartedServer } from '../server-by-hand.testing.ts';

const KEEP_ALIVE_MS = 3000;
const HEALTH = 'GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n';

const started: StartedServer[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((server) => server.close()));
});

async function start(): Promise<StartedServer> {
  const server = await startServer({}, { keepAliveMs: KEEP_ALIVE_MS });
  started.push(server);
  return server;
}

const answers = (client: RawConnection): number => client.text().match(/HTTP\/1\.1 200 /g)?.length ?? 0;
const after = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

test('a caller is told of two seconds less than an idle connection is kept, and meets no closed one until then', async () => {
  const { port } = await start();
  const proxy = await startFaultProxy({ target: { host: '127.0.0.1', port } });
  proxy.delay(10);
  await Promise.all(
    Array.from({ length: 40 }, async (_, index) => {
      const client = await dial(proxy.port);
      client.send(HEALTH);
      const [, hint] = /^Keep-Alive: timeout=(\d+)\r$/m.exec(await client.until(/\{"ok":true\}/)) ?? [];
      expect(hint).toBe('1');
      // Up to the end of what it was told, and as late as an answer to the end of the connection could be on its way.
      await after(Number(hint) * 1000 - 20 + index);
      client.send(HEALTH);
      await expect.poll(() => answers(client), { interval: 5 }).toBe(2);
      client.socket.destroy();
    }),
  );
  await proxy.close();
});

test('an idle connection ends after its time, without a reset for what comes then', async () => {
  const { port } = await start();
  const client = await dial(port);
  client.send(HEALTH);
  await client.until(/\{"ok":true\}/);
  const answered = performance.now();
  await once(client.socket, 'end');
  expect(performance.now() - answered).toBeGreaterThan(KEEP_ALIVE_MS - 50);
  expect(performance.now() - answered).toBeLessThan(5 * KEEP_ALIVE_MS);
  let reset: unknown;
  client.socket.on('error', (error) => (reset = error));
  client.send(HEALTH);
  await after(50);
  expect(reset).toBeUndefined();
});

test('a request that has arrived when the time is up is answered', async () => {
  const { port } = await start();
  const client = await dial(port);
  client.send(HEALTH);
  await client.until(/\{"ok":true\}/);
  const answered = performance.now();
  await after(KEEP_ALIVE_MS - 100);
  client.send(HEALTH);
  // The process is busy until the time is over: it looks at its clock before it looks at what has arrived.
  while (performance.now() - answered < KEEP_ALIVE_MS + 300);
  await expect.poll(() => answers(client), { interval: 5 }).toBe(2);
  client.socket.destroy();
});
