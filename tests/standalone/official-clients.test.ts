import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SVC, temporaryFolder, testDatabase, type TemporaryFolder, type TestDatabase } from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { startCurrent, startFirst, type ConnectedClient, type Start } from '../mcp-clients.testing.ts';

/** The official clients for TypeScript, each of which starts `svc stdio` as its server. */
const LEGACY = '2025-11-25';
const MODERN = '2026-07-28';
const CLIENTS: readonly (readonly [string, Start, string])[] = [
  ['client 2, legacy', startCurrent('legacy'), LEGACY],
  // It tells the era by a second process, which it ends at once.
  ['client 2, auto', startCurrent('auto'), MODERN],
  ['client 2, pinned', startCurrent({ pin: MODERN }), MODERN],
  ['client 1', startFirst, LEGACY],
];

let database: TestDatabase;
let folder: TemporaryFolder;
let file: string;
beforeAll(async () => {
  const sql =
    "create table book (id integer primary key, title text); insert into book values (7, 'Orlando')";
  database = await testDatabase({ sql: [sql] });
  const { host, port, name, user, password } = database;
  folder = await temporaryFolder('library');
  file = join(folder.path, 'library.yaml');
  await writeFile(
    file,
    `service: { title: Library, version: 1.0.0 }
database: { host: ${host}, port: ${port}, name: ${name}, user: ${user}, password: "${password}" }
capabilities:
  get_book:
    description: A book by its number
    sql: select id, title from book where id = :id
    params: { id: { type: integer, required: true, minimum: 1 } }
    result: { id: { type: integer }, title: { type: string } }
  sleep:
    description: Takes very long
    sql: select pg_sleep(20)::text as slept
    policy: { timeout: 1m, allow_functions: [pg_sleep] }
    result: { slept: { type: string } }
`,
  );
});
afterAll(() => folder?.remove());

function outcome(call: Promise<unknown>): Promise<'answered' | 'failed'> {
  return call.then(
    () => 'answered',
    () => 'failed',
  );
}

async function sleeping(): Promise<number> {
  const sql =
    "select pid from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'";
  return (await database.query(sql)).length;
}

describe.each(CLIENTS)('%s', (_name, start, revision) => {
  const started = async (path = file): Promise<ConnectedClient> => {
    const client = await start(SVC, ['stdio', '--config', path]);
    onTestFinished(() => client.close());
    return client;
  };

  test('lists the tools, gets rows, and hears what is wrong with a parameter', async () => {
    const client = await started();
    expect([client.revision, client.server]).toEqual([revision, 'svc']);
    expect(await client.toolNames()).toEqual(['get_book', 'sleep']);
    const rows = { rows: [{ id: 7, title: 'Orlando' }], count: 1 };
    expect(await client.call('get_book', { id: 7 })).toEqual({
      structured: rows,
      texts: [JSON.stringify(rows)],
      isError: false,
    });
    const refused = await client.call('get_book', { id: 0 });
    expect([refused.isError, refused.texts[0]]).toEqual([true, expect.stringContaining('id: must be >= 1')]);
    expect(client.complaints).toEqual([]);
  });

  test('cancels a query in the database', async () => {
    const client = await started();
    const abort = new AbortController();
    const call = outcome(client.call('sleep', {}, abort.signal));
    await expect.poll(sleeping).toBe(1);
    abort.abort();
    expect(await call).toBe('failed');
    await expect.poll(sleeping, { timeout: 1000 }).toBe(0);
    expect((await client.call('get_book', { id: 7 })).isError).toBe(false);
    expect(client.complaints).toEqual([]);
  });

  test('leaves no query when it closes amid a call', async () => {
    const client = await started();
    const call = outcome(client.call('sleep', {}));
    await expect.poll(sleeping).toBe(1);
    await client.close();
    expect(await call).toBe('failed');
    await expect.poll(sleeping, { timeout: 1000 }).toBe(0);
  });

  test('hears why nothing is served', async () => {
    const reason = /svc cannot start: .*none\.yaml: .*there is no such file/;
    const refused = async (): Promise<unknown> => (await started(join(folder.path, 'none.yaml'))).toolNames();
    await expect(refused()).rejects.toThrow(reason);
  });
});
