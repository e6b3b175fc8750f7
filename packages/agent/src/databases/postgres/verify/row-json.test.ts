import { testDatabase, type TestDatabase } from '@svc/testkit';
import fc from 'fast-check';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ResultType } from '../../../capabilities/model.ts';
import { capabilityOf, configOf } from '../capability.fixture.ts';
import { openSession } from '../connection/database-session.ts';
import { runOwnStatements } from '../execute/own-statements.ts';
import { SessionPool } from '../pool/session-pool.ts';
import { quoteIdentifier } from '../dialect/quote-identifier.ts';
import { verifyCapabilities } from './verify-capabilities.ts';

const AWKWARD = [
  '"',
  '\\',
  "'",
  '\n',
  '\r',
  '\t',
  '\b',
  '\u0001',
  '\u001F',
  '\u007F',
  '\u0085',
  '\u2028',
  '😀',
  'é',
  ',',
  '}',
  '%',
];
const text = fc
  .oneof(
    {
      weight: 4,
      arbitrary: fc
        .array(fc.constantFrom(...AWKWARD, 'a', ' '), { maxLength: 12 })
        .map((parts) => parts.join('')),
    },
    { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 12 }) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.constantFrom(...AWKWARD), fc.integer({ min: 100, max: 9000 }))
        .map(([part, times]) => part.repeat(times)),
    },
  )
  .filter((value) => !/[\0\p{Cs}]/u.test(value));
const whole = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String);
const small = fc.integer().map(String);
const float = fc.oneof(fc.double().map(String), fc.constantFrom('NaN', 'Infinity', '-Infinity', '-0'));
const year = fc.constantFrom('0001', '0044', '1999', '2024', '9999', '10000', '150000');
const day = fc.tuple(year, fc.constantFrom('01-01', '06-30', '12-31')).map((parts) => parts.join('-'));
const date = fc.oneof(day, fc.constantFrom('infinity', '-infinity', '0044-03-15 BC'));
const time = fc.constantFrom('00:00:00', '23:59:59.999999', '12:30:00.5', '01:02:03.000100');
const moment = fc.oneof(
  fc.tuple(day, time).map((parts) => parts.join(' ')),
  fc.constantFrom('infinity', '-infinity'),
);
/** With line breaks between tokens, which only the type json keeps. */
const json = fc.json({ maxDepth: 2 }).map((value) => value.replace(/\\u0000|\\u[dD][89a-fA-F]\w\w/g, 'x'));
const spaced = json.map((value) => `\r\n[${value}\n,1 ]`);

const finite = (column: string): string =>
  `case when ${column}::text not in ('NaN', 'Infinity', '-Infinity') then ${column} end`;
const inUtc = (column: string, utc: string): string =>
  `case when ${column} >= '0001-01-01 00:00:00+00' and ${column} < '10000-01-01 00:00:00+00' then btrim(to_json(${utc})::text, '"') || '+00:00' end`;
const ofKind =
  (kind: string, type: string) =>
  (column: string): string =>
    `case when ${type}_typeof(${column}) = '${kind}' then ${column} end`;
const itself = (column: string): string => column;
const asText = (column: string): string => `${column}::text`;

