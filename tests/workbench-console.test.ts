import { readdir, readFile, readlink } from 'node:fs/promises';
import { request } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { AuthorFile, AuthoredCapability } from '@svc/console/data';
import {
  ask,
  startService,
  temporaryFolder,
  testDatabase,
  type TemporaryFolder,
  type TestDatabase,
} from '@svc/testkit';
import {
  createReader,
  fillFolder,
  saveFile,
  startDev,
  type Reader,
  type Workbench,
} from './workbench.testing.ts';

const MARKUP = `<img src=x onerror=alert(1)>`;
const FILM = `  get_film:
    description: One film
    sql: |
      SELECT id, title FROM film -- ${MARKUP}
      WHERE id = :id
    params: { id: { type: integer, required: true, minimum: 1, description: Its number } }
    result: { id: { type: integer }, title: { type: string } }
    examples: [{ params: { id: 1 }, expect: { rows: [{ title: Alien }] } }]
  films:
    sql: SELECT title FROM film
    result: { title: { type: string } }
  sorted_films:
    sql: SELECT id, title FROM film WHERE {filters}
    params: { part: { type: string, filter: "strpos(title, :part) > 0" } }
    sort: { by_title: title nulls last, newest: id desc }
    paging: id
    result: { id: { type: integer, nullable: false }, title: { type: string } }
`;

let database: TestDatabase;
let reader: Reader;
let folder: TemporaryFolder;
let bench: Workbench;
let origin: string;
let token: string;

async function open(args?: readonly string[]): Promise<void> {
  bench = await startDev(folder.path, args);
  const url = new URL(String(bench.first['console_url']));
  origin = url.origin;
  token = url.hash.replace('#token=', '');
}

beforeAll(async () => {
  database = await testDatabase({
    sql: ["create table film (id int primary key, title text); insert into film values (1, 'Alien')"],
  });
  reader = await createReader(database);
  folder = await temporaryFolder('author');
  await fillFolder(folder.path, reader);
});
afterAll(async () => {
  await folder.remove();
  await database.execute(`drop owned by ${reader.user}; drop role ${reader.user}`);
});

async function fileShown(): Promise<AuthorFile> {
  const { json } = await ask(`${origin}/console/data/author`, { apiKey: token });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what it holds is what is tested
  return json as AuthorFile;
}

async function shown(name: string): Promise<AuthoredCapability> {
  const { json } = await ask(`${origin}/console/data/author?name=${name}`, { apiKey: token });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what it holds is what is tested
  return json as AuthoredCapability;
}

/** Sends any headers, also those that `fetch` makes by itself. */
function statusOf(path: string, headers: Readonly<Record<string, string>>, method = 'GET'): Promise<number> {
  return new Promise((resolve, reject) => {
    request(origin + path, { method, headers, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    })
      .on('error', reject)
      .end();
  });
}

