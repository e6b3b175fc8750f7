import { createRandom, pick, testDatabase, type TestDatabase } from '@svc/testkit';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { capabilityOf, configOf, openPostgres, type CapabilityOptions } from '../../capability.fixture.ts';
import type { PreparedQuery } from '../../execute/prepared-query.ts';
import { createPool } from '../../connect.ts';
import { verifyCapabilities } from '../verify-capabilities.ts';
import { formOf, formsOf, ORDINARY, SHOP } from './blind.fixture.ts';

let server: TestDatabase;
beforeAll(async () => {
  server = await testDatabase({ sql: [SHOP] });
});

/** The form of a statement while the account's path is `path`, and the schema `trap` has what `setUp` makes. */
async function formBehind(
  setUp: string,
  path: string,
  sql: string,
  options?: CapabilityOptions,
): Promise<string | undefined> {
  await server.execute(
    `create schema trap; ${setUp}; alter database ${server.name} set search_path = ${path}`,
  );
  const database = openPostgres(configOf(server));
  onTestFinished(async () => {
    await database.close();
    await server.execute(`drop schema trap cascade; alter database ${server.name} reset search_path`);
  });
  return formOf(database, sql, options);
}

const string: CapabilityOptions = { result: { a: 'string' } };
const FIRST = 'trap, pg_catalog, public';
const LAST = 'public, trap';

/** For two integers it does as PostgreSQL's own, for the service compares some itself when it connects. */
const operator = (name: string, left: string, right: string): string => `
  create function trap.f(${[left, right].filter((type) => type !== '').join(', ')}) returns ${left === '' ? 'int' : 'bool'}
    language sql stable as 'select ${left === '' ? '1' : left === 'int' && name !== '===' ? `$1 operator(pg_catalog.${name}) $2` : 'true'}';
  create operator trap.${name} (${left === '' ? '' : `leftarg = ${left}, `}rightarg = ${right}, function = trap.f)`;
const fn = (signature: string, result = 'text'): string =>
  `create function trap.${signature} returns ${result} language sql immutable as 'select null::${result}'`;