/** A column's name and type, its field's type, its values, and the value that `row_to_json` is given of it. */
const COLUMNS: readonly (readonly [
  string,
  string,
  ResultType,
  fc.Arbitrary<string>,
  (column: string) => string,
])[] = [
  ['id', 'int', 'integer', small, itself],
  ["it's", 'bigint', 'integer', whole, itself],
  ['a"b', 'numeric(20, 0)', 'integer', small, itself],
  [
    'back\\slash',
    'numeric',
    'number',
    fc.oneof(small, fc.constantFrom('NaN', '0.00', '-1.50', '1e30')),
    finite,
  ],
  ['é😀', 'float8', 'number', float, finite],
  ['%s', 'float4', 'number', fc.constantFrom('0.1', '3e38', '-0', 'NaN', '-Infinity'), finite],
  [' ', 'bool', 'boolean', fc.constantFrom('t', 'f'), itself],
  ['{"', 'text', 'string', text, asText],
  ['\u2028', 'varchar', 'string', text, asText],
  ['char', 'char(9)', 'string', fc.constantFrom('', 'a', '"\\\n', 'é'), itself],
  ['inet', 'inet', 'string', fc.constantFrom('10.0.0.7', '10.0.0.0/8', '::1'), itself],
  ['a_jsonb', 'jsonb', 'string', json, asText],
  [
    'date',
    'date',
    'date',
    date,
    (column) => `case when ${column} between '0001-01-01' and '9999-12-31' then ${column} end`,
  ],
  ['at', 'timestamptz', 'datetime', moment, (column) => inUtc(column, `${column} at time zone 'UTC'`)],
  [
    'then',
    'timestamp',
    'datetime',
    moment,
    (column) =>
      `case when ${column} >= '0001-01-01' and ${column} < '10000-01-01' then ${inUtc(`${column}::timestamptz`, `${column}::timestamptz at time zone 'UTC'`)} end`,
  ],
  ['list', 'text[]', 'array', fc.constantFrom('{}', '{a,NULL,"\\""}', '{{a},{"b\nc"}}'), itself],
  ['jsons', 'json[]', 'array', fc.constantFrom('{}', '{"{\\"a\\":\n1}"}'), itself],
  ['some', 'jsonb', 'array', fc.oneof(json, spaced), ofKind('array', 'jsonb')],
  ['more', 'json', 'array', fc.oneof(json, spaced), ofKind('array', 'json')],
  [
    'object',
    'json',
    'object',
    fc.constantFrom('{}', '{"a"\n:\r1}', '[1]', '"\\n"'),
    ofKind('object', 'json'),
  ],
  ['pair', 'pair', 'object', fc.constantFrom('(1,a)', '(,)', '(2,"""\n")'), itself],
];
const TABLE = COLUMNS.map(([name, type]) => `${quoteIdentifier(name)} ${type}`).join(', ');

let server: TestDatabase;
let pool: SessionPool;
let client: pg.Client;
beforeAll(async () => {
  server = await testDatabase({
    sql: ['create type pair as (n int, t text)', `create table sample (n serial, ${TABLE})`],
  });
  await server.execute(`alter database ${server.name} set timezone = 'Asia/Kathmandu'`);
  pool = new SessionPool((signal) => openSession(configOf(server), signal), 1);
  client = new pg.Client({ ...server, database: server.name });
  await client.connect();
});
afterAll(() => Promise.all([pool.close(), client.end()]));

const row = fc.tuple(...COLUMNS.map(([, , , values]) => fc.option(values, { freq: 5 })));
const field = fc.record({ at: fc.nat(COLUMNS.length - 1), nullable: fc.boolean() });
const scene = fc.record({
  rows: fc.array(row, { maxLength: 8 }),
  fields: fc.uniqueArray(field, { minLength: 1, maxLength: COLUMNS.length, selector: ({ at }) => at }),
  /** Of the rows, and of their bytes as far as a first part of the rows goes: where the caps are. */
  maxRows: fc.integer({ min: 1, max: 10 }),
  cut: fc.nat(8),
  beside: fc.integer({ min: -2, max: 2 }),
  volatile: fc.boolean(),
  /** Whether the planner expects few rows. */
  few: fc.boolean(),
});

/** What the two forms have to answer, from the rows as they were made by `row_to_json`. */
function expectedOf(
  rows: readonly (readonly [json: string, missing: string | null])[],
  maxRows: number,
  maxBytes: number,
): { whole: readonly (string | null)[]; prefix: readonly (string | null)[] } {
  let [length, count, isOversized] = [1, 0, false];
  for (const [json] of rows) {
    const size = Buffer.byteLength(json) + 1;
    if (count === maxRows) break;
    if (length + size > maxBytes) {
      isOversized = size >= maxBytes;
      break;
    }
    length += size;
    count += 1;
  }
  const given = rows.slice(0, count);
  const joined = given.map(([json]) => json).join(',');
  const missing = given.flatMap(([, name]) => name ?? []).toSorted()[0] ?? null;
  const cut = count < rows.length;
  const isWhole = !cut && missing === null && count > 0;
  return {
    whole: [String(Math.min(rows.length, maxRows + 1)), isWhole ? joined : null],
    prefix: [String(count), cut ? 't' : 'f', isOversized ? 't' : 'f', count > 0 ? joined : null, missing],
  };
}

