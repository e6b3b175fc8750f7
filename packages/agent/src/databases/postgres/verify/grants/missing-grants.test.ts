import { testDatabase, type TestDatabase } from '@svc/testkit';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  callOf,
  capabilityOf,
  configOf,
  openPostgres,
  queryOf,
  type TestedDatabase,
} from '../../capability.fixture.ts';
import { databaseFault } from '../../../driver/errors.ts';
import { createPool } from '../../connect.ts';
import { describeStatement } from '../describe-statement.ts';

let server: TestDatabase;
let database: TestedDatabase;
let reader: string;
let owner: string;
let me: string;

/** Objects with awkward names, none of which the account may use. */
beforeAll(async () => {
  server = await testDatabase();
  reader = `${server.name} "reader`;
  owner = `${server.name}_owner`;
  me = quoted(reader);
  await server.execute(`create role ${me} login password 'reader'; create role ${owner}`);
  database = openPostgres(configOf({ ...server, user: reader, password: 'reader' }));
});
afterAll(async () => {
  await database.close();
  await server.execute(`drop owned by ${me}, ${owner}; drop role ${me}, ${owner}`);
});
beforeEach(async () => {
  await server.execute(`
    drop schema if exists "Odd" cascade; drop schema if exists shop cascade;
    create schema "Odd"; create schema shop;
    grant usage on schema shop to ${me}, ${owner};
    create table "Odd"."Fact ""1" (id int, "Note" text, secret text);
    create table shop.item (id int, price int, secret text);
    create table shop.part (id int, item int, name text);
    create sequence shop.counter;
    create view shop.prices as select id, price from shop.item;
    create materialized view shop.totals as select sum(price)::int as total from shop.item;
    create table shop.log (id int) partition by list (id);
    create table shop.log_1 partition of shop.log for values in (1);
    create type shop.mood as enum ('good');
    create function shop.twice(n int) returns int language plpgsql immutable as 'begin return 2 * n; end';
    create function shop.known(n int) returns int language sql stable as 'select price from shop.item where id = n limit 1';
    create function shop.items() returns setof int language sql stable as 'select id from shop.item';
    create function shop.over(n int) returns int language plpgsql immutable as 'begin return n; end';
    create function shop.over(n text) returns int language plpgsql immutable as 'begin return 1; end';
    create function shop.over(n int, m int default 0) returns text language plpgsql immutable as 'begin return n; end';
    drop function shop.over(int, int);
    revoke execute on all functions in schema shop from public;
    grant execute on function shop.known(int), shop.items() to ${me};
  `);
});

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

async function messagesOf(sql: string): Promise<readonly string[]> {
  const { faults } = await database.verify([capabilityOf(sql)]);
  return faults.map(({ message }) => message);
}

async function grantsFor(sql: string): Promise<readonly string[]> {
  const { faults } = await database.verify([capabilityOf(sql)]);
  const [fault] = faults;
  if (fault?.remedy === undefined) return [];
  expect(fault.detail).toContain(`to grant it: ${fault.remedy}`);
  expect(fault.message).not.toContain('GRANT');
  return fault.remedy.split('; ');
}

