import { testDatabase, type TestDatabase } from '@svc/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { capabilityOf, configOf, openPostgres, type TestedDatabase } from '../../capability.fixture.ts';

const schema = `
  create extension file_fdw;
  create extension postgres_fdw;
  create server files foreign data wrapper file_fdw;
  create server other foreign data wrapper postgres_fdw options (host 'other.invalid');
  create foreign data wrapper nothing;
  create server nowhere foreign data wrapper nothing;
  create schema shop;
  create foreign table shop.made (a int) server files options (program 'echo 1');
  create foreign table shop.filed (a int) server files options (filename '/dev/null');
  create foreign table shop.remote (a int) server other options (table_name 'plain');
  create foreign table shop.odd (a int) server nowhere;
  create foreign table remote (a int) server other options (schema_name 'shop', table_name 'plain');
  create view shop.indirect as select a from shop.made;
  create view shop.twice as select a from shop.indirect;
  create table shop.parts (a int) partition by range (a);
  create table shop.here partition of shop.parts for values from (0) to (10);
  create foreign table shop.there partition of shop.parts for values from (10) to (20) server other;
  create table shop.parent (a int);
  create foreign table shop.child () inherits (shop.parent) server other;
  create materialized view shop.copied as select a from shop.made;
  create function shop.reads() returns int language sql stable as 'select a from shop.made';
  create table shop.plain (a int);
`;

let server: TestDatabase;
let database: TestedDatabase;
beforeAll(async () => {
  server = await testDatabase({ sql: [schema] });
  const { host, port, user, password, name } = server;
  await server.execute(`alter server other options (set host '${host}', add port '${port}', add dbname '${name}');
    create user mapping for public server other options (user '${user}', password '${password}')`);
  database = openPostgres(configOf(server));
});
afterAll(() => database.close());

async function messagesOf(sql: string, ...allowForeignTables: readonly string[]): Promise<readonly string[]> {
  const { faults } = await database.verify([capabilityOf(sql, { allowForeignTables })]);
  return faults.map(({ message }) => message);
}

test.each([
  ['select a from shop.made', 'shop.made', 'each read runs a program on the database server'],
  ['select a from shop.filed', 'shop.filed', 'each read opens a file on the database server'],
  [
    'select a from shop.remote',
    'shop.remote',
    'its server may run a view or a function of that name, and the rollback here undoes nothing',
  ],
  ['select a from remote', 'public.remote', 'its server may run a view or a function'],
  ['select a from shop.odd', 'shop.odd', 'what its wrapper nothing does at a read is not known'],
  ['select a from shop.twice', 'shop.made', 'view shop.twice leads to view shop.indirect, which reads'],
  ['select a from shop.parts where a < 5', 'shop.there', 'table shop.parts reads foreign table shop.there'],
  ['select a from shop.parent', 'shop.child', 'table shop.parent reads foreign table shop.child'],
  ['select shop.reads() as a', 'shop.made', 'function shop.reads reads foreign table shop.made'],
  ['select a from shop.plain where exists (select from shop.made)', 'shop.made', 'runs a program'],
  [
    'select a from shop.filed where a in (with filed as (select 1 as a) select a from filed)',
    'shop.filed',
    'opens a file',
  ],
])('%s is refused unless the file names %s', async (sql, name, reason) => {
  const [message, ...others] = await messagesOf(sql);
  expect(others).toEqual([]);
  expect(message).toMatch(new RegExp(`^reads the foreign table ${name.replace('.', '\\.')}, and `));
  expect(message).toContain(reason);
  expect(message).toContain('remove it, or name it in policy.allow_foreign_tables');
  if (name === 'shop.odd') return;
  expect(await messagesOf(sql, name)).toEqual([]);
  expect(await messagesOf(sql, name.replace(/^.*\./, ''))).toEqual([]);
});

test.each([
  'select a from shop.copied',
  'select a from shop.here',
  'select a from shop.plain',
  'with made as (select 1 as a) select a from made',
  'with made as (select 1 as a) select a from (select a from made) q',
  'select 1 as a where null::shop.made is null',
])('%s reads none', async (sql) => {
  expect(await messagesOf(sql)).toEqual([]);
});

test('a name that is nearly that of the table is told', async () => {
  const [message] = await messagesOf('select a from shop.remote', 'shop.remot');
  expect(message).toContain('did you mean this table by shop.remot in policy.allow_foreign_tables?');
});

test('the check tells the risk of each that is allowed, and of what the list has too many', async () => {
  const capability = capabilityOf('select m.a from shop.made m, shop.parts', {
    allowForeignTables: ['shop.made', 'there', 'shop.gone'],
  });
  const warnings = await database.findWarnings([capability, capabilityOf('select a from shop.plain')]);
  expect(warnings.map(({ message }) => message)).toEqual([
    'reads the foreign table shop.made: each read runs a program on the database server',
    'reads the foreign table shop.there: its server may run a view or a function of that name, and the rollback here undoes nothing there; table shop.parts reads foreign table shop.there',
    'does not read shop.gone, which policy.allow_foreign_tables names: remove it there',
  ]);
});
