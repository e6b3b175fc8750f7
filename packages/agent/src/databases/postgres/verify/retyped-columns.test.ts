import {
  type TestedDatabase,
  callOf,
  capabilityOf,
  configOf,
  queryOf,
  textOfRows,
  openPostgres,
} from '../capability.fixture.ts';
import { testDatabase, type TestDatabase } from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ResultType } from '../../../capabilities/model.ts';
import { DatabaseError } from '../../driver/errors.ts';
import type { Query } from '../../driver/driver.ts';
import { runOwnStatements } from '../execute/own-statements.ts';
import { explain } from './plan-statement.ts';
import { SessionPool } from '../pool/session-pool.ts';
import { openSession } from '../connection/database-session.ts';
import { verifyCapabilities } from './verify-capabilities.ts';

/** What a column may be when the agent starts, by the type that its field declares. */
const STARTS: readonly (readonly [declared: ResultType, types: readonly string[]])[] = [
  ['integer', ['int4', 'oid', 'numeric(9, 0)', 'whole']],
  ['number', ['int8', 'float4', 'float8', 'numeric', 'share']],
  ['string', ['int4', 'float8', 'bool', 'timestamptz', 'jsonb', 'char(3)', 'inet', 'int4[]', 'pair']],
  ['boolean', ['bool']],
  ['date', ['date']],
  ['datetime', ['timestamp', 'timestamptz']],
  ['array', ['int4[]', 'float8[]', 'date[]', 'int2vector', 'jsonb']],
  ['object', ['pair', 'json', 'jsonb']],
];

type Truth = Partial<Readonly<Record<ResultType, string>>>;

/** What the column becomes, a value in it, and the JSON of that value as each declared type that it still fits. */
const LATER: readonly (readonly [type: string, value: string, truth: Truth])[] = [
  ['int4', '-7', { integer: '-7', number: '-7', string: '"-7"' }],
  [
    'int8',
    '9007199254740993',
    { integer: '9007199254740993', number: '9007199254740993', string: '"9007199254740993"' },
  ],
  ['oid', '4294967295', { integer: '4294967295', number: '4294967295', string: '"4294967295"' }],
  ['numeric', '3.7', { number: '3.7', string: '"3.7"' }],
  ['numeric', '12345678901234567.8', { number: '12345678901234567.8', string: '"12345678901234567.8"' }],
  ['whole', '12345', { integer: '12345', number: '12345', string: '"12345"' }],
  ['float4', '3.7', { number: '3.7', string: '"3.7"' }],
  ['float8', '3.7000000000000006', { number: '3.7000000000000006', string: '"3.7000000000000006"' }],
  ['money', '3.7', { string: '"$3.70"' }],
  ['bool', 'true', { boolean: 'true', string: '"true"' }],
  ['text', '3.7', { string: '"3.7"' }],
  ['text', '2024-05-06 07:08:09.5', { string: '"2024-05-06 07:08:09.5"' }],
  ['text', '[3.7]', { string: '"[3.7]"', array: '[3.7]' }],
  ['char(6)', 'longer', { string: '"longer"' }],
  ['inet', '10.0.0.7/24', { string: '"10.0.0.7/24"' }],
  [
    'date',
    '2024-05-06',
    { date: '"2024-05-06"', string: '"2024-05-06"', datetime: '"2024-05-06T00:00:00+00:00"' },
  ],
  [
    'timestamp',
    '2024-05-06 07:08:09.5',
    { string: '"2024-05-06 07:08:09.5"', datetime: '"2024-05-06T07:08:09.5+00:00"' },
  ],
  [
    'timestamptz',
    '2024-05-06 07:08:09.5+00',
    { string: '"2024-05-06 07:08:09.5+00"', datetime: '"2024-05-06T07:08:09.5+00:00"' },
  ],
  ['int4[]', '{3}', { string: '"{3}"', array: '[3]' }],
  ['numeric[]', '{3.7}', { string: '"{3.7}"', array: '[3.7]' }],
  ['text[]', '{NaN}', { string: '"{NaN}"', array: '["NaN"]' }],
  ['jsonb', '[3.7]', { string: '"[3.7]"', array: '[3.7]' }],
  ['json', '{"a": 3.7}', { string: String.raw`"{\"a\": 3.7}"`, object: '{"a": 3.7}' }],
  ['pair', '(1,3.7)', { string: '"(1,3.7)"', object: '{"x":1,"y":3.7}' }],
];