const cases: readonly {
  readonly name: string;
  readonly setup?: string;
  readonly sql: string;
  readonly grants: readonly string[];
}[] = [
  {
    name: 'a schema and a table, whose names need quotes',
    sql: `select id as a from "Odd"."Fact ""1"`,
    grants: ['GRANT USAGE ON SCHEMA "Odd" TO ME', 'GRANT SELECT ON "Odd"."Fact ""1" TO ME'],
  },
  {
    name: 'two tables at once',
    sql: 'select i.id as a from shop.item i join shop.part p on p.item = i.id',
    grants: ['GRANT SELECT ON shop.item TO ME', 'GRANT SELECT ON shop.part TO ME'],
  },
  {
    name: 'columns, if some are granted',
    setup: 'grant select (id) on shop.item to ME; grant select (id, item) on shop.part to ME',
    sql: 'select i.id as a, p.name from shop.item i join shop.part p on p.item = i.id where i.price > 1',
    grants: ['GRANT SELECT (name) ON shop.part TO ME', 'GRANT SELECT (price) ON shop.item TO ME'],
  },
  {
    name: 'columns behind a star',
    setup: 'grant select (id) on shop.item to ME',
    sql: 'select * from (select *, id as a from shop.item) q',
    grants: ['GRANT SELECT (price, secret) ON shop.item TO ME'],
  },
  {
    name: 'columns of a row as a whole',
    setup: 'grant select (id) on shop.item to ME',
    sql: 'select id as a, to_jsonb(item) from shop.item',
    grants: ['GRANT SELECT (price, secret) ON shop.item TO ME'],
  },
  {
    name: 'a table of which rows are counted',
    sql: 'select count(*) as a from shop.item',
    grants: ['GRANT SELECT ON shop.item TO ME'],
  },
  { name: 'a view', sql: 'select id as a from shop.prices', grants: ['GRANT SELECT ON shop.prices TO ME'] },
  {
    name: 'a table below a view, for the owner of the view',
    setup: 'grant select on shop.prices to ME; alter view shop.prices owner to OWNER',
    sql: 'select id as a from shop.prices',
    grants: ['GRANT SELECT ON shop.item TO OWNER'],
  },
  {
    name: 'a materialized view',
    sql: 'select total as a from shop.totals',
    grants: ['GRANT SELECT ON shop.totals TO ME'],
  },
  {
    name: 'a partitioned table',
    sql: 'select id as a from shop.log',
    grants: ['GRANT SELECT ON shop.log TO ME'],
  },
  {
    name: 'a partition',
    setup: 'grant select on shop.log to ME',
    sql: 'select id as a from shop.log_1',
    grants: ['GRANT SELECT ON shop.log_1 TO ME'],
  },
  {
    name: 'a sequence',
    sql: 'select last_value::int as a from shop.counter',
    grants: ['GRANT SELECT ON SEQUENCE shop.counter TO ME'],
  },
  {
    name: 'a function',
    setup: 'grant select on shop.item to ME',
    sql: 'select shop.twice(id) as a from shop.item',
    grants: ['GRANT EXECUTE ON FUNCTION shop.twice(integer) TO ME'],
  },
  {
    name: 'a function in a view',
    setup:
      'create view shop.doubled as select shop.twice(id) as a from shop.item; grant select on shop.doubled to ME',
    sql: 'select a from shop.doubled',
    grants: ['GRANT EXECUTE ON FUNCTION shop.twice(integer) TO ME'],
  },
  {
    name: 'the one of several functions of a name that is not granted',
    setup: 'grant select on shop.item to ME; grant execute on function shop.over(text) to ME',
    sql: 'select shop.over(id) as a from shop.item',
    grants: ['GRANT EXECUTE ON FUNCTION shop.over(integer) TO ME'],
  },
  {
    name: 'a table in the body of a function',
    sql: 'select items as a from shop.items()',
    grants: ['GRANT SELECT ON shop.item TO ME'],
  },
  {
    name: 'a table that row-level security reads',
    setup: `grant select on shop.item to ME; alter table shop.item enable row level security;
      create policy own on shop.item using (exists (select from shop.part p where p.item = item.id))`,
    sql: 'select id as a from shop.item',
    grants: ['GRANT SELECT ON shop.part TO ME'],
  },
  {
    name: 'a schema alone',
    setup: 'grant select on shop.item to ME; revoke usage on schema shop from ME',
    sql: 'select id as a from shop.item',
    grants: ['GRANT USAGE ON SCHEMA shop TO ME'],
  },
  {
    name: 'a schema of the search path',
    setup:
      'grant select on shop.item to ME; revoke usage on schema shop from ME; alter role ME set search_path = "$user", shop',
    sql: 'select id as a from item',
    grants: ['GRANT USAGE ON SCHEMA shop TO ME'],
  },
  {
    name: 'a schema of a function on the search path',
    setup:
      'grant execute on function shop.twice to ME; revoke usage on schema shop from ME; alter role ME set search_path = shop',
    sql: 'select twice(1) as a',
    grants: ['GRANT USAGE ON SCHEMA shop TO ME'],
  },
  {
    name: 'no name that WITH gives to a query',
    setup:
      'create table shop.own (id int); alter role ME set search_path = shop; grant select on shop.part to ME',
    sql: 'with own as (select id from item) select own.id as a from own join part using (id)',
    grants: ['GRANT SELECT ON shop.item TO ME'],
  },
];

test.each(cases)(
  'a refusal names the GRANT of $name, with which the check passes',
  async ({ setup = '', sql, grants }) => {
    const named = (text: string): string =>
      text.replaceAll(/\bME\b/g, () => me).replaceAll(/\bOWNER\b/g, owner);
    await server.execute(`alter role ${me} reset search_path; ${named(setup)}`);
    // The path belongs to the session.
    await database.close();
    database = openPostgres(configOf({ ...server, user: reader, password: 'reader' }));
    const found = await grantsFor(sql);
    expect(found).toEqual(grants.map(named));
    await server.execute(found.join(';\n'));
    expect(await messagesOf(sql)).toEqual([]);
  },
);

