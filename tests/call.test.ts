import { afterAll, beforeAll, expect, test } from 'vitest';
import { startService, testDatabase, type Answer, type Service } from '@svc/testkit';

const SQL = `
  create table book (id int primary key, title text not null, price numeric(8,2), added timestamptz);
  insert into book select i, 'Book ' || i, i / 4.0, '2026-01-01T00:00:00Z'::timestamptz + i * interval '1 day'
    from generate_series(1, 500) i;
  insert into book values (1000, 'Ο Μεγάλος 书 🐈 "quoted"', null, null);
`;

const CAPABILITIES = `
capabilities:
  get_book:
    description: One book
    sql: select id, title, price, added, 'secret' as hidden from book where id = :id
    params:
      id: { type: integer, required: true, minimum: 1 }
    result:
      title: { type: string }
      id: { type: integer }
      price: { type: number }
      added: { type: datetime }
  list_books:
    description: Books by number
    sql: select id, title from book where id >= coalesce(:from_id, 0) order by id
    params:
      from_id: { type: integer }
    policy: { max_rows: 10 }
    result:
      id: { type: integer }
      title: { type: string }
  all_books:
    description: A large result
    sql: select id, repeat(title, 400) as title from book order by id
    policy: { max_bytes: 8MB }
    result:
      id: { type: integer }
      title: { type: string }
  slow:
    description: Takes long
    sql: select pg_sleep(:seconds)::text as slept
    params:
      seconds: { type: number, required: true }
    policy: { timeout: 1s, allow_functions: [pg_sleep] }
    result:
      slept: { type: string }
  sleep:
    description: Takes very long
    sql: select pg_sleep(20)::text as slept
    policy: { timeout: 1m, allow_functions: [pg_sleep] }
    result:
      slept: { type: string }
  divide:
    description: Fails in the database
    sql: select 1 / :by as quotient
    params:
      by: { type: integer, required: true }
    result:
      quotient: { type: integer }
  unlisted:
    description: Hidden
    expose_in_openapi: false
    sql: select 1 as one
    result:
      one: { type: integer }
`;

/** The last book of the list. */
const ODD = { id: 1000, title: 'Ο Μεγάλος 书 🐈 "quoted"' };

let service: Service;
beforeAll(async () => {
  service = await startService({
    database: await testDatabase({ sql: [SQL] }),
    capabilities: CAPABILITIES,
    keys: { reader: 'get_book,unlisted,no_such', nobody: 'other' },
  });
});
afterAll(() => service.stop());

test('a call answers with the listed fields in their order', async () => {
  const answer = await service.call('get_book', { id: 3 });
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toBe('application/json');
  expect(answer.text).toBe(
    '{"rows":[{"title":"Book 3","id":3,"price":0.75,"added":"2026-01-04T00:00:00+00:00"}],"count":1}',
  );
});

test('text of every script arrives unharmed, NULL is null', async () => {
  const { json } = await service.call('get_book', { id: 1000 });
  expect(json).toEqual({
    rows: [{ ...ODD, price: null, added: null }],
    count: 1,
  });
});

test('no row is an empty list', async () => {
  expect((await service.call('get_book', { id: 77_777 })).text).toBe('{"rows":[],"count":0}');
});

test('a cap cuts at whole rows and says so', async () => {
  const { json } = await service.call('list_books', { from_id: 491 });
  expect(json).toEqual({
    rows: Array.from({ length: 10 }, (_, index) => ({ id: 491 + index, title: `Book ${491 + index}` })),
    count: 10,
    truncated: true,
  });
  const last = await service.call('list_books', { from_id: 492 });
  expect(last.json).toEqual({
    rows: [
      ...Array.from({ length: 9 }, (_, index) => ({ id: 492 + index, title: `Book ${492 + index}` })),
      ODD,
    ],
    count: 10,
  });
});

test('an absent and a null optional parameter are the same', async () => {
  const absent = await service.call('list_books', {});
  expect((await service.call('list_books', { from_id: null })).text).toBe(absent.text);
});

test('a result of several megabytes arrives whole', async () => {
  const answer = await service.call('all_books', {});
  expect(answer.json).toMatchObject({ count: 501 });
  expect(Number(answer.headers.get('content-length'))).toBe(Buffer.byteLength(answer.text));
  expect(answer.text.length).toBeGreaterThan(1_300_000);
});