test(
  'rows are byte for byte what row_to_json makes of them, up to the byte of the caps',
  { timeout: 60_000 },
  async () => {
    let [complete, cutShort, lacking] = [0, 0, 0];
    await fc.assert(
      fc.asyncProperty(scene, async ({ rows, fields, maxRows, cut, beside, volatile, few }) => {
        const names = COLUMNS.map(([name]) => quoteIdentifier(name)).join(', ');
        const tuples = rows.map(
          (_, n) =>
            `(${COLUMNS.map(([, type], at) => `$${n * COLUMNS.length + at + 1}::${type}`).join(', ')})`,
        );
        await client.query('truncate sample restart identity');
        if (rows.length > 0) {
          await client.query(`insert into sample (${names}) values ${tuples.join(', ')}`, rows.flat());
        }
        const listed = fields.flatMap(({ at, nullable }) => {
          const column = COLUMNS[at];
          return column === undefined
            ? []
            : [{ name: column[0], type: column[2], reference: column[4], nullable }];
        });
        const references = listed.map(
          ({ name, reference }) => `${reference(`b.${quoteIdentifier(name)}`)} as ${quoteIdentifier(name)}`,
        );
        const nulls = listed
          .filter(({ nullable }) => !nullable)
          .map(
            ({ name }) =>
              `when r.${quoteIdentifier(name)} is not distinct from null then '${name.replaceAll("'", "''")}'`,
          );
        const missing = nulls.length === 0 ? 'null' : `case ${nulls.join(' ')} end`;
        const { rows: made } = await client.query<{ json: string; missing: string | null }>(
          `select translate(row_to_json(r.*)::text, chr(10) || chr(13), '  ') as json, ${missing} as missing
         from sample b, lateral (select ${references.join(', ')} offset 0) r order by b.n`,
        );
        const expectedRows = made.map((one) => [one.json, one.missing] as const);
        const lengths = expectedRows.slice(0, cut).map(([json]) => Buffer.byteLength(json) + 1);
        const maxBytes = Math.max(lengths.reduce((sum, length) => sum + length, 1) + beside, 2);

        const sql = `select * from sample${volatile ? ' where random() >= 0' : ''} order by n${few ? ' limit 9' : ''}`;
        const capability = capabilityOf(sql, { limits: { maxRows, maxBytes }, allowFunctions: ['random'] });
        const result = listed.map(({ name, type, nullable }) => ({
          ...capability.result[0],
          name,
          type,
          nullable,
          position: { line: 1, column: 1 },
        }));
        const { prepared, faults } = await verifyCapabilities(pool, [{ ...capability, result }]);
        expect(faults).toEqual([]);
        const statements = prepared.flatMap(({ own }) => [{ text: own.whole }, { text: own.prefix }]);
        const { results } = await runOwnStatements(pool, {
          statements,
          capability: 'sample',
          timeoutMs: 5000,
        });

        const expected = expectedOf(expectedRows, maxRows, maxBytes);
        const hasMissing = nulls.length > 0;
        expect(results.map(({ rows: answer }) => answer)).toEqual([
          [expected.whole],
          [hasMissing ? expected.prefix : expected.prefix.slice(0, 4)],
        ]);
        if (expected.whole[1] !== null) complete += 1;
        if (expected.prefix[1] === 't') cutShort += 1;
        if (expected.prefix[4] !== null) lacking += 1;
      }),
      // As many as bring each of the three for sure.
      { numRuns: 250 },
    );
    expect(Math.min(complete, cutShort, lacking)).toBeGreaterThan(0);
  },
);