let server: TestDatabase;
let database: TestedDatabase;
beforeAll(async () => {
  server = await testDatabase({
    sql: [
      "create type mood as enum ('sad', 'glad')",
      'create type pair as (x int, y numeric)',
      'create domain whole as numeric(5, 0)',
      'create domain share as float8',
      'create table changing (a int)',
    ],
  });
  await server.execute(
    `alter database ${server.name} set timezone = 'UTC'; alter database ${server.name} set lc_monetary = 'C'`,
  );
  // One session, so that what it has prepared is what meets the change.
  database = openPostgres(configOf(server, { maxConnections: 1 }));
});
afterAll(() => database.close());

async function become(type: string): Promise<void> {
  await server.execute(`truncate changing; alter table changing alter a type ${type} using null`);
}

function kindOfFailure(error: unknown): string {
  return error instanceof DatabaseError ? error.kind : String(error);
}

describe('a column retyped under a running agent', { tags: ['result:retyped'] }, () => {
  const running: { readonly declared: ResultType; readonly start: string; readonly query: Query }[] = [];
  beforeAll(async () => {
    for (const [declared, starts] of STARTS) {
      for (const start of starts) {
        await become(start);
        const query = await queryOf(
          database,
          capabilityOf('select a from changing', { result: { a: declared } }),
        );
        await query.run(callOf());
        running.push({ declared, start, query });
      }
    }
  });

  test.each(LATER)(
    'into %s, holding %s, yields what it holds, null or an error',
    async (type, value, truth) => {
      await become(type);
      await server.execute(`insert into changing values ('${value}')`);
      const wrong = await Promise.all(
        running.map(async ({ declared, start, query }) => {
          const outcome = await query.run(callOf()).then(textOfRows, kindOfFailure);
          const truthful = `[{"a":${truth[declared]}}]`;
          const fitting = ['failed', '[{"a":null}]', '[{"a":[null]}]', truthful].includes(outcome);
          // What has the type that it had at the start must still be given.
          const given = type !== start || outcome !== 'failed';
          return fitting && given ? [] : [`${declared} from ${start}: ${outcome}`];
        }),
      );
      expect(wrong.flat()).toEqual([]);
    },
  );
});

test('the log says that the database may have changed', async () => {
  await become('int4');
  const query = await queryOf(database, capabilityOf('select a from changing'));
  await become('numeric');
  await expect(query.run(callOf())).rejects.toMatchObject({
    kind: 'failed',
    message: expect.stringMatching(/^SQLSTATE 42883, undefined_function, .*; the database may have changed/),
  });
});

test('the planner leaves out what only the types are checked by', async () => {
  const pool = new SessionPool((signal) => openSession(configOf(server), signal), 1);
  const fields = STARTS.flatMap(([declared, types]) => types.map((type) => ({ declared, type })));
  const sql = `select ${fields.map(({ type }, at) => `null::${type} as f${at}`).join(', ')} from changing`;
  const result = Object.fromEntries(fields.map(({ declared }, at) => [`f${at}`, declared]));
  const { prepared: queries, faults } = await verifyCapabilities(pool, [capabilityOf(sql, { result })]);
  expect(faults).toEqual([]);
  const { results } = await runOwnStatements(pool, {
    statements: explain(queries[0]?.own.whole ?? '', 0),
    capability: '',
    timeoutMs: 5000,
  });
  await pool.close();
  expect(queries[0]?.own.whole).toMatch(/int8out|array_eq|array_ndims|bpcharout/);
  expect(results[2]?.rows[0]?.[0]).toMatch(/f0/);
  expect(results[2]?.rows[0]?.[0]).not.toMatch(/\w+_?out\(|array_eq|array_ndims|true/);
});
