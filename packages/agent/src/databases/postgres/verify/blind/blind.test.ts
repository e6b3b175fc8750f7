import { testDatabase, type TestDatabase } from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  capabilityOf,
  configOf,
  openPostgres,
  type CapabilityOptions,
  type TestedDatabase,
} from '../../capability.fixture.ts';
import { createPool } from '../../connect.ts';
import { verifyCapabilities } from '../verify-capabilities.ts';
import { formOf, formsOf, ORDINARY, SHOP } from './blind.fixture.ts';

/** What keeps a statement from sharing, each in the schema `own`, which is not on the path. */
const OWN = `
  create schema own;
  create function own.same(int) returns int language sql immutable as 'select $1';
  create function public.shout(text) returns text language sql stable as 'select upper($1) || current_setting(''svc.api_key_name'', true)';
  create function public.who(text default current_user) returns text language sql stable as 'select $1';
  create function public.full_name(genre) returns text language sql immutable as 'select $1.name';
  create aggregate public.total(int) (sfunc = int4pl, stype = int);
  create function own.plus(int, text) returns int language sql immutable as 'select $1';
  create operator public.### (leftarg = int, rightarg = int, function = own.same_of);
  create domain own.checked as int check (own.same(value) > 0);
  create domain own.by_user as text check (value <> current_user);
  create domain own.plain as int check (value between 1 and 100 and value not in (7, 8));
  create type own.pair as (x int, y int);
  create type own.span as range (subtype = int4);

  create view own.books as select id, title from book;
  create table own.parent (id int);
  create table own.child () inherits (own.parent);
  create table own.parted (id int) partition by list (id);
  create table own.part partition of own.parted for values in (1);
  create table own.guarded (id int);
  alter table own.guarded enable row level security;
  create table own.forced (id int);
  alter table own.forced enable row level security, force row level security;
  create policy everyone on own.forced using (true);
  create sequence own.numbers;
  create extension file_fdw with schema own;
  create server files foreign data wrapper file_fdw;
  create foreign table own.far (id int) server files options (filename '/dev/null');

  create table own.by_expression (id int, name text);
  create index on own.by_expression (own.same(id));
  create table own.by_predicate (id int);
  create index on own.by_predicate (id) where own.same(id) > 0;
  create table own.by_check (id int check (own.same(id) > 0));
  create table own.by_statistics (id int, name text);
  create table own.by_class (id int);
  create operator class own.ints for type int using btree as operator 1 <, operator 2 <=, operator 3 =, operator 4 >=,
    operator 5 >, function 1 btint4cmp(int, int);
  create index on own.by_class (id own.ints);
  create table own.by_stored (id int, same int generated always as (own.same(id)) stored);
  create table own.typed (id int, feels mood, checked own.checked, by_user own.by_user, plain own.plain, plains own.plain[],
    pair own.pair, span own.span, class regclass, classes regclass[]);
  create index on own.typed (feels);
  alter table own.typed add check (feels in ('sad', 'glad'));
`.replace('own.same_of', 'int4pl');

let server: TestDatabase;
let database: TestedDatabase;
let version: number;
beforeAll(async () => {
  server = await testDatabase({ sql: [SHOP, OWN] });
  version = await server.version();
  if (version >= 140_000)
    await server.execute('create statistics own.stat on (own.same(id)), name from own.by_statistics');
  if (version >= 180_000)
    await server.execute(`create table own.by_virtual (id int, twice int generated always as (id * 2) virtual,
      low text generated always as (lower('A' || id)) virtual)`);
  database = openPostgres(configOf(server));
});
afterAll(() => database.close());

test('ordinary statements share a transaction', async () => {
  const forms = await formsOf(database, ORDINARY);
  expect(ORDINARY.map(([sql], at) => [sql, forms[at]])).toEqual(ORDINARY.map(([sql]) => [sql, 'shared']));
});

const string: CapabilityOptions = { result: { a: 'string' } };
const object: CapabilityOptions = { result: { a: 'object' } };

