import { testDatabase, type TestDatabase } from '@svc/testkit';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  capabilityOf,
  configOf,
  openPostgres,
  type CapabilityOptions,
  type TestedDatabase,
} from '../../capability.fixture.ts';

/**
 * All of it twice: in the schema `loud` functions are volatile and take a lock that outlives a rollback, in the schema
 * `calm` they are immutable and do nothing.
 */
const schema = (name: 'loud' | 'calm'): string =>
  `
  create schema S;
  create function S.noise(n int) returns int language plpgsql V as
    '${name === 'loud' ? 'begin perform pg_advisory_lock(4711, n); return n; end' : 'begin return n; end'}';
  create function S.add(a int, b int) returns int language plpgsql V as 'begin return S.noise(a + b); end';
  create function S.plus(a int, b int) returns int language sql immutable as 'select coalesce(a, 0) + coalesce(b, 0)';
  create function S.minus(a int, b int) returns int language plpgsql V as 'begin return S.noise(a - b); end';
  create function S.last(a int) returns int language plpgsql V as 'begin return S.noise(a); end';
  create function S.last_of(a int, b int) returns int language plpgsql V as 'begin return S.noise(a + b); end';
  create aggregate S.total(int) (sfunc = S.add, stype = int, initcond = '0');
  create aggregate S.finished(int) (sfunc = S.plus, stype = int, finalfunc = S.last);
  create aggregate S.moving(int) (sfunc = S.plus, stype = int, initcond = '0', msfunc = S.plus, minvfunc = S.minus, mstype = int, minitcond = '0');
  create aggregate S.ordered(order by int) (sfunc = S.plus, stype = int, finalfunc = S.last);
  create aggregate S.placed(int order by int) (sfunc = S.plus, stype = int, finalfunc = S.last_of, hypothetical);
  create aggregate S.combined(int) (sfunc = int4pl, stype = int, initcond = '0', combinefunc = S.add, parallel = safe);
  create view S.totals as select S.total(g) as a from generate_series(1, 2) g;
  create domain S.positive as int check (S.noise(value) > 0);
  create domain S.small as S.positive check (value < 100);
  create type S.item as (id int, price S.positive);
  create type S.span as range (subtype = S.positive);
  create function S.of_text(t text) returns int language sql immutable as 'select cast(cast(t as S.positive) as int)';
  create function S.taken(p S.positive) returns int language plpgsql immutable as 'begin return 1; end';
  create function S.given(n int) returns S.positive language plpgsql immutable as 'begin return n; end';
  create function S.by_default(n int default cast(5 as S.positive)) returns int language sql immutable as 'select n';
  create function S.steady(n int) returns int language sql stable as 'select S.noise(n)';
  create function S.deeper(n int) returns int language sql stable as 'select S.steady(n)';
  create function S.on_its_path(n int) returns int language sql stable set search_path = S as 'select noise(n)';
  create function S.through(a int, b int) returns bool language sql stable as 'select S.noise(a) = b';
  create operator S.=== (leftarg = int, rightarg = int, function = S.through);
  create function S.locks(n int8) returns int8 language internal immutable strict as '${name === 'loud' ? 'pg_try_advisory_lock_int8' : 'int8abs'}';
  create table S.items (id int, price S.positive, prices S.positive[], item S.item, name text, span S.span);
  create view S.parsed as select cast(name as S.positive) as a from S.items;
  create view S.stored as select id as a, price from S.items;
  create function S.all_items() returns setof int language sql stable as 'select price from S.items';

  create function S.cost(i S.item) returns int language sql stable as 'select S.noise(i.id)';
  create table S.guarded (id int);
  alter table S.guarded enable row level security;
  create policy guarding on S.guarded using ((select S.total(g) from generate_series(1, 1) g) > 0);
  create table S.careful (id int);
  alter table S.careful enable row level security;
  create policy inserting on S.careful for insert with check ((select S.total(g) from generate_series(1, 1) g) > 0);
  create type S.word;
  create function S.word_in(cstring) returns S.word language internal strict V as 'textin';
  create function S.word_out(S.word) returns cstring language internal strict V as 'textout';
  create type S.word (input = S.word_in, output = S.word_out, like = text);

  create type S.pair as (a int, b int);
  create function S.before(x S.pair, y S.pair) returns bool language plpgsql V as 'begin perform S.noise(1); return x.a < y.a; end';
  create function S.equal(x S.pair, y S.pair) returns bool language plpgsql V as 'begin perform S.noise(1); return x.a = y.a; end';
  create function S.compare(x S.pair, y S.pair) returns int language plpgsql V as 'begin perform S.noise(1); return x.a - y.a; end';
  create function S.hashed(x S.pair) returns int language plpgsql V as 'begin perform S.noise(1); return x.a; end';
  create operator S.< (leftarg = S.pair, rightarg = S.pair, function = S.before, commutator = operator(S.>));
  create operator S.> (leftarg = S.pair, rightarg = S.pair, function = S.before, commutator = operator(S.<));
  create operator S.= (leftarg = S.pair, rightarg = S.pair, function = S.equal, commutator = operator(S.=), hashes, merges);
  create operator class S.pairs default for type S.pair using btree as
    operator 1 S.<, operator 3 S.=, operator 5 S.>, function 1 S.compare(S.pair, S.pair);
  create operator class S.hashed_pairs default for type S.pair using hash as operator 1 S.=, function 1 S.hashed(S.pair);
  create table S.pairs (id int, p S.pair, q S.pair);

  create type S.mood as enum ('sad', 'glad');
  create function S.json_of(m S.mood) returns json language plpgsql V as 'begin perform S.noise(1); return ''{}''; end';
  create cast (S.mood as json) with function S.json_of(S.mood);
  create function S.text_of(m S.mood) returns text language plpgsql V as 'begin perform S.noise(1); return ''x''; end';
  create cast (S.mood as text) with function S.text_of(S.mood);
  create function S.stamp(n int) returns int language plpgsql immutable as 'begin return n; end';
  create table S.written (id int default S.noise(1) check (S.noise(id) > 0), stamped int generated always as (S.stamp(id)) stored);
  create function S.on_write() returns trigger language plpgsql volatile as 'begin perform S.noise(1); return new; end';
  create trigger writes before insert on S.written for each row execute function S.on_write();
  create domain S.locked as int check (pg_advisory_lock(value) is not null);
  create sequence S.numbers;
  create domain S.numbered as int check (nextval('S.numbers') > 0);
  create function S.far(name text) returns text language c stable as '$libdir/dblink', 'dblink_connect';
  create table S.days (id int, mood S.mood, moods S.mood[]);
`
    .replaceAll(/\bS\b/g, name)
    .replaceAll(/\bV\b/g, name === 'loud' ? 'volatile' : 'immutable');

