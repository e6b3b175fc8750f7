import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { runProcess, SVC, testDatabase, type TestDatabase } from '@svc/testkit';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { descendantsOf } from '../workers/workers.testing.ts';
import { LIBRARY, libraryFile } from './library.testing.ts';
import { folderOf, start } from './scene.testing.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase({ sql: LIBRARY });
});

const library = (text: string = libraryFile(database)) => folderOf(text);

/** A server that accepts connections and never answers. */
async function silentServer(): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
  });
  server.listen({ host: '127.0.0.1', port: 0 });
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('no address');
  return address.port;
}

describe('while the checks wait for a database that does not answer', () => {
  test('ping is answered at once, server/discover when the file is read, initialize after 8 seconds', async () => {
    const port = await silentServer();
    const { file } = await library(libraryFile({ ...database, host: '127.0.0.1', port }));
    const client = await start(['--config', file]);
    client.raw('{"jsonrpc":"2.0","id":"early","method":"ping"}\n');
    const startedAt = performance.now();
    const initialized = client.initialize();
    const discovered = client.stateless('server/discover');
    const listed = client.request('tools/list', undefined, 'list');
    await client.answer('early');
    await discovered;
    expect(performance.now() - startedAt).toBeLessThan(5000);
    expect((await discovered).result).toMatchObject({ resultType: 'complete' });
    expect((await initialized).result).toMatchObject({ serverInfo: { name: 'svc', title: 'Library' } });
    const lasted = performance.now() - startedAt;
    expect(lasted).toBeGreaterThan(7900);
    expect(lasted).toBeLessThan(11_000);
    client.end();
    const endedAt = performance.now();
    await client.process.exited;
    expect(performance.now() - endedAt).toBeLessThan(1000);
    await expect(listed).rejects.toThrow('it ended');
  });

  test.each([
    ['40 requests of a megabyte', 40, 1_000_000],
    ['2,000 small ones', 2000, 1],
  ])('of %s the last are refused, and ping is answered', async (_what, count, size) => {
    const port = await silentServer();
    const { file } = await library(libraryFile({ ...database, host: '127.0.0.1', port }));
    const client = await start(['--config', file]);
    const text = 'x'.repeat(size);
    for (let id = 1; id <= count; id += 1)
      client.raw(`{"jsonrpc":"2.0","id":${id},"method":"tools/list","params":{"text":"${text}"}}\n`);
    const { error } = await client.answer(count);
    expect(error?.message).toBe('too many requests wait for the start: send more once one is answered');
    await client.request('ping', undefined, 'ping');
    expect(client.messages().filter(({ id }) => Number(id) <= 10)).toEqual([]);
    client.end();
    expect((await client.process.exited).code).toBe(0);
  });

  test('the client is told when their process is killed', async () => {
    const port = await silentServer();
    const { file } = await library(libraryFile({ ...database, host: '127.0.0.1', port }));
    const client = await start(['--config', file]);
    await client.stateless('server/discover');
    const initialized = client.initialize();
    for (const pid of await descendantsOf(client.process.pid)) process.kill(pid, 'SIGKILL');
    expect((await initialized).error?.message).toMatch(/^svc cannot start: .*: the checks failed$/);
    client.end();
    expect((await client.process.exited).code).toBe(2);
  });

  test.each(['SIGTERM', 'SIGINT', 'SIGHUP', 'the end of input'] as const)('%s ends it', async (what) => {
    const port = await silentServer();
    const { file } = await library(libraryFile({ ...database, host: '127.0.0.1', port }));
    const client = await start(['--config', file]);
    await client.request('ping');
    await client.stateless('server/discover');
    if (what === 'the end of input') client.end();
    else client.process.signal(what);
    const endedAt = performance.now();
    expect(await client.process.exited).toEqual({ code: 0, signal: null });
    expect(performance.now() - endedAt).toBeLessThan(1000);
  });
});

test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
  '%s amid a call ends it with 0 within a second, without an answer',
  async (signal) => {
    const { file } = await library();
    const client = await start(['--config', file]);
    await client.initialize();
    client.raw(
      '{"jsonrpc":"2.0","id":"slow","method":"tools/call","params":{"name":"sleep","arguments":{"seconds":60}}}\n',
    );
    const sleeping =
      "select pid from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'";
    await expect.poll(async () => (await database.query(sleeping)).length).toBe(1);
    client.process.signal(signal);
    const endedAt = performance.now();
    expect(await client.process.exited).toEqual({ code: 0, signal: null });
    expect(performance.now() - endedAt).toBeLessThan(1000);
    expect(client.messages().filter(({ id }) => id === 'slow')).toEqual([]);
    await expect.poll(async () => (await database.query(sleeping)).length, { timeout: 1000 }).toBe(0);
  },
);

test('calls have half a second when the input ends', async () => {
  const { file } = await library();
  const client = await start(['--config', file]);
  await client.initialize();
  const call = (id: string, seconds: number): string =>
    `{"jsonrpc":"2.0","id":"${id}","method":"tools/call","params":{"name":"sleep","arguments":{"seconds":${seconds}}}}\n`;
  client.raw(call('quick', 0.2) + call('slow', 60));
  client.end();
  expect(await client.process.exited).toEqual({ code: 0, signal: null });
  expect(client.messages().map(({ id }) => id)).toEqual([1, 'quick']);
});

test('end of input on a file ends it, too', async () => {
  const { code, stdout } = await runProcess(SVC, ['stdio', '--config', (await library()).file]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
});