describe('others have a transaction of their own, for a reason', () => {
  test.each<[reason: string, sql: string, options?: CapabilityOptions]>([
    ['relation', 'select id as a from own.books'],
    ['relation', 'select id as a from own.parent'],
    ['relation', 'select id as a from only own.parent'],
    ['relation', 'select id as a from own.parted'],
    ['relation', 'select id as a from own.part'],
    ['relation', 'select id as a from own.far', { allowForeignTables: ['own.far'] }],
    ['relation', 'select last_value as a from own.numbers'],
    ['relation', 'select count(*) as a from pg_class'],
    ['relation', 'select count(*) as a from information_schema.tables'],
    ['relation', 'select count(*) as a from book, lateral (select from own.books) x'],
    ['row_security', 'select id as a from own.guarded'],
    ['row_security', 'select id as a from own.forced'],
    ['row_security', 'select (select max(id) from own.guarded) as a from book'],
    ['row_security', 'with x as (select id from own.guarded) select 1 as a from book'],
    ['function', 'select own.same(id) as a from book'],
    ['function', 'select shout(title) as a from book', string],
    ['function', 'select who() as a', string],
    ['function', 'select total(id) as a from book'],
    ['function', 'select id ### 1 as a from book'],
    ['function', 'select id operator(public.###) 1 as a from book'],
    ['function', 'select id as a from book order by own.same(id) limit 1'],
    ['function', 'select id as a from book limit own.same(1)'],
    ['function', "select current_setting('svc.api_key_name', true) as a", string],
    ['function', "select ('svc.api_key_name'::text).current_setting as a", string],
    ['function', "select id as a from book limit length(('svc.api_key_name'::text).current_setting)"],
    ['function', 'select current_user::text as a', string],
    ['function', 'select session_user::text as a', string],
    ['function', 'select user::text as a', string],
    ['function', 'select current_role::text as a', string],
    ['function', 'select current_catalog::text as a', string],
    ['function', 'select current_schema::text as a', string],
    ['function', 'select current_schema()::text as a', string],
    ['function', 'select current_database()::text as a', string],
    ['function', 'select version() as a', string],
    ['function', 'select pg_backend_pid() as a'],
    ['function', 'select inet_client_port() as a'],
    ['function', 'select random()::int as a'],
    ['function', "select count(*) as a from book where has_table_privilege('book', 'select')"],
    ['function', 'select pg_typeof(id)::text as a from book', string],
    ['function', "select id as a from book where to_tsvector('simple', title) @@ to_tsquery('simple', 'x')"],
    ['function', "select id as a from book where title @@ 'x'"],
    ['function', "select ts_rank('a'::tsvector, 'a'::tsquery)::int as a"],
    ['function', 'select count(*) as a from book tablesample system (10)'],
    ['function', 'select count(*) as a from book tablesample bernoulli (10) repeatable (1)'],
    ['function', "select convert_from(convert_to(title, 'UTF8'), 'UTF8') as a from book", string],
    ['function', 'select (regclass(title))::int as a from book'],
    ['type', "select 'book'::regclass::oid::int as a"],
    ['type', 'select b.tableoid::regclass::text as a from book b', string],
    ['type', "select '{book}'::regclass[]::text as a", string],
    ['type', 'select feels as a from book', string],
    ['type', "select id as a from book where feels = 'sad'"],
    ['type', 'select id as a from book where feels = :f', { params: { f: { type: 'string' } } }],
    ['type', "select 'sad'::mood::text as a", string],
    ['type', 'select to_jsonb(b) as a from book b', object],
    ['type', 'select to_jsonb(book) as a from book', object],
    ['type', 'select max(b.id) as a from own.typed b where b is not null'],
    ['type', 'select id as a from book b natural join (select 1 as id) g'],
    ['type', 'select id as a from (select * from book) b'],
    ['type', 'select j.title as a from (book b join genre g on g.id = b.id) j', string],
    ['type', 'select checked::int as a from own.typed'],
    ['type', 'select by_user as a from own.typed', string],
    ['type', 'select (pair).x as a from own.typed'],
    ['type', 'select lower(span) as a from own.typed'],
    ['type', 'select class::oid::int as a from own.typed'],
    ['type', 'select count(*) as a from own.typed where classes is null'],
    ['type', 'select (row(1, 2)::own.pair).x as a'],
    ['type', 'select g as a from genre g', object],
    ['function', "select id as a from json_populate_record(null::genre, '{}')"],
    ['type', 'select xmlelement(name a, feels)::text as a from book', string],
    ['function', 'select xmlelement(name a, current_user)::text as a', string],
    ['function', 'select xmlforest(own.same(id) as x)::text as a from book', string],
    ['names', 'with book as (select id from public.book) select id as a from book'],
    ['names', 'select (with book as (select 1 as id) select id from book) as a from book'],
    ['names', 'with genre as (select id from book) select genre.id as a from genre, public.genre g'],
    ['index', 'select id as a from own.by_expression'],
    ['index', 'select id as a from own.by_predicate'],
    ['index', 'select id as a from own.by_check'],
    ['index', 'select id as a from own.by_class'],
  ])('%s: %s', async (reason, sql, options) => {
    expect(await formOf(database, sql, options)).toBe(reason);
  });

  test.each([
    'select i::text as a from imp i',
    'select lower(i) as a from imp i',
    "select string_agg(i, ',') as a from imp i",
    'select array_agg(i)::text as a from imp i',
    'select id::text as a from plain_lists order by plains',
    'select plains::text as a from plain_lists',
  ])('type: the rows or arrays in %s are converted or compared by functions of the database', async (sql) => {
    const own = await testDatabase({
      sql: [
        `create table imp (id int primary key, name text);
         create function who(imp) returns text language plpgsql stable as
           $$ begin return current_setting('svc.api_key_name', true); end $$;
         create cast (imp as text) with function who(imp) as implicit;
         create domain plain as int;
         create table plain_lists (id int primary key, plains plain[]);
         create function who(plain[]) returns text language plpgsql stable as
           $$ begin return current_setting('svc.api_key_name', true); end $$;
         create cast (plain[] as text) with function who(plain[]) as implicit`,
      ],
    });
    const opened = openPostgres(configOf(own));
    expect(await formOf(opened, sql, string)).toBe('type');
    await opened.close();
  });

  test('shared: a time in another zone, which PostgreSQL 13 calls volatile', async () => {
    if (version < 140_000) return;
    const sql =
      "select added_at at time zone 'Europe/Berlin' as a from book where (made at time zone 'UTC') < now()";
    expect(await formOf(database, sql, string)).toBe('shared');
  });

  test.each<[reason: string, sql: string, since: number]>([
    ['type', "select json_object('f': feels)::text as a from book", 160_000],
    ['type', "select json_object('b': b)::text as a from book b", 160_000],
    ['type', 'select json_array(b)::text as a from book b', 160_000],
    ['function', "select json_object('s': own.same(id))::text as a from book", 160_000],
    ['function', 'select json_array(current_user)::text as a', 160_000],
    ['function', 'select json_arrayagg(own.same(id))::text as a from book', 160_000],
    ['type', "select json_value(doc, '$.n' returning mood)::text as a from book", 170_000],
    ['type', "select j.n::text as a from book, json_table(doc, '$' columns (n mood path '$.n')) j", 170_000],
  ])('%s: %s, since PostgreSQL %i', async (reason, sql, since) => {
    if (version < since) return;
    expect(await formOf(database, sql, string)).toBe(reason);
  });

  test('a relation of the session itself is none that can be judged', async () => {
    expect(await formOf(database, 'select id as a from pg_temp.book')).toContain('pg_temp.book');
  });

  test('index: statistics of an expression', async () => {
    const expected = version >= 140_000 ? 'index' : 'shared';
    expect(await formOf(database, 'select id as a from own.by_statistics')).toBe(expected);
  });
});