test.each([
  ['an unknown parameter', 'get_book', { id: 1, nope: 2 }, 400, 'AGENT_INVALID_PARAMS'],
  ['a missing parameter', 'get_book', {}, 400, 'AGENT_INVALID_PARAMS'],
  ['a text for an integer', 'get_book', { id: '5' }, 400, 'AGENT_INVALID_PARAMS'],
  ['a value below the minimum', 'get_book', { id: 0 }, 400, 'AGENT_INVALID_PARAMS'],
  ['an array as body', 'get_book', [1], 400, 'GATEWAY_INVALID_REQUEST'],
  ['a query that runs too long', 'slow', { seconds: 30 }, 504, 'AGENT_QUERY_TIMEOUT'],
  ['a query that fails', 'divide', { by: 0 }, 502, 'AGENT_QUERY_FAILED'],
  ['an unknown capability', 'no_such', {}, 404, 'GATEWAY_CAPABILITY_NOT_FOUND'],
  ['a name that cannot be', 'No%20Such', {}, 404, 'GATEWAY_CAPABILITY_NOT_FOUND'],
])('%s is refused', async (_title, capability, params, status, code) => {
  const answer = await service.call(capability, params);
  expect(answer.json).toMatchObject({ error: { code } });
  expect(answer.status).toBe(status);
  expect(Object.keys(answer.json ?? {})).toEqual(['error']);
});

test('refused parameters are all named, their values never', async () => {
  const { json } = await service.call('get_book', { id: -42 });
  expect(json).toEqual({ error: { code: 'AGENT_INVALID_PARAMS', message: 'id: must be >= 1' } });
});

test('permissions: listed and known, listed and unknown, not listed', async () => {
  expect((await service.call('get_book', { id: 1 }, { key: 'reader' })).status).toBe(200);
  expect((await service.call('unlisted', {}, { key: 'reader' })).status).toBe(200);
  expect((await service.call('no_such', {}, { key: 'reader' })).status).toBe(404);
  const forbidden = await service.call('list_books', {}, { key: 'reader' });
  expect(forbidden.status).toBe(403);
  expect((await service.call('no_such_either', {}, { key: 'reader' })).text).toBe(forbidden.text);
});

test('the meta capability is out of reach', async () => {
  expect((await service.call('$describe', {})).status).toBe(404);
  expect((await service.call('%24describe', {})).status).toBe(404);
});

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

test('openapi.json shows what the key may call, without SQL', async () => {
  const all = await service.get('/openapi.json');
  const names = ({ json }: Answer): string[] =>
    isObject(json) && isObject(json['paths'])
      ? Object.keys(json['paths']).map((path) => path.replace('/api/v1/capabilities/', ''))
      : [];
  expect(names(all)).toEqual(['get_book', 'list_books', 'all_books', 'slow', 'sleep', 'divide']);
  expect(all.text).not.toMatch(/select|secret|pg_sleep/i);
  expect(names(await service.get('/openapi.json', { key: 'reader' }))).toEqual(['get_book']);
  expect(names(await service.get('/openapi.json', { key: 'nobody' }))).toEqual([]);
  expect((await service.get('/openapi.json', { key: null })).status).toBe(401);
  const etag = all.headers.get('etag') ?? '';
  expect((await service.get('/openapi.json', { headers: { 'if-none-match': etag } })).status).toBe(304);
});

test('health and readiness need no key', async () => {
  expect((await service.get('/healthz', { key: null })).json).toEqual({ ok: true, agent_connected: true });
  expect((await service.get('/readyz', { key: null })).status).toBe(200);
});

test('a caller that goes away has its query cancelled in the database', async () => {
  const database = await testDatabase();
  const sleeping = `select count(*)::int as n from pg_stat_activity where query like '%pg_sleep%' and state = 'active' and pid <> pg_backend_pid()`;
  const abort = new AbortController();
  const call = service.call('sleep', {}, { signal: abort.signal }).catch(() => 'gone');
  for (let n = 0; n === 0;) n = (await database.query<{ n: number }>(sleeping))[0]?.n ?? 0;
  const left = performance.now();
  abort.abort();
  expect(await call).toBe('gone');
  for (let n = 1; n > 0;) n = (await database.query<{ n: number }>(sleeping))[0]?.n ?? 0;
  expect(performance.now() - left).toBeLessThan(1000);
});