test('a view that is run as who reads it needs grants for the account itself', async ({ skip }) => {
  skip((await server.version()) < 150_000, 'views of PostgreSQL 14 have no security_invoker');
  await server.execute(`
    alter view shop.prices set (security_invoker = true);
    create view shop.outer as select id as a from shop.prices; alter view shop.outer owner to ${owner};
    grant select on shop.outer to ${me}; grant select on shop.prices to ${owner};
  `);
  const found = await grantsFor('select a from shop.outer');
  expect(found).toEqual([`GRANT SELECT ON shop.item TO ${me}`]);
  await server.execute(found.join(';\n'));
  expect(await messagesOf('select a from shop.outer')).toEqual([]);
});

test('a capability is warned of a function whose body reads what the account may not', async () => {
  await server.execute(`
    create function shop.cheapest() returns int language sql stable set work_mem = '1MB' as 'select min(price) from shop.item';
    create function shop.near() returns int language sql stable set work_mem = '1MB' as 'select min(item) from shop.part';
    grant execute on function shop.cheapest(), shop.near() to ${me}; grant select (item) on shop.part to ${me};
  `);
  const cheapest = capabilityOf('select shop.cheapest() as a');
  const near = capabilityOf('select shop.near() as a', { name: 'near' });
  expect((await database.verify([cheapest, near])).faults).toEqual([]);
  const grant = `GRANT SELECT ON shop.item TO ${me}`;
  expect(await database.findWarnings([cheapest, near])).toEqual([
    expect.objectContaining({
      path: 'capabilities.sample.sql',
      message: `calls a function whose body reads what the account may not; to grant it: ${grant}`,
    }),
  ]);
  const query = await queryOf(database, cheapest);
  await expect(query.run(callOf())).rejects.toMatchObject({ sqlState: '42501' });
  await server.execute(grant);
  expect(await database.findWarnings([cheapest, near])).toEqual([]);
  expect(await query.run(callOf())).toMatchObject({ count: 1 });
});

test('a refusal that several functions can explain names each of them', async () => {
  const { faults } = await database.verify([capabilityOf("select shop.over('x') as a")]);
  expect(faults).toMatchObject([
    {
      message: expect.stringContaining(
        '(the account may not execute the one of several functions that it calls)',
      ),
      remedy: `one of: GRANT EXECUTE ON FUNCTION shop.over(integer) TO ${me}; GRANT EXECUTE ON FUNCTION shop.over(text) TO ${me}`,
    },
  ]);
});

test('a refusal that nothing explains names no GRANT', async () => {
  // The planner runs it, and the role that it asks for is no privilege on an object.
  await server.execute(`
    create function shop.setting() returns text language plpgsql immutable as
      'begin return current_setting(''data_directory''); end';
    grant execute on function shop.setting() to ${me};
  `);
  const { faults } = await database.verify([capabilityOf("select 1 as a where shop.setting() = ''")]);
  expect(faults).toEqual([expect.not.objectContaining({ remedy: expect.anything() })]);
  expect(faults[0]?.message).toContain('(the account lacks a privilege, and it is not known which)');
});

test('a catalog that the check itself cannot read is named', async () => {
  await server.execute('revoke select on pg_catalog.pg_amproc from public');
  try {
    const found = await grantsFor('select 1 as a');
    expect(found).toEqual([`GRANT SELECT ON pg_catalog.pg_amproc TO ${me}`]);
    await server.execute(found.join(';\n'));
    expect(await messagesOf('select 1 as a')).toEqual([]);
  } finally {
    await server.execute('grant select on pg_catalog.pg_amproc to public');
  }
});

test('a database that the account may not connect to is named with its GRANT', async () => {
  const other = openPostgres(configOf({ ...server, user: reader, password: 'reader' }));
  await server.execute(`revoke connect on database ${server.name} from public`);
  try {
    const error: unknown = await other.ping().catch((refusal: unknown) => refusal);
    const fault = databaseFault(error);
    expect(fault).toMatchObject({
      message: 'cannot use the database: the account may not connect to it: grant it CONNECT',
      remedy: `GRANT CONNECT ON DATABASE "${server.name}" TO ${me}`,
    });
    await server.execute(fault.remedy ?? '');
    await other.ping();
  } finally {
    await server.execute(`grant connect on database ${server.name} to public`);
    await other.close();
  }
});

test('a statement that is to become a capability is refused with its GRANT, too', async () => {
  const pool = createPool(configOf({ ...server, user: reader, password: 'reader' }));
  try {
    const described = await describeStatement(pool, 'prices', 'select id from shop.prices where id = :id');
    expect(described).toMatchObject({
      ok: false,
      faults: [{ remedy: `GRANT SELECT ON shop.prices TO ${me}` }],
    });
  } finally {
    await pool.close();
  }
});
