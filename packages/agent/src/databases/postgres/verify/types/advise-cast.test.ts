import { loadModule } from 'libpg-query';
import { testDatabase, type TestDatabase } from '@svc/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ParamSchema } from '../../../../capabilities/model.ts';
import { capabilityOf, configOf } from '../../capability.fixture.ts';
import { createPool } from '../../connect.ts';
import type { SessionPool } from '../../pool/session-pool.ts';
import { readStatement } from '../statement/read-statement.ts';
import { chooseTypes } from './choose-types.ts';

let database: TestDatabase;
let pool: SessionPool;
/** PostgreSQL has them since version 14. */
let hasMultiranges = false;
beforeAll(async () => {
  database = await testDatabase();
  const [found] = await database.query("select to_regtype('nummultirange') is not null as has");
  hasMultiranges = found?.['has'] === true;
  await database.execute(`
    create type mood as enum ('sad', 'glad');
    create table room (id int primary key, price numrange, floors int4range, during tstzrange, days daterange,
      ${hasMultiranges ? 'prices nummultirange, times tstzmultirange,' : ''} addr inet, moods mood[], noon time, open boolean)`);
  pool = createPool(configOf(database));
});
afterAll(() => pool.close());

async function faultsOf(condition: string, type: ParamSchema['type']): Promise<readonly string[]> {
  const names = [...new Set([...condition.matchAll(/(?<!:):(\w+)/g)].map(([, name = '']) => name))];
  const params = Object.fromEntries(names.map((name) => [name, { type }]));
  const sql = `select id from room where ${condition}`;
  const capability = capabilityOf(sql, { params });
  await loadModule();
  const statement = readStatement(capability);
  if (!statement.ok) throw new Error(JSON.stringify(statement.faults));
  const chosen = await chooseTypes(pool, capability, statement.read);
  return chosen.ok ? [] : chosen.faults.map(({ message }) => message);
}

test.for<[condition: string, type: ParamSchema['type'], taken: string, cast: string]>([
  ['price @> :v', 'integer', 'numrange', 'numeric'],
  ['floors @> :v', 'date', 'int4range', ''],
  ['during @> :v', 'date', 'tstzrange', 'timestamptz'],
  ['days @> :v', 'datetime', 'daterange', 'date'],
  ['prices @> :v', 'integer', 'nummultirange', 'numeric'],
  ['times @> :v', 'date', 'tstzmultirange', 'timestamptz'],
  ['price && :v', 'integer', 'numrange', ''],
])('%s with a parameter %s', async ([condition, type, taken, cast], { skip }) => {
  skip(!hasMultiranges && taken.includes('multirange'), 'there are no multiranges');
  const faults = await faultsOf(condition, type);
  const advice = cast === '' ? '' : `: cast it in the SQL, as in :v::${cast}`;
  expect(faults).toEqual([`is declared ${type}, but the SQL takes it as ${taken}${advice}`]);
  if (cast !== '') expect(await faultsOf(condition.replaceAll(':v', `:v::${cast}`), type)).toEqual([]);
});

test('each of two parameters gets its own cast', async ({ skip }) => {
  skip(!hasMultiranges, 'there are no multiranges');
  expect(await faultsOf('price @> :a and times @> :b', 'integer')).toEqual([
    'is declared integer, but the SQL takes it as numrange',
    'is declared integer, but the SQL takes it as tstzmultirange',
  ]);
  expect(await faultsOf('price @> :a and prices @> :b', 'integer')).toEqual([
    'is declared integer, but the SQL takes it as numrange: cast it in the SQL, as in :a::numeric',
    'is declared integer, but the SQL takes it as nummultirange: cast it in the SQL, as in :b::numeric',
  ]);
});

test('a cast that the server does not make is not advised', async () => {
  expect(await faultsOf('noon = :v', 'boolean')).toEqual([
    'is declared boolean, but the SQL takes it as time without time zone: declare it string',
  ]);
  expect(await faultsOf('addr = :v', 'boolean')).toEqual([
    'is declared boolean, but the SQL takes it as inet: declare it string',
  ]);
});
