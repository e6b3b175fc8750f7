import { testDatabase, type TestDatabase } from '@svc/testkit';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Query } from '../../driver/driver.ts';
import {
  callOf,
  capabilityOf,
  configOf,
  queryOf,
  type CapabilityOptions,
  openPostgres,
  type TestedDatabase,
} from '../capability.fixture.ts';

const SCHEMA = `
  create table book (id int primary key);
  insert into book values (1), (2);
  create function take(int) returns int language plpgsql stable as
    $$ begin perform pg_advisory_lock($1), pg_advisory_lock_shared($1); return $1; end $$;
  create function takes(text) returns bool language plpgsql stable as
    $$ begin perform take(length($1)); return true; end $$;
  create domain taking as text check (takes(value));
`;

let server: TestDatabase;
let database: TestedDatabase;
beforeEach(async () => {
  server = await testDatabase({ sql: [SCHEMA] });
  database = openPostgres(configOf(server, { maxConnections: 1 }));
});
afterEach(() => database.close());

async function held(): Promise<number> {
  const sql =
    "select count(*)::int as n from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())";
  return (await server.query<{ n: number }>(sql))[0]?.n ?? Number.NaN;
}

function prepared(sql: string, options: CapabilityOptions = {}): Promise<Query> {
  return queryOf(database, capabilityOf(sql, options));
}

describe('advisory locks that functions take for the session', () => {
  test('are given back before the call is answered', async () => {
    const query = await prepared('select take(id) as a from book');
    for (let round = 0; round < 8; round += 1) {
      await query.run(callOf());
      expect(await held()).toBe(0);
    }
  });

  test('are given back though only the search for a further row takes them', async () => {
    const query = await prepared('select id as a from book where id = 1 or take(id) < 0 order by id');
    for (let round = 0; round < 8; round += 1) {
      const { rows } = await query.run(callOf());
      expect(Buffer.from(rows).toString('utf8')).toBe('[{"a":1}]');
      expect(await held()).toBe(0);
    }
  });

  test('are held until all rows have been made', async () => {
    const sql = `select taken.a, l.held from (select max(take(id)) as a from book) taken,
      lateral (select count(*) as held from pg_locks where locktype = 'advisory' and pid = pg_backend_pid() and taken.a > 0) l`;
    const query = await prepared(sql, {
      result: { a: 'integer', held: 'integer' },
      allowFunctions: ['pg_lock_status'],
    });
    const { rows } = await query.run(callOf());
    expect(Buffer.from(rows).toString('utf8')).toBe('[{"a":2,"held":4}]');
  });

  test.each<[string, string, CapabilityOptions, Readonly<Record<string, unknown>>]>([
    ['a failing query', 'select take(7) / (id - 2) as a from book order by id', {}, {}],
    [
      'a value that the database refuses',
      'select length(:v::taking) / 0 as a',
      { params: { v: { type: 'string' } } },
      { v: 'four' },
    ],
    ['a query out of time', 'select take(8) as a from pg_sleep(60)', { allowFunctions: ['pg_sleep'] }, {}],
  ])('are given back after %s', async (_what, sql, options, values) => {
    const query = await prepared(sql, options);
    await expect(query.run(callOf(values, { timeoutMs: 300 }))).rejects.toThrow(/SQLSTATE/);
    await expect.poll(held, { interval: 5 }).toBe(0);
  });

  test('are given back when it was the planner, at the start, that called the function', async () => {
    await prepared('select id as a from book where id = take(9)');
    await expect.poll(held, { interval: 5 }).toBe(0);
  });
});

test('an account that may not give them back is served all the same', async () => {
  await server.execute('revoke execute on function pg_advisory_unlock_all() from public');
  const role = `${server.name}_plain`;
  await server.execute(`create role ${role} login password 'plain'; grant select on book to ${role}`);
  const plain = openPostgres(configOf({ ...server, user: role, password: 'plain' }));
  const query = await queryOf(plain, capabilityOf('select id as a from book where id = 1'));
  expect(await query.run(callOf())).toMatchObject({ count: 1 });
  const failing = await queryOf(plain, capabilityOf('select 1 / (id - 1) as a from book where id = 1'));
  await expect(failing.run(callOf())).rejects.toMatchObject({ kind: 'failed' });
  expect(await query.run(callOf())).toMatchObject({ count: 1 });
  await plain.close();
  await server.execute(`drop owned by ${role}; drop role ${role}`);
});