describe('what stands on the path in place of PostgreSQL own', () => {
  test.each<[form: string, setUp: string, path: string, sql: string, options?: CapabilityOptions]>([
    ['names', operator('=', 'int', 'int'), FIRST, 'select id as a from book where id = 1'],
    [
      'names',
      operator('=', 'int', 'int'),
      FIRST,
      'select id as a from book join (select 1 as id) g using (id)',
    ],
    [
      'names',
      operator('=', 'int', 'int'),
      FIRST,
      'select a.id as a from genre a natural join (select 1 as id) g',
    ],
    ['names', operator('=', 'int', 'int'), FIRST, 'select case id when 1 then 2 end as a from book'],
    ['names', operator('=', 'int', 'int'), FIRST, 'select nullif(id, 1) as a from book'],
    ['names', operator('=', 'int', 'int'), FIRST, 'select id as a from book where id is distinct from 1'],
    [
      'shared',
      `create type trap.word as enum ('x'); ${operator('=', 'trap.word', 'trap.word')}`,
      LAST,
      "select id as a from book where author = 'x'",
    ],
    [
      'names',
      `create type trap.word as enum ('x'); ${operator('=', 'trap.word', 'trap.word')}`,
      LAST,
      "select id as a from book where 'y' = 'x'",
    ],

    ['names', fn('lower(varchar)'), LAST, 'select lower(author) as a from book', string],
    ['names', fn('length(text)', 'int'), FIRST, 'select length(title) as a from book'],
    ['shared', fn('length(text)', 'int'), LAST, 'select length(title) as a from book'],
    ['shared', fn('length(text, int)', 'int'), LAST, 'select length(title) as a from book'],
    ['names', fn('length(text, int default 1)', 'int'), LAST, 'select length(title) as a from book'],
    [
      'names',
      `create domain trap.word as varchar; ${fn('upper(trap.word)')}`,
      LAST,
      'select upper(author) as a from book',
      string,
    ],
    ['names', fn('concat(int, variadic int[])'), LAST, 'select concat(id, 5) as a from book', string],
    [
      'names',
      fn('array_length(anyarray, bigint)', 'int'),
      LAST,
      'select array_length(tags, 1::bigint::int) as a from book',
    ],
    [
      'names',
      fn('to_jsonb(public.genre)', 'jsonb'),
      LAST,
      'select to_jsonb(g) as a from genre g',
      { result: { a: 'object' } },
    ],
    [
      'shared',
      `create type trap.word as enum ('x'); ${fn('abs(trap.word)', 'int')}`,
      LAST,
      'select abs(id) as a from book',
    ],
    [
      'names',
      `create domain trap.upper as varchar; select 1`,
      LAST,
      'select upper(author) as a from book',
      string,
    ],
    ['names', fn('full_name(public.genre)'), LAST, 'select g.full_name as a from genre g', string],
    [
      'function',
      `create function trap.full_name(public.genre) returns text language plpgsql immutable as 'begin return 1; end'`,
      LAST,
      'select g.full_name as a from genre g',
      string,
    ],
    [
      'function',
      fn('current_setting(text)'),
      FIRST,
      "select id as a from book limit length(('x'::text).current_setting)",
    ],

    [
      'names',
      'create domain trap.date as timestamptz',
      FIRST,
      "select id as a from book where day > '2024-01-01'::date",
    ],
    [
      'shared',
      'create domain trap.date as timestamptz',
      LAST,
      "select id as a from book where day > '2024-01-01'::date",
    ],
    [
      'type',
      `${fn('f(date)', 'bool')}; create domain trap.date as date check (trap.f(value))`,
      FIRST,
      "select id as a from book where day > '2024-01-01'::date",
    ],
    [
      'type',
      "create type trap.text as enum ('x')",
      FIRST,
      "select 'x'::text is null as a",
      { result: { a: 'boolean' } },
    ],
    ['names', 'create domain trap.word as text', LAST, "select 'x'::word as a", string],

    [
      'names',
      `create collation trap."C" from "POSIX"`,
      FIRST,
      'select id as a from book order by title collate "C"',
    ],
    [
      'shared',
      `create collation trap."C" from "POSIX"`,
      LAST,
      'select id as a from book order by title collate "C"',
    ],
    [
      'names',
      `create collation trap.other from "POSIX"`,
      LAST,
      'select id as a from book order by title collate other',
    ],
  ])('%s: %s, path %s: %s', async (form, setUp, path, sql, options) => {
    expect(await formBehind(setUp, path, sql, options)).toBe(form);
  });
});