const filled = (name: string): string => `
  insert into ${name}.items values (1, 1, '{1}', row(1, 1), '2', '[1,9]');
  insert into ${name}.pairs values (1, row(1, 2), row(3, 4)), (2, row(2, 2), row(3, 4));
  insert into ${name}.days values (1, 'sad', '{sad}');`;

const atomic = (name: string): string =>
  `create function ${name}.atomic(n int) returns int stable begin atomic select ${name}.total(n); end;`;

interface Case {
  readonly sql: string;
  readonly options?: CapabilityOptions;
  /** For values of the parameters, in the SQL that shows that it acts. */
  readonly value?: string;
  /** From this version of the server on. */
  readonly since?: number;
  /** What leads to it, as a fault says. */
  readonly way: string;
  /** Runs in parallel only, or in what makes JSON of the result. */
  readonly isQuiet?: boolean;
  /** False where the type is an argument, which can name any. */
  readonly hasTwin?: boolean;
}

const text = { params: { p: { type: 'string' } } } as const;
const integer = { params: { p: { type: 'integer' } } } as const;
const object = { params: { p: { type: 'object' } } } as const;
const series = 'from generate_series(1, 3) g';
const noisy = 'runs S.noise (its check)';

const CASES: readonly Case[] = [
  { sql: `select S.total(g) as a ${series}`, way: 'aggregate S.total runs S.add (its state function)' },
  {
    sql: `select S.finished(g) as a ${series}`,
    way: 'aggregate S.finished runs S.last (its final function)',
  },
  {
    sql: `select S.moving(g) over (order by g rows 1 preceding) as a ${series}`,
    way: 'aggregate S.moving runs S.minus (its inverse function for moving frames)',
  },
  {
    sql: `select S.ordered() within group (order by g) as a ${series}`,
    way: 'aggregate S.ordered runs S.last (its final function)',
  },
  {
    sql: `select S.placed(2) within group (order by g) as a ${series}`,
    way: 'aggregate S.placed runs S.last_of (its final function)',
  },
  {
    sql: `select S.combined(g) as a ${series}`,
    way: 'aggregate S.combined runs S.add (its combine function)',
    isQuiet: true,
  },
  { sql: `select S.total(g) over (order by g) as a ${series}`, way: 'aggregate S.total runs S.add' },
  { sql: `select g as a ${series} group by g having S.total(g) > 0`, way: 'aggregate S.total runs S.add' },
  { sql: 'select a from S.totals', way: 'view S.totals leads to aggregate S.total, which runs S.add' },
  { sql: 'select 5::S.positive as a', way: noisy },
  { sql: "select S.positive '5' as a", way: noisy },
  { sql: 'select S.positive(5) as a', way: noisy },
  { sql: 'select (:p)::S.positive as a', options: integer, value: '5', way: noisy },
  { sql: 'select S.taken(:p) as a', options: integer, value: '5', way: noisy },
  { sql: 'select 5::S.small as a', way: noisy },
  {
    sql: 'select 5::S.locked as a',
    way: 'domain S.locked runs pg_advisory_lock (its check)',
    hasTwin: false,
  },
  { sql: "select ('{5}'::S.positive[])[1] as a", way: noisy },
  { sql: 'select (array[g]::S.positive[])[1] as a from generate_series(1, 2) g', way: noisy },
  { sql: 'select (:p::S.positive[])[1] as a', options: text, value: "'{5}'", way: noisy },
  { sql: 'select (row(1, g)::S.item).price as a from generate_series(1, 2) g', way: noisy },
  { sql: "select ('(1,5)'::S.item).id as a", way: noisy },
  { sql: "select lower('[1,5]'::S.span) as a", way: noisy },
  { sql: 'select lower(S.span(g, 5)) as a from generate_series(1, 2) g', way: noisy },
  { sql: "select 1 as a where '{[1,5]}'::S.span_multirange is not null", since: 140_000, way: noisy },
  {
    sql: "select a from xmltable('/r' passing '<r><a>5</a></r>' columns a S.positive path 'a')",
    way: noisy,
  },
  {
    sql: `select a from json_table('[5]', '$[*]' columns (a S.positive path '$'))`,
    since: 170_000,
    way: noisy,
  },
  { sql: `select json_value('5', '$' returning S.positive) as a`, since: 170_000, way: noisy },
  { sql: `select a from json_to_recordset('[{"a": 5}]') as x (a S.positive)`, way: noisy },
  {
    sql: `select a from jsonb_to_recordset(:p) as x (a S.positive)`,
    options: object,
    value: `'[{"a": 5}]'`,
    way: noisy,
  },
  { sql: `select a from jsonb_to_record('{"a": 5}') as x (a S.positive)`, way: noisy },
  { sql: `select id as a from jsonb_populate_record(null::S.item, '{"price": 5}')`, way: noisy },
  { sql: `select (json_populate_record(i, '{"price": 5}')).id as a from S.items i`, way: noisy },
  { sql: `select (jsonb_populate_recordset(i.item, '[{"price": 5}]')).id as a from S.items i`, way: noisy },
  { sql: "select id as a from S.items where prices <> '{5}'", way: noisy },
  { sql: "select (array_append(prices, '5'))[1] as a from S.items", way: noisy },
  {
    sql: "select 1 as a where pg_input_is_valid('5', 'S.positive')",
    since: 160_000,
    hasTwin: false,
    way: noisy,
  },
  {
    sql: "select 1 as a where domain_in('5', 'S.positive'::regtype, -1) is not null",
    hasTwin: false,
    way: noisy,
  },
  { sql: 'select a from S.parsed', way: noisy },
  { sql: "select S.of_text('5') as a", way: noisy },
  { sql: 'select S.given(5) as a', way: noisy },
  { sql: 'select S.by_default() as a', way: noisy },
  { sql: 'select S.steady(5) as a', way: 'function S.steady runs S.noise (in its body)' },
  {
    sql: 'select S.deeper(5) as a',
    way: 'function S.deeper leads to function S.steady, which runs S.noise (in its body)',
  },
  { sql: 'select S.on_its_path(5) as a', way: 'function S.on_its_path runs S.noise (in its body)' },
  {
    sql: 'select 1 as a where 1 operator(S.===) 1',
    way: 'function S.through, which runs S.noise (in its body)',
  },
  { sql: 'select 1 as a where S.locks(5) > 0', way: 'function S.locks runs pg_try_advisory_lock (its code)' },
  {
    sql: 'select id as a from S.pairs order by p',
    way: 'runs S.compare (a function of its operator classes)',
  },
  { sql: 'select (x.p).a from (select distinct p from S.pairs) x', way: 'runs S.' },
  { sql: 'select count(*)::int as a from S.pairs group by p', way: 'runs S.' },
  { sql: 'select (greatest(p, q)).a from S.pairs', way: 'runs S.compare' },
  { sql: 'select 1 as a from S.pairs where array[p] < array[q]', way: 'runs S.compare' },
  { sql: 'select id as a from S.pairs order by row(p, q)', way: 'runs S.compare' },
  { sql: 'select id as a from S.pairs order by p using operator(S.>)', way: 'runs S.compare' },
  {
    sql: 'select (max(row(p))::text)::text as a from S.pairs',
    since: 180_000,
    options: { result: { a: 'string' } },
    way: 'runs S.compare',
  },
  {
    sql: 'select 1 as a from S.days where to_json(mood) is not null',
    way: 'runs S.json_of (its cast to json)',
  },
  {
    sql: 'select 1 as a from S.days where row_to_json(days)::text <> $$$$',
    way: 'runs S.json_of (its cast to json)',
  },
  { sql: 'select length(json_agg(d)::text) as a from S.days d', way: 'runs S.json_of (its cast to json)' },
  {
    sql: 'select 1 as a from S.days where json_array(mood)::text is not null',
    since: 160_000,
    way: 'runs S.json_of (its cast to json)',
  },
  {
    sql: 'select moods as a from S.days',
    options: { result: { a: 'array' } },
    isQuiet: true,
    way: 'runs S.json_of (its cast to json)',
  },
  {
    sql: 'select mood as a from S.days',
    options: { result: { a: 'string' } },
    isQuiet: true,
    way: 'runs S.text_of (its cast to text)',
  },
];

