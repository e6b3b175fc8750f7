import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  createReleasers,
  startService,
  testDatabase,
  type Releasers,
  type Service,
  type TestDatabase,
} from '@svc/testkit';
import { connectCurrent, connectFirst, type Connect, type ConnectedClient } from './mcp-clients.testing.ts';

/** The official clients, each as its users have it, against a running service. */
const LEGACY = '2025-11-25';
const MODERN = '2026-07-28';
const CLIENTS: readonly (readonly [string, Connect, string])[] = [
  ['client 2, legacy', connectCurrent('legacy'), LEGACY],
  ['client 2, auto', connectCurrent('auto'), MODERN],
  ['client 2, pinned', connectCurrent({ pin: MODERN }), MODERN],
  ['client 1', connectFirst, LEGACY],
];

const SQL = `
  create table book (id int primary key, title text not null, price numeric(8,2), added timestamptz);
  insert into book select i, 'Book ' || i, i / 4.0, '2026-01-01T00:00:00Z'::timestamptz + i * interval '1 day'
    from generate_series(1, 20) i;
  insert into book values (1000, 'Ο Μεγάλος 书 🐈 "quoted"', null, null);
`;

/** More than fit on a page of `tools/list`. */
const MANY = Array.from({ length: 205 }, (_, index) => `many_${index}`);

const CAPABILITIES = `
capabilities:
  get_book:
    description: One book
    sql: select id, title, price, added from book where id = :id
    params:
      id: { type: integer, required: true, minimum: 1, description: Number of the book. }
    result:
      title: { type: string, nullable: false }
      id: { type: integer }
      price: { type: number }
      added: { type: datetime }
  list_books:
    description: Books by number
    sql: select id from book where id >= coalesce(:from_id, 0) order by id
    params:
      from_id: { type: integer }
    policy: { max_rows: 3 }
    result:
      id: { type: integer }
  nested:
    description: Values in values
    sql: >-
      select array['a', null, :label] as labels, jsonb_build_object('deep', jsonb_build_array(1, null)) as detail,
      null::jsonb as nothing
    params:
      label: { type: string }
    result:
      labels: { type: array }
      detail: { type: object, nullable: false }
      nothing: { type: object }
  sleep:
    description: Takes very long
    sql: select pg_sleep(20)::text as slept
    policy: { timeout: 1m, allow_functions: [pg_sleep] }
    result:
      slept: { type: string }
${MANY.map((name) => `  ${name}: { description: One of many, sql: select 1 as one, result: { one: { type: integer } } }\n`).join('')}`;

const BEARER = (key: string): Record<string, string> => ({ Authorization: `Bearer ${key}` });
const X_API_KEY = (key: string): Record<string, string> => ({ 'X-API-Key': key });

let database: TestDatabase;
let service: Service;
beforeAll(async () => {
  database = await testDatabase({ sql: [SQL] });
  service = await startService({
    database,
    capabilities: CAPABILITIES,
    keys: { reader: 'nested,get_book,no_such', several: 'get_book,list_books,nested,sleep' },
  });
});
afterAll(() => service?.stop());

let releasers: Releasers;
beforeEach(() => {
  releasers = createReleasers();
});
afterEach(() => releasers.closeAll());

const keyOf = (name: string): string => service.apiKeys[name] ?? '';

async function connected(connect: Connect, headers: Record<string, string>): Promise<ConnectedClient> {
  const client = await connect(`${service.url}/mcp`, { headers });
  await releasers.add(() => client.close());
  return client;
}

interface LoggedRequest {
  readonly method: string;
  readonly route: string;
  readonly http_status: number;
  readonly mcp_method?: string;
  readonly api_key_name: string;
}

/** What reached the gateway meanwhile, by its own log. */
async function requestsDuring(action: () => Promise<unknown>): Promise<readonly LoggedRequest[]> {
  const first = await logMark();
  await action();
  const last = await logMark();
  const lines = service.gateway.output('stdout').split('\n');
  const position = (id: string): number => lines.findIndex((line) => line.includes(id));
  return lines
    .slice(position(first) + 1, position(last))
    .filter((line) => line.includes('"event":"request"'))
    .map((line): LoggedRequest => JSON.parse(line));
}