describe('with a gateway', () => {
  beforeAll(async () => {
    await saveFile(folder.path, database, reader, FILM);
    await open();
  });
  afterAll(() => bench.process.stop());

  test('the file, its SQL, plans and what lint says are shown', { tags: ['console:author'] }, async () => {
    expect(await fileShown()).toMatchObject({
      file: expect.stringContaining('capability.yaml'),
      accepted: true,
      url: bench.first['url'],
      faults: [],
      capabilities: [{ name: 'get_film', line: 6 }, { name: 'films' }, { name: 'sorted_films' }],
    });
    await expect
      .poll(async () => (await fileShown()).lint)
      .toEqual(
        expect.arrayContaining([
          expect.objectContaining({ rule: 'order-missing', level: 'warn', path: 'capabilities.films.sql' }),
        ]),
      );
    expect(await shown('get_film')).toMatchObject({
      description: 'One film',
      sql: `SELECT id, title FROM film -- ${MARKUP}\nWHERE id = :id\n`,
      params: [{ name: 'id', required: true, description: 'Its number', schema: { minimum: 1 } }],
      result: [{ name: 'id' }, { name: 'title' }],
      examples: [{ params: { id: 1 }, expect: { rows: [{ title: 'Alien' }] } }],
    });
    await expect
      .poll(async () => (await shown('get_film')).plan?.join('\n'))
      .toMatch(/Index Scan using film_pkey on (?:public\.)?film/);
    expect(await shown('sorted_films')).toMatchObject({
      params: [{ name: 'part', filter: 'strpos(title, :part) > 0' }, { name: 'sort' }, { name: 'cursor' }],
      orders: { by_title: 'title asc nulls last, id asc', newest: 'id desc' },
    });
    await expect
      .poll(async () => (await shown('sorted_films')).plan?.join('\n'))
      .toMatch(/Sort Key: film\.title, film\.id[^]*Filter: \(strpos\(title, \$1\) > 0\)/);
    const none = await ask(`${origin}/console/data/author?name=constructor`, { apiKey: token });
    expect([none.status, none.json]).toMatchObject([404, { error: { code: 'GATEWAY_NOT_FOUND' } }]);
  });

  test(
    'a save with faults is shown with its line and the words of the database',
    { tags: ['console:author'] },
    async () => {
      await saveFile(folder.path, database, reader, FILM.replace('SELECT title', 'SELECT tittle AS title'));
      await bench.next('refused');
      const refused = await fileShown();
      expect(refused).toMatchObject({
        accepted: false,
        fault_count: 1,
        faults: [
          {
            path: 'capabilities.films.sql',
            line: 15,
            column: 5,
            detail: expect.stringContaining('column "tittle" does not exist'),
            excerpt: expect.stringContaining('15 |     sql: SELECT tittle AS title FROM film\n'),
          },
        ],
      });
      // What was accepted last is what is served.
      expect(await shown('films')).toMatchObject({ sql: 'SELECT title FROM film' });
      await saveFile(
        folder.path,
        database,
        reader,
        FILM.replace('SELECT title', 'SELECT upper(title) AS title'),
      );
      await bench.next('served');
      expect(await fileShown()).toMatchObject({ accepted: true, faults: [] });
      expect((await shown('films')).sql).toContain('upper');
    },
  );

  test(
    'the pages of operators and calls go to the gateway, which learns no SQL',
    { tags: ['console:author'] },
    async () => {
      const page = await ask(`${origin}/console/`);
      expect(page.text).toContain('data-mode="author"');
      expect(page.headers.get('x-content-type-options')).toBe('nosniff');
      expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
      const apiKey = String(bench.first['api_key']);
      const headers = { authorization: `Bearer ${token}`, 'x-api-key': apiKey };
      const body = JSON.stringify({ id: 1 });
      const called = await ask(`${origin}/api/v1/capabilities/get_film`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body,
      });
      expect(called.json).toMatchObject({ rows: [{ id: 1, title: 'Alien' }] });
      expect((await ask(`${origin}/openapi.json`, { headers })).text).toContain('get_film');
      const calls = await ask(`${origin}/console/data/calls`, { apiKey: token });
      expect(calls.text).toContain('get_film');
      for (const name of ['overview', 'calls', 'keys', 'agents']) {
        const { status, text } = await ask(`${origin}/console/data/${name}`, { apiKey: token });
        expect(status).toBe(200);
        expect(text).not.toMatch(/select|console\/data\/author/i);
      }
      expect((await ask(`${origin}/console/data/overview`)).status).toBe(401);
      expect((await ask(`${origin}/metrics`, { apiKey: token })).status).toBe(404);
    },
  );

  test(
    'it is for who has the token, on this machine, and pages of its own',
    { tags: ['console:author'] },
    async () => {
      const right = { authorization: `Bearer ${token}` };
      const path = '/console/data/author';
      expect(await statusOf(path, right)).toBe(200);
      expect(await statusOf(path, {})).toBe(401);
      expect(await statusOf(path, right, 'POST')).toBe(405);
      expect(await statusOf(path, { ...right, host: 'evil.example' })).toBe(403);
      expect(await statusOf(path, { ...right, origin: 'https://evil.example' })).toBe(403);
      expect(await statusOf(path, { ...right, 'sec-fetch-site': 'cross-site' })).toBe(403);
      const wrong: number[] = [];
      for (let at = 0; at < 11; at += 1) wrong.push(await statusOf(path, { authorization: 'Bearer wrong' }));
      expect(wrong).toEqual([...Array.from({ length: 10 }, () => 401), 429]);
      expect(await statusOf(path, right)).toBe(200);
    },
  );

  test.skipIf(process.platform !== 'linux')(
    'the workbench listens on loopback alone',
    { tags: ['console:author'] },
    async () => {
      expect(await listening(bench.process.pid)).toEqual([`127.0.0.1:${new URL(origin).port}`]);
    },
  );
});

describe('without a gateway', () => {
  beforeEach(() => saveFile(folder.path, database, reader, FILM));

  test('the file alone is shown', { tags: ['console:author'] }, async () => {
    await open(['--no-gateway']);
    try {
      expect((await ask(`${origin}/console/`)).text).toContain('data-mode="author-alone"');
      const file = await fileShown();
      expect(file).toMatchObject({
        accepted: true,
        capabilities: [{ name: 'get_film' }, { name: 'films' }, { name: 'sorted_films' }],
      });
      expect(file.url).toBe(undefined);
      expect((await ask(`${origin}/console/data/overview`, { apiKey: token })).status).toBe(404);
    } finally {
      await bench.process.stop();
    }
  });
});

test.skipIf(process.platform !== 'linux')(
  'an agent that serves calls listens nowhere',
  { tags: ['console:author'] },
  async () => {
    const service = await startService({ database, capabilities: `capabilities:\n${FILM}` });
    try {
      for (const { pid } of service.agents) expect(await listening(pid)).toEqual([]);
      expect(await listening(service.gateway.pid)).toHaveLength(1);
    } finally {
      await service.stop();
    }
  },
);

/** TCP addresses that a process listens on. */
async function listening(pid: number): Promise<readonly string[]> {
  const folderOf = `/proc/${pid}/fd`;
  const links = await Promise.all(
    (await readdir(folderOf)).map((name) => readlink(`${folderOf}/${name}`).catch(() => '')),
  );
  const own = new Set(links.flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []));
  const tables = await Promise.all(
    ['tcp', 'tcp6'].map((name) => readFile(`/proc/${pid}/net/${name}`, 'utf8')),
  );
  return tables
    .flatMap((table) => table.split('\n').slice(1))
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , , state, , , , , , inode = '']) => state === '0A' && own.has(inode))
    .map(([, address = '']) => {
      const [host = '', port = ''] = address.split(':');
      const bytes = host.match(/../g) ?? [];
      return `${bytes
        .toReversed()
        .map((byte) => Number.parseInt(byte, 16))
        .join('.')}:${Number.parseInt(port, 16)}`;
    });
}
