import { testDatabase, type TestDatabase } from '@svc/testkit';
import { beforeAll, describe, expect, test } from 'vitest';
import { LIBRARY, libraryFile } from './library.testing.ts';
import { folderOf, start } from './scene.testing.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase({ sql: LIBRARY });
});

const capabilityFile = async (text = libraryFile(database)): Promise<string> => (await folderOf(text)).file;

describe('a file', () => {
  test('serves a client of each era, and ends with its input', async () => {
    const client = await start(['--config', await capabilityFile()]);
    const { result } = await client.initialize();
    expect(result).toEqual({
      protocolVersion: '2025-11-25',
      capabilities: { tools: { listChanged: true } },
      serverInfo: { name: 'svc', title: 'Library', version: expect.any(String) },
      instructions: 'Books of a library',
    });
    const listed = await client.request('tools/list');
    expect(listed.result?.['tools']).toMatchObject([
      { name: 'get_book' },
      { name: 'list_books' },
      { name: 'sleep' },
      { name: 'large' },
    ]);
    const called = await client.request('tools/call', { name: 'get_book', arguments: { id: 7 } });
    expect(called.result?.['structuredContent']).toEqual({ rows: [{ id: 7, title: 'Book 7' }], count: 1 });
    const discovered = await client.stateless('server/discover');
    expect(discovered.result).toMatchObject({ capabilities: { tools: { listChanged: true } } });
    const again = await client.stateless('tools/call', { name: 'get_book', arguments: { id: 8 } });
    expect(again.result).toMatchObject({ resultType: 'complete', structuredContent: { count: 1 } });
    client.end();
    expect(await client.process.exited).toEqual({ code: 0, signal: null });
    expect(client.messages().every(({ jsonrpc }) => jsonrpc === '2.0')).toBe(true);
  });

  test('has a call of which the client has had enough end, in the database too, without an answer', async () => {
    const client = await start(['--config', await capabilityFile()]);
    await client.initialize();
    client.raw(
      '{"jsonrpc":"2.0","id":"slow","method":"tools/call","params":{"name":"sleep","arguments":{"seconds":60}}}\n',
    );
    const sleeping =
      "select pid from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'";
    await expect.poll(async () => (await database.query(sleeping)).length).toBe(1);
    client.notify('notifications/cancelled', { requestId: 'slow' });
    await expect.poll(async () => (await database.query(sleeping)).length, { timeout: 1000 }).toBe(0);
    await client.request('ping');
    expect(client.messages().filter(({ id }) => id === 'slow')).toEqual([]);
  });

  test('leaves no query when the input ends amid a call', async () => {
    const client = await start(['--config', await capabilityFile()]);
    await client.initialize();
    client.raw(
      '{"jsonrpc":"2.0","id":1000,"method":"tools/call","params":{"name":"sleep","arguments":{"seconds":60}}}\n',
    );
    const sleeping =
      "select pid from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'";
    await expect.poll(async () => (await database.query(sleeping)).length).toBe(1);
    client.end();
    const endedAt = performance.now();
    expect((await client.process.exited).code).toBe(0);
    expect(performance.now() - endedAt).toBeLessThan(1000);
    await expect.poll(async () => (await database.query(sleeping)).length, { timeout: 1000 }).toBe(0);
  });

  test('refuses what is no message, and serves the next line', async () => {
    const client = await start(['--config', await capabilityFile()]);
    await client.initialize();
    const refused: readonly (readonly [string, string | Uint8Array, number])[] = [
      ['no JSON', '{"jsonrpc"\n', -32_700],
      ['torn UTF-8', Buffer.from([0x7b, 0x22, 0xc3, 0x22, 0x7d, 0x0a]), -32_700],
      ['a byte order mark', '\ufeff{"jsonrpc":"2.0","id":1,"method":"ping"}\n', -32_700],
      ['a line that is too long', `${'x'.repeat(3_000_000)}\n`, -32_600],
      ['a batch under a revision without', '[{"jsonrpc":"2.0","id":1,"method":"ping"}]\n', -32_600],
      ['a number', '7\n', -32_600],
    ];
    for (const [, line, code] of refused) {
      const before = client.messages().length;
      client.raw(line);
      await expect.poll(() => client.messages().length).toBe(before + 1);
      const last = client.messages().at(-1);
      expect(last).toMatchObject({ error: { code } });
      expect(last).not.toHaveProperty('id');
    }
    client.raw('\r\n  \n{"jsonrpc":"2.0","id":9,"result":{}}\n');
    expect(await client.request('ping')).toMatchObject({ result: {} });
  });
});

describe('a start that fails', () => {
  test.each([
    ['the file', (file: string) => file.replace('select id', 'selec id'), /capabilities\.get_book\.sql/],
    ['the database', (file: string) => file.replace(/port: \d+/, 'port: 1'), /database/],
    ['a variable', (file: string) => file.replace(/user: \w+/, 'user: "${NO_SUCH_USER}"'), /NO_SUCH_USER/],
  ])('for %s tells the client why, and ends with 2', async (_what, change, expected) => {
    const client = await start(['--config', await capabilityFile(change(libraryFile(database)))]);
    const { error } = await client.initialize();
    expect(error?.code).toBe(-32_603);
    expect(error?.message).toMatch(/^svc cannot start: .*library\.yaml: /);
    expect(error?.message).toMatch(expected);
    expect((await client.request('tools/list')).error?.message).toBe(error?.message);
    expect((await client.stateless('server/discover')).result).toMatchObject({ resultType: 'complete' });
    expect(client.process.output('stderr')).toMatch(expected);
    client.end();
    expect((await client.process.exited).code).toBe(2);
  });

  test('names no source, when none is given', async () => {
    const client = await start([]);
    const { error } = await client.initialize();
    expect(error?.message).toBe(
      'svc cannot start: no capability file and no database is named: use --config FILE or --url URL, or set AGENT_CAPABILITY_FILE or SVC_DATABASE_URL',
    );
    client.end();
    expect((await client.process.exited).code).toBe(2);
  });
});

test('a URL serves what init proposes, and says that nobody has reviewed it', async () => {
  const { host, port, name, user, password } = database;
  const url = `postgres://${user}:${encodeURIComponent(password)}@${host}:${port}/${name}`;
  const client = await start([], { env: { SVC_DATABASE_URL: url } });
  const { result } = await client.initialize();
  expect(result?.['instructions']).toMatch(/^Nobody has reviewed these queries/);
  const listed = await client.request('tools/list');
  const names = ['get_book', 'list_book', 'search_book'];
  expect(listed.result?.['tools']).toMatchObject(names.map((each) => ({ name: each })));
  expect(JSON.stringify(listed.result)).not.toContain('outputSchema');
  const called = await client.request('tools/call', { name: 'get_book', arguments: { id: 7 } });
  expect(called.result?.['structuredContent']).toEqual({
    rows: [{ id: 7, title: 'Book 7', note: 'x'.repeat(7) }],
    count: 1,
  });
  expect(client.process.output('stderr')).not.toContain(password);
});