describe('what holds for all statements', () => {
  const sql = 'select id as a from book';
  test.each<[form: string, setUp: string, undo: string]>([
    [
      'function',
      "create function f(int) returns uuid language sql immutable as 'select null::uuid'; create cast (int as uuid) with function f(int)",
      'drop cast (int as uuid); drop function f',
    ],
    [
      'function',
      `create function f(point, point) returns int language sql immutable as 'select 0'; create operator class points default for type point using btree as function 1 f(point, point)`,
      'drop operator class points using btree; drop function f',
    ],
    [
      'shared',
      `create function f(point, point) returns int language sql immutable as 'select 0'; create operator class points for type point using btree as function 1 f(point, point)`,
      'drop operator class points using btree; drop function f',
    ],
    [
      'isolation',
      "alter database DATABASE set default_transaction_isolation = 'repeatable read'",
      'alter database DATABASE reset all',
    ],
  ])('%s: %s', async (form, setUp, undo) => {
    const named = (text: string): string => text.replaceAll('DATABASE', server.name);
    await server.execute(named(setUp));
    const database = openPostgres(configOf(server));
    onTestFinished(async () => {
      await database.close();
      await server.execute(named(undo));
    });
    expect(await formOf(database, sql)).toBe(form);
  });

  test('an account that may not call what the guard calls shares nothing', async () => {
    const other = await testDatabase({ sql: [SHOP] });
    const role = `${other.name}_reader`;
    await other.execute(`create role ${role} login password 'reader'; grant select on book to ${role}`);
    const form = async (): Promise<string | undefined> => {
      const database = openPostgres(configOf({ ...other, user: role, password: 'reader' }));
      try {
        return await formOf(database, sql);
      } finally {
        await database.close();
      }
    };
    onTestFinished(() => other.execute(`drop owned by ${role}; drop role ${role}`));
    expect(await form()).toBe('shared');
    await other.execute('revoke execute on function row_security_active(oid) from public');
    expect(await form()).toBe('function');
    await other.execute(
      'grant execute on function row_security_active(oid) to public; revoke select on pg_opclass from public',
    );
    expect(await form()).toBe('function');
  });

  test('nor does what somebody has put into pg_catalog', async () => {
    const other = await testDatabase({ sql: [SHOP] });
    await other.execute(
      `
      create function pg_catalog.lower(int) returns text language sql immutable as 'select current_user::text';
      create or replace function pg_catalog.initcap(text) returns text language plpgsql immutable as 'begin return current_user; end';
      create operator pg_catalog.@@@@ (leftarg = text, rightarg = text, function = texteq);
      create operator pg_catalog.|| (leftarg = text, rightarg = uuid, function = f);
    `
        .replace('function = f)', 'function = pg_catalog.f)')
        .replace(
          'create operator pg_catalog.||',
          "create function pg_catalog.f(text, uuid) returns text language sql immutable as 'select current_user::text'; create operator pg_catalog.||",
        ),
    );
    const database = openPostgres(configOf(other));
    onTestFinished(() => database.close());
    expect(await formOf(database, 'select lower(title) as a from book', string)).toBe('function');
    expect(await formOf(database, 'select initcap(title) as a from book', string)).toBe('function');
    expect(await formOf(database, "select title || 'x' as a from book", string)).toBe('function');
    expect(await formOf(database, 'select upper(title) as a from book', string)).toBe('shared');
  });
});

test(
  'types of extensions keep only statements that use them from sharing',
  { timeout: 120_000 },
  async () => {
    const other = await testDatabase({
      sql: [
        SHOP,
        `create extension citext; create extension hstore; create extension ltree; create extension btree_gist; create extension pgcrypto;
      create extension "uuid-ossp"; create extension cube;
      create table place (id int, name citext, tags hstore, path ltree);`,
      ],
    });
    const database = openPostgres(configOf(other));
    onTestFinished(() => database.close());
    expect(await formsOf(database, ORDINARY)).toEqual(ORDINARY.map(() => 'shared'));
    expect(await formOf(database, 'select id as a from place')).toBe('shared');
    expect(await formOf(database, "select id as a from place where name = 'x'")).toBe('type');
    expect(await formOf(database, "select tags -> 'x' as a from place", string)).toBe('type');
    expect(await formOf(database, "select id as a from place where path <@ 'x'")).toBe('type');
    await other.execute('create extension pg_trgm; create index on book using gin (title gin_trgm_ops)');
    expect(await formOf(database, 'select id % 3 as a from genre')).toBe('names');
    expect(await formOf(database, 'select id as a from book')).toBe('index');
  },
);

