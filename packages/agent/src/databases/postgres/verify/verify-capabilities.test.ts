import { testDatabase, type TestDatabase } from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TestedDatabase } from '../capability.fixture.ts';
import {
  callOf,
  capabilityOf,
  configOf,
  queryOf,
  textOfRows,
  type CapabilityOptions,
  openPostgres,
} from '../capability.fixture.ts';

const schema = `
  create type mood as enum ('sad', 'glad');
  create table diary (id int primary key, feeling mood not null, secret_note text);
  insert into diary values (1, 'glad', 'x');
  create view locked as select id from diary for update;
  create view sleepy as select 1 as id from pg_sleep(0);
  create function random() returns double precision language sql volatile as 'select 0.5';
  create function gen_random_bytes(int) returns bytea language sql volatile as 'select null::bytea';
  create function restless() returns int language sql volatile as 'select 1';
  create function writes() returns int language sql volatile as 'delete from diary returning id';
  create function steady(int) returns int language sql stable as 'select $1';
  create function twice(int, int) returns bool language sql volatile as 'select true';
  create operator === (leftarg = int, rightarg = int, function = twice);
  create type pair as (a int, b int);
  create table pairs (p pair, other pair);
  create function same(pair, pair) returns bool language plpgsql as 'begin return true; end';
  create function same(pair, int) returns bool language plpgsql as 'begin return true; end';
  create operator = (leftarg = pair, rightarg = pair, function = same);
  create operator = (leftarg = pair, rightarg = int, function = same);
  create view matching as select 1 as a from pairs where p = other;
  create function pair_of(text) returns pair language plpgsql as 'begin return null; end';
  create cast (text as pair) with function pair_of(text);
`;

let server: TestDatabase;
let database: TestedDatabase;
beforeAll(async () => {
  server = await testDatabase({ sql: [schema] });
  database = openPostgres(configOf(server));
});
afterAll(() => database.close());

async function faultsOf(
  sql: string,
  options: CapabilityOptions = {},
): Promise<{ message: string; detail: string }> {
  const { faults } = await database.verify([capabilityOf(sql, options)]);
  return {
    message: faults.map(({ path, message }) => `${path} ${message}`).join('\n'),
    detail: faults.map(({ detail }) => detail ?? '').join('\n'),
  };
}

test.each([
  [
    'select id as a\nfrom diary\nwhere feelin = 1',
    'line 3 of the SQL; Perhaps you meant to reference the column',
  ],
  ["select id as a\nfrom diary where secret_note = 'ä' || :q\n and ids = 1", 'line 3 of the SQL'],
  ['select steady() as a', 'line 1 of the SQL; '],
])('a terminal is told where the server refuses, and what it advises: %s', async (sql, hint) => {
  const { faults } = await database.verify([
    capabilityOf(sql, sql.includes(':q') ? { params: { q: { type: 'string' } } } : {}),
  ]);
  expect(faults[0]?.hint).toContain(hint);
  expect(faults[0]?.detail).not.toContain('line');
});