describe('constructors of JSON and XML, and columns that are computed when they are read, share', () => {
  test.each<[sql: string, since: number]>([
    ["select json_build_object('a', id, 'b', title)::text as a from book", 130_000],
    [
      'select xmlserialize(content xmlelement(name a, xmlattributes(id as b), title) as text) as a from book',
      130_000,
    ],
    ['select xmlagg(xmlforest(title, id))::text as a from book', 130_000],
    ["select x.i::text as a from xmltable('/a' passing xml '<a/>' columns i int path 'b') x", 130_000],
    ["select json_object('a': id, 'b': title)::text as a from book", 160_000],
    ['select json_array(id, title)::text as a from book', 160_000],
    ['select json_objectagg(title: id)::text as a from book', 160_000],
    ['select json_arrayagg(id order by id)::text as a from book', 160_000],
    ['select (title is json)::text as a from book', 160_000],
    ['select json_scalar(id)::text as a from book', 170_000],
    ["select json_value(doc, '$.n') as a from book where json_exists(doc, '$.n')", 170_000],
    ["select j.n::text as a from book, json_table(doc, '$' columns (n int path '$.n')) j", 170_000],
    ['select twice::text as a from own.by_virtual', 180_000],
    ['select id::text as a from own.by_virtual where low = :q', 180_000],
  ])('%s, since PostgreSQL %i', async (sql, since) => {
    if (version < since) return;
    const params = sql.includes(':q') ? ({ q: { type: 'string' } } as const) : {};
    expect(await formOf(database, sql, { ...string, params })).toBe('shared');
  });
});