/** What a schema has that may be found in place of what is meant. */
const decoys = (schema: string, strange: string): string => `
  create schema ${schema};
  create table ${schema}.book as select id + 1000 as id, title || '${schema}' as title, author, price, added_at, day, tags, doc,
    note, genre_id, sold, code, ratio, contact, at_noon, during, made from public.book;
  create table ${schema}.genre as select id + 10 as id, name, parent_id from public.genre;
  create function ${schema}.lower(varchar) returns text language sql immutable as $$select '${strange}'$$;
  create function ${schema}.upper(text) returns text language sql stable as $$select current_setting('svc.x', true)$$;
  create function ${schema}.count() returns int8 language sql immutable as $$select 5::int8$$;
  create domain ${schema}.text as pg_catalog.text;
  create function ${schema}.f(int, int) returns int language sql immutable as $$select 7$$;
  create operator ${schema}.% (leftarg = int, rightarg = int, function = ${schema}.f);
  create function ${schema}.g(varchar, text) returns bool language sql immutable as $$select true$$;
  create operator ${schema}.~ (leftarg = varchar, rightarg = text, function = ${schema}.g);
`;

const ZONES = ['UTC', 'Europe/Berlin', 'America/St_Johns', 'Asia/Kathmandu', 'Pacific/Apia'];
const STYLES = ['ISO, MDY', 'German, DMY', 'SQL, DMY', 'Postgres, YMD'];
const VALUES: Readonly<Record<string, string>> = {
  integer: '2',
  string: 'Author 1',
  boolean: 'true',
  date: '2024-01-05',
  datetime: '2024-01-05T10:00:00Z',
  uuid: 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11',
};

test('a shared statement answers what its own answers, byte for byte', { timeout: 120_000 }, async () => {
  const seed = Number(process.env['SVC_SEED'] ?? Date.now() % 1_000_000);
  const random = createRandom(seed);
  const other = await testDatabase({ sql: [SHOP, decoys('one', '1'), decoys('two', '2')] });
  const capabilities = ORDINARY.map(([sql, options], at) =>
    capabilityOf(sql, { ...options, name: `c${at}` }),
  );
  let compared = 0;
  for (let round = 0; round < 4; round += 1) {
    const schemas = ['one', 'two', 'public', 'pg_catalog', '"$user"'].filter(() => random() < 0.7);
    const path = [...schemas.toSorted(() => random() - 0.5), 'public'].join(', ');
    await other.execute(`
      alter database ${other.name} set search_path = ${path};
      alter database ${other.name} set timezone = '${pick(random, ZONES)}';
      alter database ${other.name} set datestyle = '${pick(random, STYLES)}';`);
    const pool = createPool(configOf(other));
    const { prepared } = await verifyCapabilities(pool, capabilities);
    await pool.close();
    const client = new pg.Client({ connectionString: other.url });
    await client.connect();
    onTestFinished(() => client.end());
    for (const query of prepared) {
      if (query.shared === undefined) continue;
      const one = await answersOf(client, query, query.own, path);
      const shared = await answersOf(client, query, query.shared, 'pg_catalog, pg_temp');
      expect([seed, path, query.own.whole, shared]).toEqual([seed, path, query.own.whole, one]);
      compared += 1;
    }
  }
  // A path that begins with decoys leaves few.
  expect(compared, `seed ${seed}`).toBeGreaterThan(20);
});

async function answersOf(
  client: pg.Client,
  { params }: PreparedQuery,
  statements: PreparedQuery['own'],
  path: string,
): Promise<readonly unknown[]> {
  const values = params.map(({ param: { schema } }) =>
    schema.type === 'array' ? '{2,3}' : (VALUES[schema.type] ?? null),
  );
  await client.query(`begin read only; set local search_path = ${path}`);
  try {
    const answers: unknown[] = [];
    for (const text of [statements.few, statements.whole, statements.prefix]) {
      if (text === undefined) continue;
      const { rows } = await client.query<unknown[]>({ text, values, rowMode: 'array' });
      // The last row of `few` gives back locks, if the statement does.
      answers.push(rows.map((row) => row.map(String)).filter(([first]) => first !== ''));
    }
    return answers;
  } finally {
    await client.query('rollback');
  }
}

afterAll(async () => {
  await server.execute('drop schema if exists trap cascade');
});
