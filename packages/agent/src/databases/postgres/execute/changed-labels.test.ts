import {
  type TestedDatabase,
  callOf,
  capabilityOf,
  configOf,
  queryOf,
  openPostgres,
} from '../capability.fixture.ts';
import { testDatabase, type TestDatabase } from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ParamSchema } from '../../../capabilities/model.ts';
import type { Query } from '../../driver/driver.ts';

let server: TestDatabase;
let database: TestedDatabase;
beforeAll(async () => {
  server = await testDatabase({
    sql: ["create type mood as enum ('sad', 'glad'); create type size as enum ('s', 'm')"],
  });
  await server.execute('create table shirt (id int, feels mood, size size)');
  database = openPostgres(configOf(server));
});
afterAll(() => database.close());

function queryWith(sql: string, params: Readonly<Record<string, ParamSchema>>): Promise<Query> {
  return queryOf(database, capabilityOf(`select id as a from shirt where ${sql}`, { params }));
}

describe('labels that are no longer those of the start', { tags: ['sql:enum-labels'] }, () => {
  test('are told of once, by the parameters that took them', async () => {
    const moods: ParamSchema = { type: 'array', items: { type: 'string' } };
    const params = { one: { type: 'string' }, some: moods, size: { type: 'string' } } as const;
    const query = await queryWith('feels = :one and feels = any(:some) and size = :size', params);
    const renamed = await queryWith('size = :size', { size: { type: 'string' } });
    await server.execute("alter type mood add value 'calm'");
    expect(await query.changedLabels?.()).toEqual(['one', 'some']);
    expect(await query.changedLabels?.()).toEqual([]);

    await server.execute("alter type size rename value 'm' to 'l'");
    await expect(renamed.run(callOf({ size: 'm' }))).rejects.toMatchObject({ kind: 'invalid_params' });
    expect(await renamed.changedLabels?.()).toEqual(['size']);
  });

  test('are looked for by one refused call at a time, and not missed for having been looked for before', async () => {
    const query = await queryWith('feels = :one', { one: { type: 'string' } });
    expect(await query.changedLabels?.()).toEqual([]);
    await server.execute("alter type mood add value 'later'");
    expect(await Promise.all([query.changedLabels?.(), query.changedLabels?.()])).toEqual([['one'], []]);
  });

  test.each<[string, ParamSchema]>([
    ['feels = :v', { type: 'string', enum: ['sad'] }],
    ['id = :v', { type: 'integer' }],
    ['feels::text = :v', { type: 'string' }],
  ])('are not looked for where the parameter has none of the database: %s with %j', async (sql, schema) => {
    expect((await queryWith(sql, { v: schema })).changedLabels).toBeUndefined();
  });
});