describe('what is refused, and what the public message says', () => {
  test.each<[string, CapabilityOptions, RegExp]>([
    ['select id as a from locked', {}, /writes or locks rows/],
    ['select nextval(1) as a', {}, /calls nextval, .* never allowed/],
    ['select id as a from sleepy', {}, /calls pg_sleep, which is volatile/],
    ['select restless() as a', {}, /a function of the database, which is volatile/],
    ['select 1 as a where public.random() > 0', {}, /a function of the database, which is volatile/],
    ['select 1 as a where gen_random_bytes(2) is null', {}, /a function of the database, which is volatile/],
    ['select steady(restless()) as a', {}, /which is volatile/],
    ['select 1 as a where 1 === 2', {}, /which is volatile/],
    ['select 1 as a from pairs where p = other', {}, /which is volatile/],
    ['select 1 as a from pairs where p in (other)', {}, /which is volatile/],
    ['select 1 as a from pairs where p in (select other from pairs)', {}, /which is volatile/],
    ['select case p when other then 1 end as a from pairs', {}, /which is volatile/],
    ['select 1 as a from pairs x join pairs y using (p)', {}, /which is volatile/],
    ['select 1 as a from pairs where nullif(p, other) is null', {}, /which is volatile/],
    ['select 1 as a from pairs where p is distinct from other', {}, /which is volatile/],
    ['select a from matching', {}, /which is volatile/],
    ["select 1 as a where 'x'::text::pair is null", {}, /a cast whose function is volatile/],
    ['select txid_current() as a', {}, /calls txid_current, .* never allowed/],
    ['select 1 as a where pg_current_xact_id() is null', {}, /calls pg_current_xact_id, .* never allowed/],
    ['select (r).restless as a from (select 1) r', {}, /refused by the database/],
    ['select 1 as b', {}, /result\.a is not a column of the SQL/],
    ['select 1 as a, 2 as a', {}, /two columns named a/],
    ['select 1 as a, 2 as b, 3 as b', {}, /two columns of one name/],
    ["select 'x' as a", {}, /result\.a the column is text/],
    ['select 1.5::numeric as a', {}, /the column is numeric: .*::bigint/],
    ['select sum(1::bigint) as a', {}, /the column is numeric/],
    ['select feeling as a from diary', {}, /the column is a type of the database/],
    ['select 1 as a', { result: { a: 'boolean' } }, /the column is integer/],
    ['select now() as a', { result: { a: 'date' } }, /::date/],
    ['select 1 as a', { result: { a: 'datetime' } }, /::timestamptz/],
    ['select 1 as a', { result: { a: 'array' } }, /the column is integer/],
    ['select array[1] as a', { result: { a: 'object' } }, /the column is integer\[\]/],
    ['select id as a from nowhere', {}, /a table or view does not exist/],
    ['select nothing as a from diary', {}, /a column does not exist/],
    [
      'select id as a from diary where id = :f',
      { params: { f: { type: 'string' } } },
      /params\.f is declared string, but the SQL takes it as integer: .* :f::integer/,
    ],
  ])('%s', async (sql, options, reason) => {
    expect((await faultsOf(sql, options)).message).toMatch(reason);
  });

  test('the words of the database and of the SQL are in the detail only', async () => {
    const { message, detail } = await faultsOf('select secret_note + 1 as a from diary');
    expect(detail).toContain('operator does not exist');
    expect(message).not.toMatch(/secret_note|diary|operator does not exist: /);
    const called = await faultsOf('select writes() as a');
    expect(called.message).not.toContain('writes()');
    expect(called.detail).toContain('public.writes');
  });
});

describe('what is allowed', () => {
  test.each<[string, CapabilityOptions]>([
    ['select steady(:n::int) as a', { params: { n: { type: 'integer' } } }],
    ['select id as a from diary where feeling = :f::mood', { params: { f: { type: 'string' } } }],
    ['select id as a from diary where feeling = :f', { params: { f: { type: 'string' } } }],
    ['select current_date - (current_date - :n) as a', { params: { n: { type: 'integer' } } }],
    ['select restless() as a', { allowFunctions: ['restless'] }],
    ['select id as a from diary where id = 1 and secret_note = :s', { params: { s: { type: 'string' } } }],
    ['select 1 as a from pairs where p = other', { allowFunctions: ['same'] }],
    ["select 1 as a where 'x'::text::pair is null", { allowFunctions: ['pair_of'] }],
    ['select 1 as a where pg_current_xact_id_if_assigned() is null', {}],
    ['select public.restless() as a', { allowFunctions: ['public.restless'] }],
    ['select id as a from sleepy', { allowFunctions: ['pg_catalog.pg_sleep'] }],
    ['select 1 as a where random() >= 0 and gen_random_uuid() is not null', {}],
    ["select extract(year from now())::int as a where current_setting('svc.api_key_name') <> 'nobody'", {}],
    ['with recursive t (a) as (values (1) union all select a + 1 from t where a < 3) select a from t', {}],
    ['values (1), (2)', { result: { column1: 'integer' } }],
    [
      'select id as a from diary order by id limit :n offset :m; -- done',
      { params: { n: { type: 'integer' }, m: { type: 'integer' } } },
    ],
    [
      'select id as a from diary where id = any(:ids)',
      { params: { ids: { type: 'array', items: { type: 'integer' } } } },
    ],
    ['select id as a from diary tablesample bernoulli (100)', {}],
  ])('%s', async (sql, options) => {
    expect(await faultsOf(sql, options)).toEqual({ message: '', detail: '' });
  });
});

