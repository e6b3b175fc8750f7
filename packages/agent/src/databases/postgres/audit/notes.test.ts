import { testDatabase, type TestDatabase } from '@svc/testkit';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { AccountNote } from '../../driver/driver.ts';
import { capabilityOf, configOf, openPostgres } from '../capability.fixture.ts';
import { quoteIdentifier } from '../dialect/quote-identifier.ts';

let server: TestDatabase;
let reader: string;
let me: string;
let helper: string;

beforeAll(async () => {
  server = await testDatabase();
  reader = `${server.name} "reader`;
  me = quoteIdentifier(reader);
  helper = `${server.name}_helper`;
  await server.execute(`
    create role ${me} login password 'reader'; create role ${helper}; grant ${helper} to ${me};
    revoke temporary on database ${server.name} from public;
  `);
});
afterAll(async () => {
  await server.execute(`drop owned by ${me}, ${helper} cascade; drop role ${me}; drop role ${helper}`);
});
beforeEach(async () => {
  await server.execute(`
    drop schema if exists shop cascade; create schema shop; grant usage on schema shop to ${me};
    alter role ${me} set search_path = shop;
    create table shop.item (id int, note text, price int, "Secret" text);
    create table shop.part (id int, item int, name text);
    create table shop.unread (id int);
    create view shop.parts as select id, item from shop.part;
  `);
});

/** What the report says beside the line for every account, and the faults of the capabilities. */
async function described(
  ...statements: readonly string[]
): Promise<{ readonly notes: readonly AccountNote[]; readonly faults: readonly unknown[] }> {
  const database = openPostgres(configOf({ ...server, user: reader, password: 'reader' }));
  const capabilities = statements.map((sql, index) => capabilityOf(sql, { name: `sample_${index}` }));
  try {
    const [everyone, ...notes] = await database.describeAccount(capabilities);
    expect(everyone).toEqual({ note: expect.stringContaining('lo_create') });
    expect(await database.auditAccount(capabilities)).toEqual([]);
    return { notes, faults: (await database.verify(capabilities)).faults };
  } finally {
    await database.close();
  }
}

const cases: readonly {
  readonly name: string;
  readonly setup: string;
  readonly sql: readonly string[];
  readonly notes: readonly AccountNote[];
}[] = [
  {
    name: 'a table that no capability names, of the account, of a role and of PUBLIC',
    setup: `grant select on shop.item, shop.unread to ME; grant select on shop.part to HELPER; grant select on shop.parts to public`,
    sql: ['select id as a from item i where note = price::text and "Secret" is null'],
    notes: [
      {
        note: 'the account has SELECT on what no capability names: shop.part',
        remedy: 'REVOKE SELECT ON shop.part FROM HELPER',
      },
      {
        note: 'the account has SELECT on what no capability names: shop.parts',
        remedy: 'REVOKE SELECT ON shop.parts FROM PUBLIC',
      },
      {
        note: 'the account has SELECT on what no capability names: shop.unread',
        remedy: 'REVOKE SELECT ON shop.unread FROM ME',
      },
    ],
  },
  {
    name: 'columns that no capability names',
    setup: 'grant select on shop.item to ME; grant select (id, item, name) on shop.part to ME',
    sql: [
      'select i.id as a from item i where price > 1',
      'select count(p.id)::int as a from part p join item using (id) where item.note is null',
    ],
    notes: [
      {
        note: 'the account has SELECT on columns that no capability names: shop.item ("Secret"), shop.part (item, name)',
        remedy:
          'REVOKE SELECT ON shop.item FROM ME; GRANT SELECT (id, note, price) ON shop.item TO ME; ' +
          'REVOKE SELECT (item, name) ON shop.part FROM ME',
      },
    ],
  },
  {
    name: 'nothing, for a star, a row as a whole and a count',
    setup: 'grant select on shop.item, shop.part, shop.unread to ME',
    sql: [
      'select id as a, i.* from item i',
      'select id as a, to_jsonb(p) from part p',
      'select count(*)::int as a from unread',
    ],
    notes: [],
  },
  {
    name: 'a table below a view, which is read as its owner',
    setup: 'grant select on shop.parts, shop.part to ME',
    sql: ['select id as a from parts where item = 1'],
    notes: [
      {
        note: 'the account has SELECT on what no capability names: shop.part',
        remedy: 'REVOKE SELECT ON shop.part FROM ME',
      },
    ],
  },
  {
    name: 'nothing of what row-level security and the body of a function read',
    setup: `grant select (id) on shop.item to ME; grant select (item) on shop.part to ME; grant select on shop.unread to ME;
      alter table shop.item enable row level security;
      create policy own on shop.item using (exists (select from shop.part where part.item = item.id));
      create function shop.lowest() returns int language sql stable as 'select min(id) from shop.unread'`,
    sql: ['select id as a from item', 'select lowest() as a'],
    notes: [],
  },
  {
    name: 'many tables, by their schema, without what is needed',
    setup: `${Array.from({ length: 12 }, (_, n) => `create table shop.t${n + 10} (id int)`).join('; ')}; grant select on all tables in schema shop to ME`,
    sql: ['select id as a from item', 'select a from (select t10.*, id as a from t10) q'],
    notes: [
      {
        note: `the account has SELECT on what no capability names: ${['part', 'parts', ...Array.from({ length: 8 }, (_, n) => `t${n + 11}`)].map((name) => `shop.${name}`).join(', ')} and 4 more`,
        remedy:
          'REVOKE SELECT ON ALL TABLES IN SCHEMA shop FROM ME; GRANT SELECT (id) ON shop.item TO ME; GRANT SELECT ON shop.t10 TO ME',
      },
      {
        note: 'the account has SELECT on columns that no capability names: shop.item (note, price, "Secret")',
        remedy: 'REVOKE SELECT ON shop.item FROM ME; GRANT SELECT (id) ON shop.item TO ME',
      },
    ],
  },
];

test.each(cases)(
  'the report tells $name, and the remedies leave capabilities as they are',
  async ({ setup, sql, notes }) => {
    const named = (text: string): string =>
      text.replaceAll(/\bME\b/g, () => me).replaceAll(/\bHELPER\b/g, helper);
    await server.execute(named(setup));
    const found = await described(...sql);
    expect(found).toEqual({
      notes: notes.map((each) =>
        each.remedy === undefined ? each : { ...each, remedy: named(each.remedy) },
      ),
      faults: [],
    });
    for (const { remedy } of found.notes) await server.execute(remedy ?? '');
    expect(await described(...sql)).toEqual({ notes: [], faults: [] });
  },
);

test('what a capability calls and runs as its owner is told, and is no finding', async () => {
  await server.execute(
    `create function shop.own() returns int language sql stable security definer as 'select 1'`,
  );
  expect(await described('select own() as a')).toEqual({
    notes: [{ note: 'capabilities may call what runs as its owner (SECURITY DEFINER): shop.own()' }],
    faults: [],
  });
});

test('what an extension lets everybody read is left out', async () => {
  await server.execute('create extension pg_stat_statements schema shop');
  expect(await described('select 1 as a')).toEqual({ notes: [], faults: [] });
});

test('of a superuser nothing more is told', async () => {
  const database = openPostgres(configOf(server));
  expect(await database.describeAccount([])).toEqual([]);
  await database.close();
});