describe('what a statement does not read keeps it from nothing', () => {
  test.each<[sql: string, options?: CapabilityOptions]>([
    ['select id as a from own.typed'],
    ['select count(*) as a from own.typed t join book b on b.id = t.id'],
    ['select plain::int as a from own.typed where plain = 5'],
    ['select plains[1]::int as a from own.typed'],
    ['select same as a from own.by_stored'],
    ['select b.name as a from genre b', string],
    ['with book as (select 1 as id) select id as a from book'],
  ])('%s', async (sql, options) => {
    expect(await formOf(database, sql, options)).toBe('shared');
  });
});

test('a shared statement names each relation with its schema, and leaves locks to the guard', async () => {
  const sql = `select 'ü' || b.title as a from "Own. ""Stock"""."Büch.er" s join book b on b.id = s.id, genre`;
  const pool = createPool(configOf(server));
  const { prepared } = await verifyCapabilities(pool, [capabilityOf(sql, string)]);
  await pool.close();
  const { own, shared } = prepared[0] ?? {};
  expect(shared?.relations.map(({ name }) => name)).toEqual([
    '"Own. ""Stock"""."Büch.er"',
    '"public"."book"',
    '"public"."genre"',
  ]);
  const inSchemas = sql.replace('join book', 'join "public".book').replace(', genre', ', "public".genre');
  expect(shared?.whole).toContain(inSchemas);
  expect(own?.whole).toContain('pg_advisory_unlock_all');
  expect(JSON.stringify(shared)).not.toContain('pg_advisory_unlock_all');
});

test('with transactions: own nothing shares, and the database is asked for no more', async () => {
  const own = openPostgres(configOf(server, { transactions: 'own' }));
  try {
    const { prepared } = await own.verify([capabilityOf('select id as a from book')]);
    expect(prepared[0]?.transaction).toEqual({ form: 'own', reason: 'off' });
    expect(prepared[0]).not.toHaveProperty('shared');
  } finally {
    await own.close();
  }
});

test('no operator of PostgreSQL own depends on what differs from call to call', async () => {
  // Dates are compared, and moved, in the time zone of the session; `||` takes the text of a value, whose type the
  // verification has looked at. Neither is a setting that calls have of their own. Text search finds its configuration on
  // the search path, so that `@@` is excluded by its name.
  const known =
    /^(?:date|timestamp|timestamptz)_(?:eq|ne|lt|le|gt|ge)_(?:date|timestamp|timestamptz)$|^timestamptz_(?:pl|mi)_interval$|^interval_pl_timestamptz$|^(?:textany|anytext)cat$/;
  const rows = await server.query<{ oprname: string; proname: string }>(`
    select o.oprname, p.proname from pg_operator o join pg_proc p on p.oid = o.oprcode
    where o.oid < 16384 and p.provolatile <> 'i' order by 1, 2`);
  expect(rows.length).toBeGreaterThan(25);
  const others = rows.filter(({ oprname, proname }) => oprname !== '@@' && !known.test(proname));
  expect(others).toEqual([]);
});