/** The id of a request that the log has behind all that came before it. */
async function logMark(): Promise<string> {
  const id = (await service.get('/healthz', { key: null })).headers.get('x-request-id') ?? 'none';
  await service.gateway.waitForLine((line) => line.includes(id));
  return id;
}

/** Queries of this file that the database is busy with. */
async function sleeping(): Promise<number> {
  const [row] = await database.query<{ n: number }>(
    `select count(*)::int as n from pg_stat_activity where datname = current_database()
      and query like '%pg_sleep%' and state = 'active' and pid <> pg_backend_pid()`,
  );
  return row?.n ?? 0;
}

async function failure(promise: Promise<unknown>): Promise<Record<string, unknown>> {
  const error: unknown = await promise.then(
    () => new Error('it did not fail'),
    (error: unknown) => error,
  );
  if (!(error instanceof Error)) throw new Error(`not an error: ${String(error)}`);
  return Object.fromEntries([...Object.entries(error), ['message', error.message]]);
}

describe.each(CLIENTS)('%s', (_name, connect, revision) => {
  test.each([
    ['Authorization', BEARER],
    ['X-API-Key', X_API_KEY],
  ])('a whole session with %s', async (_header, credential) => {
    let client: ConnectedClient | undefined;
    const requests = await requestsDuring(async () => {
      client = await connected(connect, credential(keyOf('reader')));
      expect(await client.toolNames()).toEqual(['get_book', 'nested']);
      const { structured, texts, isError } = await client.call('get_book', { id: 3 });
      const row = { title: 'Book 3', id: 3, price: 0.75, added: '2026-01-04T00:00:00+00:00' };
      expect({ structured, isError }).toEqual({ structured: { rows: [row], count: 1 }, isError: false });
      expect(texts).toEqual([
        '{"rows":[{"title":"Book 3","id":3,"price":0.75,"added":"2026-01-04T00:00:00+00:00"}],"count":1}',
      ]);
      await client.close();
    });
    expect([client?.revision, client?.server]).toEqual([revision, 'svc-gateway']);
    const posts = requests.filter(({ method }) => method === 'POST');
    expect(posts.map(({ mcp_method }) => mcp_method)).toEqual([
      ...(revision === MODERN ? ['server/discover'] : ['initialize', 'notifications/initialized']),
      'tools/list',
      'tools/call',
    ]);
    expect(posts.every(({ http_status }) => http_status === 200 || http_status === 202)).toBe(true);
    expect(new Set(posts.map(({ api_key_name }) => api_key_name))).toEqual(new Set(['reader']));
    // A client may ask for the stream of notifications of older revisions, and does without.
    const others = requests.filter(({ method }) => method !== 'POST');
    expect(others.map(({ method, http_status }) => [method, http_status])).toEqual(
      others.map(() => ['GET', 405]),
    );
    expect(new Set(requests.map(({ route }) => route))).toEqual(new Set(['/mcp']));
  });

  test('all pages of a long list', async () => {
    const client = await connected(connect, BEARER(keyOf('all')));
    expect(await client.toolNames()).toEqual(['get_book', 'list_books', 'nested', 'sleep', ...MANY]);
  });

  test('null, nested values and every script pass the output schema that the client compiles', async () => {
    const client = await connected(connect, BEARER(keyOf('several')));
    await client.toolNames();
    expect((await client.call('get_book', { id: 1000 })).structured).toEqual({
      rows: [{ title: 'Ο Μεγάλος 书 🐈 "quoted"', id: 1000, price: null, added: null }],
      count: 1,
    });
    expect((await client.call('nested', {})).structured).toEqual({
      rows: [{ labels: ['a', null, null], detail: { deep: [1, null] }, nothing: null }],
      count: 1,
    });
    expect((await client.call('get_book', { id: 77 })).structured).toEqual({ rows: [], count: 0 });
    const cut = await client.call('list_books', {});
    expect(cut.structured).toEqual({ rows: [{ id: 1 }, { id: 2 }, { id: 3 }], count: 3, truncated: true });
    expect(cut.texts).toHaveLength(2);
  });

  test('a refused parameter is told to the model, with its name and what is wrong', async () => {
    const client = await connected(connect, BEARER(keyOf('several')));
    await client.toolNames();
    const { isError, structured, texts } = await client.call('get_book', { id: -42 });
    expect({ isError, structured }).toEqual({ isError: true, structured: undefined });
    expect(texts).toHaveLength(1);
    expect(texts[0]).toContain('id: must be >= 1');
    expect(texts[0]).not.toMatch(/select|-42/i);
    const missing = await client.call('get_book', {});
    expect([missing.isError, missing.texts[0]]).toEqual([true, expect.stringMatching(/\bid\b/)]);
  });

  test('a forbidden tool is an unknown tool', async () => {
    const client = await connected(connect, BEARER(keyOf('reader')));
    for (const name of ['list_books', 'no_such_either', 'no_such']) {
      const error = await failure(client.call(name, {}));
      expect(error).toMatchObject({
        code: -32_602,
        message: expect.stringContaining(`unknown tool: ${name}`),
      });
    }
  });

  test('the query of a caller that gives up is cancelled in the database', async () => {
    const client = await connected(connect, BEARER(keyOf('several')));
    const abort = new AbortController();
    const call = failure(client.call('sleep', {}, abort.signal));
    for (let n = 0; n === 0;) n = await sleeping();
    const left = performance.now();
    abort.abort();
    expect((await call)['message']).not.toBe('it did not fail');
    for (let n = 1; n > 0;) n = await sleeping();
    expect(performance.now() - left).toBeLessThan(5000);
    // What the gateway answers in the place of a result is nothing that the client complains of.
    expect(client.complaints).toEqual([]);
    expect((await client.call('get_book', { id: 3 })).isError).toBe(false);
  });

  test('a caller that gives up ends no query of another client, of the same key or another', async () => {
    const keys = ['several', 'several', 'all'];
    const clients = await Promise.all(keys.map((key) => connected(connect, BEARER(keyOf(key)))));
    const aborts = clients.map(() => new AbortController());
    // All have made the same requests so far, so that their ids are the same.
    const calls = clients.map((client, at) => failure(client.call('sleep', {}, aborts[at]?.signal)));
    for (let n = 0; n < 3;) n = await sleeping();
    for (const left of [2, 1, 0]) {
      aborts[left]?.abort();
      for (let n = 3; n > left;) n = await sleeping();
      expect(await sleeping()).toBe(left);
    }
    await Promise.all(calls);
  });

  test('a wrong key is an authentication error, and nobody is sent to sign in', async () => {
    const signIns: URL[] = [];
    const url = `${service.url}/mcp`;
    let error: Record<string, unknown> = {};
    const plain = await requestsDuring(async () => {
      error = await failure(connect(url, { headers: BEARER('svc_wrong_key') }));
    });
    expect(`${String(error['status'])} ${JSON.stringify(error)}`).toMatch(/401/);
    expect(plain.map(({ method, route, http_status }) => [method, route, http_status])).toEqual([
      ['POST', '/mcp', 401],
    ]);
    const signingIn = await requestsDuring(async () => {
      error = await failure(
        connect(url, { headers: BEARER('svc_wrong_key'), onSignIn: (to) => signIns.push(to) }),
      );
    });
    expect(error['message']).not.toBe('it did not fail');
    expect(signIns).toEqual([]);
    const others = signingIn.filter(({ route }) => route !== '/mcp');
    expect(others.length).toBeGreaterThan(0);
    expect(others.map(({ http_status }) => http_status)).toEqual(others.map(() => 404));
  });

  test('with a right key a client that could sign in does not try', async () => {
    const signIns: URL[] = [];
    const requests = await requestsDuring(async () => {
      const client = await connect(`${service.url}/mcp`, {
        headers: BEARER(keyOf('reader')),
        onSignIn: (to) => signIns.push(to),
      });
      await releasers.add(() => client.close());
      expect(await client.toolNames()).toEqual(['get_book', 'nested']);
    });
    expect(signIns).toEqual([]);
    expect(requests.filter(({ route }) => route !== '/mcp')).toEqual([]);
  });
});