let server: TestDatabase;
let database: TestedDatabase;
let client: pg.Client;
let version: number;
beforeAll(async () => {
  server = await testDatabase({ sql: [schema('loud'), schema('calm'), filled('loud'), filled('calm')] });
  version = await server.version();
  if (version >= 140_000) await server.execute(atomic('loud') + atomic('calm'));
  database = openPostgres(configOf(server));
  client = new pg.Client({ connectionString: server.url });
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await database.close();
});

async function messagesOf(sql: string, options: CapabilityOptions = {}): Promise<readonly string[]> {
  const { faults } = await database.verify([capabilityOf(sql, options)]);
  return faults.map(({ message }) => message);
}

/** Whether a lock is left behind. */
async function acts(sql: string): Promise<boolean> {
  await client.query('begin read only');
  await client.query(sql);
  await client.query('rollback');
  const { rowCount } = await client.query(
    "select from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()",
  );
  await client.query('select pg_advisory_unlock_all()');
  return rowCount !== 0;
}

const inSchema = (sql: string, name: string): string => sql.replaceAll(/\bS\b/g, name);

describe('what the planner does not see', () => {
  test.each(CASES)(
    '$sql',
    async ({ sql, options, value = '', since = 0, way, isQuiet = false, hasTwin = true }) => {
      if (version < since) return;
      const loud = inSchema(sql, 'loud');
      const messages = await messagesOf(loud, options);
      expect(messages.join('\n')).toMatch(/^runs \S+, which (?:is volatile|does more than read)/);
      expect(messages.join('\n')).toContain(inSchema(way, 'loud'));
      // The check has not run it, for the lock would still be held.
      expect(
        await server.query("select from pg_locks where locktype = 'advisory' and classid = 4711"),
      ).toEqual([]);
      if (!isQuiet) expect(await acts(loud.replaceAll(':p', value))).toBe(true);
      if (hasTwin) expect(await messagesOf(inSchema(sql, 'calm'), options)).toEqual([]);
    },
  );
});

