import { expect, test } from 'vitest';
import type { ParamSchema } from '../../../capabilities/model.ts';
import { capabilityOf } from '../capability.fixture.ts';
import { rowCountWarnings } from './parameter-warnings.ts';

const ADVICE = 'may be negative, and is used in LIMIT or OFFSET, which then fails: add minimum: 0 (or 1)';
const integer: ParamSchema = { type: 'integer' };

async function warnedOf(
  sql: string,
  params: Readonly<Record<string, ParamSchema>>,
): Promise<readonly string[]> {
  const warnings = await rowCountWarnings([capabilityOf(sql, { name: 'list', params })]);
  expect(warnings.every(({ message, position }) => message === ADVICE && position !== undefined)).toBe(true);
  return warnings.map(({ path }) => path.replace('capabilities.list.params.', ''));
}

test.each<[sql: string, names: readonly string[], warned: readonly string[]]>([
  ['select 1 as a limit :n', ['n'], ['n']],
  ['select 1 as a limit :n::int', ['n'], ['n']],
  ['select 1 as a fetch first :n rows only', ['n'], ['n']],
  ['select 1 as a offset :n rows', ['n'], ['n']],
  ['select 1 as a limit :size offset (:page - 1) * :size', ['size', 'page'], ['size', 'page']],
  ['select 1 as a limit coalesce(least(:n, 10), 5)', ['n'], ['n']],
  ['select a from (select 1 as a limit :n) x where a <> :other', ['n', 'other'], ['n']],
  ['with x as (select 1 as a limit :n) table x', ['n'], ['n']],
  ['select 1 as a where exists (select 1 limit :n)', ['n'], ['n']],
  ['select 1 as a limit greatest(:n, 0)', ['n'], []],
  ['select 1 as a limit abs(:n)', ['n'], []],
  ['select 1 as a limit (select max(id) from book where id < :n)', ['n'], []],
  ["select 'limit' as a where :n > 0", ['n'], []],
  // What is wrong with it is a fault.
  ['select 1 as a limit :n for update', ['n'], []],
])('%s', async (sql, names, warned) => {
  expect(await warnedOf(sql, Object.fromEntries(names.map((name) => [name, integer])))).toEqual(warned);
});

test.each<[ParamSchema, boolean]>([
  [{ type: 'integer', minimum: 0 }, false],
  [{ type: 'integer', minimum: 1, maximum: 100 }, false],
  [{ type: 'integer', exclusiveMinimum: -1 }, false],
  [{ type: 'integer', enum: [10, 100] }, false],
  [{ type: 'string' }, false],
  [{ type: 'number', maximum: 100 }, true],
  [{ type: 'integer', minimum: -1 }, true],
  [{ type: 'integer', enum: [-1, 100] }, true],
])('%j: %s', async (schema, isWarned) => {
  expect(await warnedOf('select 1 as a limit :n::int', { n: schema })).toEqual(isWarned ? ['n'] : []);
});
