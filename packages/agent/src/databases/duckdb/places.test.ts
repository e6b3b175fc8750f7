import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PARAM_TYPES, type ParamSchema, type ParamType } from '../../capabilities/model.ts';
import { callOf, capabilityOf } from '../conformance/capability.testing.ts';
import { openDriver, type TestedDriver } from '../conformance/tested-driver.testing.ts';
import type { DatabaseSection } from '../driver/driver.ts';
import { driverOf } from '../drivers.ts';
import { change } from './change.testing.ts';
import './engine-code.testing.ts';

const COLUMNS =
  'ti tinyint, si smallint, i integer, b bigint, ub ubigint, h hugeint, d decimal(5, 2), f float, o double, x varchar, dt date, ts timestamp, tz timestamptz, tm time, iv interval, u uuid, bo boolean, l integer[], ls varchar[], s struct(a integer), j json, e mood, bl blob';
const NAMES = COLUMNS.split(/, (?=[a-z]+ )/).map((column) => column.split(' ')[0] ?? '');

/** Places of a parameter: columns that it is compared with, and arguments of every kind of type. */
const PLACES: readonly string[] = [
  ...NAMES.flatMap((name) => [
    `${name} = :v`,
    `${name} in (:v)`,
    `:v < ${name}`,
    `coalesce(${name}, :v) is null`,
  ]),
  "lpad(x, :v, '0')",
  'rpad(x, 5, :v)',
  'substr(x, :v)',
  'left(x, :v)',
  'repeat(x, :v)',
  'chr(:v)',
  'round(d, :v)',
  'x like :v',
  'x || :v',
  'concat(x, :v)',
  'lower(:v)',
  'regexp_matches(x, :v)',
  'i + :v',
  'i % :v',
  'i << :v',
  'dt + :v',
  'dt - :v',
  'ts - :v',
  'date_trunc(:v, ts)',
  "date_diff('day', dt, :v)",
  'date_add(dt, :v)',
  'strftime(ts, :v)',
  "strftime(:v, '%Y')",
  'make_date(:v, 1, 1)',
  'to_days(:v)',
  'epoch_ms(:v)',
  'year(:v)',
  'x[:v]',
  'l[:v]',
  'list_contains(l, :v)',
  'list_contains(:v, i)',
  'list_contains(:v, x)',
  'i = any(:v)',
  'x = any(:v)',
  'len(:v)',
  'l || :v',
  'list_value(:v, i)',
  'greatest(i, :v)',
  'case when :v then 1 end',
  'case x when :v then 1 end',
  'json_extract(j, :v)',
  'json_array_length(:v)',
  ':v is null or i = :v',
  'i between :v and 5',
  'i in (select unnest(:v))',
  'abs(:v)',
  'not :v',
  '-:v',
  ':v::tinyint',
  ':v::date',
  ':v::varchar',
  ':v::interval',
  ':v::json',
  ':v::uuid',
  ':v::integer[]',
  ':v',
];

/** Of each type values that its place may well take. */
const VALUES: Readonly<Record<ParamType, readonly unknown[]>> = {
  integer: [1, -1, 0],
  number: [1, 0.5],
  string: ['1', 'a', '2024-02-29', ''],
  boolean: [true, false],
  date: ['2024-02-29'],
  datetime: ['2024-02-29T12:00:00Z'],
  uuid: ['a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'],
  array: [[], ['1'], ['1', '1']],
  object: [{}, { a: 1 }],
};

let folder: string;
let tested: TestedDriver;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'duckdb-test-'));
  const file = join(folder, 'places.duckdb');
  await change(
    file,
    "create type mood as enum ('a', 'b')",
    `create table t (${COLUMNS})`,
    `insert into t values (1, 1, 1, 1, 1, 1, 1, 1, 1, '1', '2024-01-01', '2024-01-01', '2024-01-01', '10:00:00', interval 1 day,
      'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', true, [1], ['a'], {'a': 1}, '1', 'a', 'x')`,
  );
  const driver = driverOf('duckdb');
  const reader = { section: { driver: 'duckdb', file } as DatabaseSection, texts: {} };
  tested = await openDriver(driver, (...of) => driver.connect(...of), { reader }, 2);
});
afterAll(async () => {
  await tested.close();
  rmSync(folder, { recursive: true });
});

const schemaOf = (type: ParamType): ParamSchema =>
  type === 'array' ? { type, items: { type: 'string' } } : { type };

test.each(PARAM_TYPES)('what check takes of type %s, calls can bind', { timeout: 120_000 }, async (type) => {
  const capabilities = PLACES.map((place, index) =>
    capabilityOf(
      `select count(*) as a from (select (${place}) as p from t) where p is not null or p is null`,
      {
        name: `place_${index}`,
        params: { v: schemaOf(type) },
      },
    ),
  );
  const { prepared } = await tested.verifier.verify(capabilities);
  expect(prepared.length).toBeGreaterThan(5);
  const failed: unknown[] = [];
  for (const each of prepared) {
    const query = tested.database.prepare(structuredClone(each));
    let reasons: unknown[] = [];
    const values = [...VALUES[type], null];
    for (const v of values) {
      const error: unknown = await query.run(callOf({ v })).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      if (error instanceof Error) reasons.push(error.message);
    }
    // A value may be refused, but neither for its type nor every one of them.
    reasons = reasons.filter(
      (reason) =>
        !/Conversion|Invalid Input|Out of Range/.test(String(reason)) || reasons.length === values.length,
    );
    if (reasons.length > 0) failed.push([PLACES[Number(each.capability.slice(6))], reasons]);
  }
  expect(failed).toEqual([]);
});