describe('what only a write runs, and what reads no more than is stored', () => {
  test.each<[string, CapabilityOptions?]>([
    ['select price as a from S.items where price > 0 and name <> $$x$$ order by price'],
    ['select sum(price)::int as a from S.items group by price + 1'],
    ['select coalesce(price, 1) as a from S.items where price = 1 or price in (1, 2)'],
    ['select id as a from S.items where price = :p', integer],
    ['select prices as a from S.items', { result: { a: 'array' } }],
    ['select item as a from S.items', { result: { a: 'object' } }],
    ['select (item).price as a from S.items where name = $$x$$'],
    ['select a from S.stored where price < 5'],
    ['select to_json(i) as a from S.items i', { result: { a: 'object' } }],
    ['select id as a from S.written where stamped > 0'],
    ['select id as a from S.days where mood is not null'],
    ['select random()::int as a where gen_random_uuid() is not null'],
    ['select a.id as a from S.careful a'],
  ])('%s', async (sql, options) => {
    expect(await messagesOf(inSchema(sql, 'loud'), options)).toEqual([]);
  });
});

describe('naming the function that is volatile suffices', () => {
  test.each<[string, string]>([
    ['select S.total(g) as a from generate_series(1, 3) g', 'S.add'],
    ['select S.total(g) as a from generate_series(1, 3) g', 'add'],
    ['select 5::S.small as a', 'S.noise'],
    ['select id as a from S.pairs order by p', 'S.compare S.before S.equal S.hashed'],
    ['select S.deeper(5) as a', 'noise'],
  ])('%s with %s', async (sql, allowed) => {
    const allowFunctions = inSchema(allowed, 'loud').split(' ');
    expect(await messagesOf(inSchema(sql, 'loud'), { allowFunctions })).toEqual([]);
  });

  test('the fault prints its name and the way to it', async () => {
    expect(await messagesOf('select loud.total(g) as a from generate_series(1, 3) g')).toEqual([
      'runs loud.add, which is volatile: remove what runs it, or name it in policy.allow_functions; aggregate loud.total runs loud.add (its state function)',
    ]);
  });

  test('but not for what is never allowed', async () => {
    const allowFunctions = ['nextval', 'pg_catalog.nextval', 'loud.numbered', 'loud.far', 'dblink_connect'];
    expect(await messagesOf('select 5::loud.numbered as a', { allowFunctions })).toEqual([
      'runs nextval, which does more than read and is never allowed: remove what runs it; domain loud.numbered runs nextval (its check)',
    ]);
    expect(
      await messagesOf("select loud.far('x') as a", { allowFunctions, result: { a: 'string' } }),
    ).toEqual([
      'runs loud.far, which does more than read and is never allowed: remove what runs it; function loud.far (its code is dblink_connect)',
    ]);
  });
});
