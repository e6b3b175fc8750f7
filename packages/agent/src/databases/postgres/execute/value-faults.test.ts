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

let server: TestDatabase;
let database: TestedDatabase;
beforeAll(async () => {
  server = await testDatabase({
    sql: ["create table book (id int, label text); insert into book values (1, 'zq7marker')"],
  });
  database = openPostgres(configOf(server));
});
afterAll(() => database.close());

async function failureOf(sql: string, values: Readonly<Record<string, unknown>>): Promise<unknown> {
  const params = Object.fromEntries(
    Object.entries(values).map(([name, value]): [string, ParamSchema] => [
      name,
      { type: typeof value === 'string' ? 'string' : 'number' },
    ]),
  );
  const query = await queryOf(database, capabilityOf(sql, { params, result: { a: 'string' } }));
  return query.run(callOf(values)).catch((error: unknown) => error);
}

describe('what a query does not take as an argument', { tags: ['error:AGENT_INVALID_PARAMS.query'] }, () => {
  test.each<[state: string, sql: string, values: Record<string, unknown>, advice: string]>([
    ['2201W', 'select id as a from book limit 0 + :n', { n: -1 }, 'n: a row count must not be negative'],
    [
      '2201X',
      'select id as a from book limit 0 + :size offset (:page - 1) * :size',
      { size: 10, page: 0 },
      'size, page: a row offset must not be negative',
    ],
    [
      '2202G',
      'select id as a from book tablesample bernoulli (50) repeatable (:seed)',
      { seed: null },
      'seed: the seed of a sample must not be null',
    ],
    [
      '2202H',
      'select id as a from book tablesample bernoulli (:part)',
      { part: 200 },
      'part: the size of a sample is out of range',
    ],
    ['22007', "select to_date(:day, 'YYYY') as a", { day: 'zq7' }, 'day: it is no valid date or time'],
    [
      '22008',
      'select make_date(:y::int, :m::int, 1) as a',
      { y: 2024, m: 13 },
      'y, m: a date or time is out of range',
    ],
    [
      '22009',
      "select (:day || ' 00:00:00' || :zone)::timestamptz as a",
      { day: '2024-05-06', zone: '+99' },
      'day, zone: it is no valid time zone',
    ],
    [
      '22023',
      'select g as a from generate_series(1, 3, :step::int) g where :never::text is null',
      { step: 0, never: null },
      'step: it is no value that the query takes',
    ],
    // What a parameter alone is refused for says more.
    [
      '22007',
      "select :day::date as a where :note <> ''",
      { day: 'zq7', note: 'x' },
      'day: must be a valid date',
    ],
  ])('%s: %s', async (state, sql, values, advice) => {
    const failure = await failureOf(sql, values);
    expect(failure).toMatchObject({
      kind: 'invalid_params',
      advice,
      message: expect.stringContaining(state),
    });
    expect(String(failure)).not.toContain('zq7');
  });

  test.each([
    ['22012', 'select 1 / :n as a', { n: 0 }],
    ['22003', 'select (:n * 1e30)::int8 as a', { n: 7 }],
    ['22P02', 'select label::int as a from book where id = :n', { n: 1 }],
    // Nothing that the caller could change.
    ['22007', 'select label::date as a from book', {}],
    ['2201W', 'select id as a from book limit (select -id from book)', {}],
  ])('%s is no mistake of the caller: %s', async (state, sql, values) => {
    expect(await failureOf(sql, values)).toMatchObject({
      kind: 'failed',
      message: expect.stringContaining(state),
    });
  });
});
