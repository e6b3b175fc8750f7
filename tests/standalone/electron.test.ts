import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { temporaryFolder, testDatabase, type TestDatabase } from '@svc/testkit';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { asInElectron } from './electron.testing.ts';
import { startStdio, type StdioClient } from './stdio.testing.ts';

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
const CURE = `npm install -g ./svc-${version}.tgz`;

let database: TestDatabase;

beforeAll(async () => {
  database = await testDatabase({
    sql: [
      'create table book (id integer primary key, title text not null)',
      "insert into book select n, 'Book ' || n from generate_series(1, 50) n",
    ],
  });
});

const SERVICE = 'service: { title: Library, version: 1.2.0, description: Books of a library }\n';
const GET_BOOK = `
  get_book:
    description: A book by its number
    sql: select id, title from book where id = :id
    params: { id: { type: integer, required: true } }
    result: { id: { type: integer }, title: { type: string } }
`;

/** A capability file for the database, or for its account at another port. */
function fileFor(
  { host, port, name, user, password }: Omit<TestDatabase, 'close'>,
  more = '',
  capabilities = GET_BOOK,
): string {
  return `${SERVICE}database: { host: ${host}, port: ${port}, name: ${name}, user: ${user}, password: "${password}" }
${more}capabilities:${capabilities}`;
}

async function start(
  text: string | undefined,
  args: readonly string[] = [],
): Promise<{ readonly client: StdioClient; readonly file: string }> {
  const folder = await temporaryFolder('electron');
  onTestFinished(() => folder.remove());
  const file = join(folder.path, 'library.yaml');
  if (text !== undefined) await writeFile(file, text);
  const source = text === undefined ? args : ['--config', file, ...args];
  const client = await startStdio(source, { within: await asInElectron(folder.path) });
  onTestFinished(async () => void (await client.process.stop()));
  return { client, file };
}

/** The processes that a process has started and that are still there. */
function childrenOf(pid: number): readonly string[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8')
      .split(' ')
      .filter((child) => child !== ''),
  );
}

describe('in Electron', () => {
  test.skipIf(process.platform !== 'linux')('a file is checked and served by one process', async () => {
    const { client } = await start(fileFor(database));
    const { result } = await client.initialize();
    expect(result).toMatchObject({ serverInfo: { name: 'svc', title: 'Library' } });
    expect(childrenOf(client.process.pid)).toEqual([]);
    const called = await client.request('tools/call', { name: 'get_book', arguments: { id: 7 } });
    expect(called.result?.['structuredContent']).toEqual({ rows: [{ id: 7, title: 'Book 7' }], count: 1 });
    client.end();
    expect(await client.process.exited).toEqual({ code: 0, signal: null });
  });

  test('a changed file is checked and served, and a faulty one is refused', async () => {
    const { client, file } = await start(fileFor(database));
    await client.initialize();
    await client.request('tools/list');
    await writeFile(file, fileFor(database, '', `${GET_BOOK}${GET_BOOK.replace('get_book', 'find_book')}`));
    await client.process.waitForLine((line) => line.includes('notifications/tools/list_changed'));
    const listed = await client.request('tools/list');
    expect(listed.result?.['tools']).toMatchObject([{ name: 'get_book' }, { name: 'find_book' }]);
    await writeFile(file, fileFor(database, '', GET_BOOK.replace('from book', 'from books')));
    await client.process.waitForLine((line, stream) => stream === 'stderr' && /reload/i.test(line));
    const called = await client.request('tools/call', { name: 'find_book', arguments: { id: 8 } });
    expect(called.result?.['structuredContent']).toMatchObject({ count: 1 });
  });

  test('a URL is served', async () => {
    const { host, port, name, user, password } = database;
    const url = `postgres://${user}:${encodeURIComponent(password)}@${host}:${port}/${name}`;
    const { client } = await start(undefined, ['--url', url]);
    await client.initialize();
    const listed = await client.request('tools/list');
    expect(JSON.stringify(listed.result)).toContain('get_book');
  });

  test('faults of the file are told', async () => {
    const { client } = await start(fileFor(database, '', GET_BOOK.replace('from book', 'from books')));
    const { error } = await client.initialize();
    expect(error).toMatchObject({
      code: -32603,
      message: expect.stringMatching(/library\.yaml: capabilities\.get_book\.sql: /),
    });
    client.end();
    expect(await client.process.exited).toEqual({ code: 2, signal: null });
  });

  test('what needs processes is a start fault that names the way out', async () => {
    const { client } = await start(
      `${SERVICE}runtime: { workers: 2 }
databases:
  books: { driver: postgres, host: 127.0.0.1, name: books, user: reader, password: x }
  shelves: { driver: sqlite, file: shelves.db }
  loans: { driver: duckdb, file: loans.duckdb }
capabilities:
  one: { description: One, database: books, sql: select 1 as a, result: { a: { type: integer } } }
`,
    );
    const { error } = await client.initialize();
    expect(error?.data).toEqual({
      faults: [
        ['databases.shelves.driver', 'sqlite', 5],
        ['databases.loans.driver', 'duckdb', 6],
        ['runtime.workers', 'above 1', 2],
      ].map(([path, what, line]) => ({
        path,
        message: expect.stringMatching(new RegExp(`^${what} needs processes .*${CURE}`)),
        line,
        column: expect.any(Number),
      })),
    });
  });

  test.each(['sqlite', 'duckdb'])('so is a URL of %s', async (scheme) => {
    const { client } = await start(undefined, ['--url', `${scheme}:///srv/books.db`]);
    const { error } = await client.initialize();
    expect(error?.message).toMatch(new RegExp(`^svc cannot start: database: ${scheme} needs .*${CURE}`));
  });

  test('the end of input ends checks that wait for a database', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    onTestFinished(() => void silent.close());
    // eslint-disable-next-line typescript/no-unsafe-type-assertion -- listening on a TCP port
    const { port } = silent.address() as AddressInfo;
    const asked = once(silent, 'connection');
    const { client } = await start(fileFor({ ...database, host: '127.0.0.1', port }));
    const [socket] = await asked;
    socket.resume().on('error', () => {});
    client.end();
    expect(await client.process.exited).toEqual({ code: 0, signal: null });
  });
});