test('a function is named once, however many operators of one name have it', async () => {
  const { message } = await faultsOf('select 1 as a from pairs where p = other');
  expect(message.split('\n')).toHaveLength(1);
});

describe('the ways out that others left open', () => {
  test.each([
    'select 1 as a; drop table diary',
    'commit; drop table diary',
    'select 1 as a) q; drop table diary; --',
    'select 1 as a) q offset 0) q) r limit 1) x) y; commit; drop table diary; --',
    'with x as (delete from diary returning id) select id as a from x',
    'select id as a into other from diary',
    "select 1 as a from query_to_xml('delete from diary', true, true, '')",
    'do $$ begin delete from diary; end $$',
    'begin; delete from diary',
    'set transaction read write; delete from diary',
    "copy diary to program 'true'",
    'explain analyze delete from diary',
    'select writes() as a',
  ])('%s', async (sql) => {
    expect((await faultsOf(sql)).message).not.toBe('');
    expect(await server.query('select id from diary')).toHaveLength(1);
  });

  test('a function that writes is stopped by the transaction even when it is allowed', async () => {
    const query = await queryOf(
      database,
      capabilityOf('select writes() as a', { allowFunctions: ['writes'] }),
    );
    await expect(query.run(callOf())).rejects.toMatchObject({ kind: 'failed' });
    expect(await server.query('select id from diary')).toHaveLength(1);
  });

  test('no value of a parameter is ever SQL', async () => {
    const params = { s: { type: 'string' } } as const;
    const query = await queryOf(
      database,
      capabilityOf('select -:n - 1 as a, :s as b', {
        params: { n: { type: 'integer' }, ...params },
        result: { a: 'integer', b: 'string' },
      }),
    );
    const s = "'; drop table diary; --\n$1 :s";
    expect(JSON.parse(textOfRows(await query.run(callOf({ n: -1, s }))))).toEqual([{ a: 0, b: s }]);
  });
});

test('the harmless functions of an extension are allowed in whatever schema it is', async () => {
  const own = await testDatabase({ sql: ['create schema crypto; create extension pgcrypto schema crypto'] });
  const database = openPostgres(configOf(own));
  const sql = (call: string): string => `select 1 as a where crypto.${call} is not null`;
  const capabilities = ['gen_random_bytes(8)', "gen_salt('md5')"].map((call, index) =>
    capabilityOf(sql(call), { name: `c${index}` }),
  );
  const { prepared, faults } = await database.verify(capabilities);
  expect(prepared.map(({ capability }) => capability)).toEqual(['c0']);
  expect(faults).toMatchObject([{ detail: 'volatile function crypto.gen_salt' }]);
  await database.close();
});

test('verification leaves no prepared statement behind', async () => {
  await faultsOf('select id as a from nowhere');
  const sql = "select count(*)::int as a from pg_prepared_statements where name like 'svc\\_verify%'";
  const query = await queryOf(database, capabilityOf(sql, { name: 'prepared' }));
  const answers = await Promise.all([1, 2, 3, 4].map(async () => textOfRows(await query.run(callOf()))));
  expect(new Set(answers)).toEqual(new Set(['[{"a":0}]']));
});
