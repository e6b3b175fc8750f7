import { testDatabase, type TestDatabase } from '@svc/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Capability, ParamSchema } from '../../../capabilities/model.ts';
import { runOwnStatements } from '../execute/own-statements.ts';
import { capabilityOf, configOf } from '../capability.fixture.ts';
import { explain } from './plan-statement.ts';
import { SessionPool } from '../pool/session-pool.ts';
import { openSession } from '../connection/database-session.ts';
import { verifyCapabilities } from './verify-capabilities.ts';

/** Columns by the type of the parameter that callers compare them with. */
const COLUMNS: Readonly<Record<string, readonly string[]>> = {
  integer: ['smallint', 'integer', 'bigint', 'numeric', 'real', 'double precision', 'oid', 'money'],
  number: ['numeric(9, 2)', 'real', 'double precision'],
  string: [
    'text',
    'varchar',
    'varchar(9)',
    'char(9)',
    'citext',
    'name',
    'mood',
    'inet',
    'uuid',
    'time',
    'bigint',
  ],
  date: ['date', 'timestamp', 'timestamptz'],
  datetime: ['date', 'timestamp', 'timestamptz'],
  uuid: ['uuid', 'text', 'varchar'],
  boolean: ['boolean'],
};

const cases = Object.entries(COLUMNS).flatMap(([type, columns]) =>
  columns.map((column) => ({ type, column, table: `${type}_${column.replaceAll(/\W+/g, '_')}` })),
);

let server: TestDatabase;
let pool: SessionPool;
beforeAll(async () => {
  const tables = cases.map(
    ({ column, table }) => `create table ${table} (v ${column}); create index on ${table} (v)`,
  );
  server = await testDatabase({
    sql: ['create extension citext', "create type mood as enum ('sad', 'glad')", ...tables],
  });
  pool = new SessionPool((signal) => openSession(configOf(server), signal), 1);
});
afterAll(() => pool.close());

function capability(table: string, condition: string, schema: ParamSchema): Capability {
  const sql = `select 1 as a from ${table} where ${condition}`;
  return capabilityOf(sql, { params: { v: schema } });
}

/** The plan of the verified query for values that are not known yet. */
async function planOf(checked: Capability): Promise<string> {
  const { prepared: queries, faults } = await verifyCapabilities(pool, [checked]);
  expect(faults).toEqual([]);
  const [query] = queries;
  const { results } = await runOwnStatements(pool, {
    // Of many rows the planner would take an index by itself; these tables are empty.
    statements: [
      { text: "select set_config('enable_seqscan', 'off', true)" },
      ...explain(query?.own.whole ?? '', checked.params.length),
    ],
    capability: '',
    timeoutMs: 5000,
  });
  return results[3]?.rows[0]?.[0] ?? '';
}

/** A varchar is text to every operator, so the cast that the plan shows does nothing. */
function searching(operator: string): RegExp {
  return new RegExp(String.raw`"Index Cond": "[^"]*\bv\)?(?:::text)? ${operator} `);
}

test.each(cases)('$type = $column', async ({ type, table }) => {
  const schema = schemaOf(type);
  expect(await planOf(capability(table, 'v = :v', schema))).toMatch(searching('='));
  if (schema.type === 'boolean') return;
  expect(await planOf(capability(table, 'v >= :v', schema))).toMatch(searching('>='));
  const list: ParamSchema = { type: 'array', items: schema };
  expect(await planOf(capability(table, 'v = any(:v)', list))).toMatch(searching('= ANY'));
  expect(await planOf(capability(table, 'v in (:v)', list))).toMatch(searching('= ANY'));
});

test('also beside a parameter that does not fit as declared', async () => {
  const sql = "select 1 as a from string_char_9_ where v = :v and (:mood is null or 'sad'::mood = :mood)";
  const params = { v: { type: 'string' }, mood: { type: 'string' } } as const;
  expect(await planOf(capabilityOf(sql, { params }))).toMatch(searching('='));
});

function schemaOf(type: string): ParamSchema {
  for (const known of ['integer', 'number', 'string', 'date', 'datetime', 'uuid', 'boolean'] as const) {
    if (known === type) return { type: known };
  }
  throw new Error(`unknown type ${type}`);
}
