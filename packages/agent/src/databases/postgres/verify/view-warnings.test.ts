import { testDatabase, type TestDatabase } from '@svc/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { capabilityOf, configOf, openPostgres, type TestedDatabase } from '../capability.fixture.ts';

const SCHEMA = `
  create table open_note (id int primary key);
  create table note (id int primary key);
  alter table note enable row level security;
  create schema "odd one";
  create view "odd one"."all notes" as select id from note;
  create view nested as select id from "odd one"."all notes" where id in (select id from note);
  create view harmless as select id from open_note;
`;
const SAFE_SCHEMA = `
  create view mine with (security_invoker) as select id from note;
  create view around with (security_invoker = on) as select id from nested;
  create view unsafe with (security_invoker = off) as select id from mine;
`;
const FIRST_WITH_INVOKER = 150_000;

let server: TestDatabase;
let database: TestedDatabase;
let version: number;
beforeAll(async () => {
  server = await testDatabase({ sql: [SCHEMA] });
  version = await server.version();
  if (version >= FIRST_WITH_INVOKER) await server.execute(SAFE_SCHEMA);
  database = openPostgres(configOf(server));
});
afterAll(() => database.close());

/** The views that two capabilities with this SQL are warned of. */
async function warned(sql: string): Promise<readonly string[]> {
  const first = await database.findWarnings([capabilityOf(sql)]);
  const both = await database.findWarnings([
    capabilityOf('select 1 as a', { name: 'other' }),
    capabilityOf(sql),
  ]);
  expect(both).toEqual(first);
  expect(first.every(({ path }) => path === 'capabilities.sample.sql')).toBe(true);
  return first.map(
    ({ message }) =>
      /^reads public\.note through the view (.*), which runs as its owner/.exec(message)?.[1] ?? message,
  );
}

test.each([
  ['select id as a from "odd one"."all notes"', ['"odd one"."all notes"']],
  ['select id as a from (select * from nested) n', ['public.nested']],
  [
    'with x as (select id from nested) select x.id as a from x, "odd one"."all notes" y',
    ['"odd one"."all notes"', 'public.nested'],
  ],
  ['select id as a from harmless', []],
  ['select id as a from note', []],
  ['with nested as (select id from note) select id as a from nested', []],
])('views that pass by row-level security: %s', async (sql, views) => {
  expect((await warned(sql)).toSorted()).toEqual(views);
});

test('the advice depends on the version of the server', async () => {
  const [warning] = await database.findWarnings([capabilityOf('select id as a from nested')]);
  expect(warning?.message).toContain(
    version >= FIRST_WITH_INVOKER
      ? '; to fix it: ALTER VIEW public.nested SET (security_invoker = true)'
      : 'PostgreSQL 15 or later',
  );
});

test('security_invoker counts for each view on the way', async ({ skip }) => {
  skip(version < FIRST_WITH_INVOKER, 'the server does not know security_invoker');
  expect(await warned('select id as a from mine')).toEqual([]);
  expect(await warned('select id as a from around')).toEqual(['public.nested']);
  expect(await warned('select id as a from unsafe')).toEqual(['public.unsafe']);
});
