import {
  PARAM_TYPES,
  RESULT_TYPES,
  type ParamSchema,
  type ParamType,
  type ResultType,
} from '../../packages/agent/src/capabilities/model.ts';
import { CONSTRAINTS_OF } from '../../packages/agent/src/config/checks/check-params.ts';
import { sqlTypeOf } from '../../packages/agent/src/databases/postgres/execute/bind-values.ts';
import { stringFormats } from '../../packages/agent/src/capabilities/values/string-formats.ts';
import { code, table } from './markdown.ts';

interface ParamTypeDoc {
  readonly accepted: string;
  /** JSON values; the first accepted one is the example. */
  readonly takes: readonly [unknown, ...unknown[]];
  readonly refuses: readonly [unknown, ...unknown[]];
}

export const PARAM_TYPE_DOCS: Readonly<Record<ParamType, ParamTypeDoc>> = {
  integer: {
    accepted:
      'Whole numbers from -2^63 to 2^64-1, exactly; `5.0` is one. PostgreSQL and SQLite end at 2^63-1.',
    takes: [42, 0, -1, 9007199254740991],
    refuses: ['42', 4.2, 1e300, true],
  },
  number: { accepted: 'Any JSON number within ±1.8e308.', takes: [4.2, 42, 1e-7], refuses: ['4.2', true] },
  string: {
    accepted: 'Text without NUL and unpaired surrogates.',
    takes: ['Orlando', ''],
    refuses: [42, true],
  },
  boolean: { accepted: '`true` and `false`.', takes: [true, false], refuses: ['true', 1, 0] },
  date: {
    accepted: '`YYYY-MM-DD`, a real day, years 0001 to 9999.',
    takes: ['2025-12-31', '2024-02-29'],
    refuses: ['2025-02-29', '31.12.2025', '2025-12-31T00:00:00Z'],
  },
  datetime: {
    accepted: 'RFC 3339 with an offset; at most nine digits of a second.',
    takes: ['2025-12-31T23:59:59Z', '2025-12-31T23:59:59.5+02:00'],
    refuses: ['2025-12-31T23:59:59', '2025-12-31 23:59:59Z', '2025-12-31'],
  },
  uuid: {
    accepted: '32 hexadecimal digits in five groups.',
    takes: ['123e4567-e89b-12d3-a456-426614174000'],
    refuses: ['123e4567e89b12d3a456426614174000', '{123e4567-e89b-12d3-a456-426614174000}'],
  },
  array: {
    accepted: 'A list whose items are of the type in `items`. No item is null.',
    takes: [[1, 2, 3], []],
    refuses: [[1, 'two'], [null], '[1]'],
  },
  object: { accepted: 'Any JSON object.', takes: [{ a: 1 }, {}], refuses: [[], '{}', 1] },
};

/** Of the examples for `array`. */
export const EXAMPLE_ITEMS: ParamSchema = { type: 'integer' };

interface ResultTypeDoc {
  readonly columns: string;
  readonly leaves: string;
}

const RESULT_TYPE_DOCS: Readonly<Record<ResultType, ResultTypeDoc>> = {
  integer: {
    columns: '`smallint`, `integer`, `bigint`, `oid`, `numeric(p)` without fractions',
    leaves: 'A JSON number with all its digits, also beyond 2^53. NaN becomes null.',
  },
  number: {
    columns: 'the integer types, `numeric`, `real`, `double precision`',
    leaves: 'A JSON number. NaN and infinities become null.',
  },
  string: { columns: 'every type', leaves: "A JSON string: the database's own text form." },
  boolean: { columns: '`boolean`', leaves: '`true` or `false`.' },
  date: { columns: '`date`', leaves: '`YYYY-MM-DD`. Infinities and years outside 0001 to 9999 become null.' },
  datetime: {
    columns: '`timestamp`, `timestamptz`',
    leaves:
      'ISO 8601 in UTC, as `2026-01-31T23:59:59+00:00`. Infinities and years outside 0001 to 9999 become null.',
  },
  array: {
    columns: 'arrays, `json`, `jsonb`',
    leaves: 'A JSON array. What is JSON of another kind, and elements that JSON cannot hold, become null.',
  },
  object: {
    columns: '`json`, `jsonb`, composite types, rows',
    leaves: 'A JSON object. JSON of another kind becomes null.',
  },
};

export function paramTypeTable(): string {
  const rows = PARAM_TYPES.map((type) => {
    const { accepted, takes, refuses } = PARAM_TYPE_DOCS[type];
    const bound =
      type === 'array'
        ? 'array of the type of `items`'
        : code(sqlTypeOf({ type }).replace('pg_catalog.', ''));
    return [code(type), accepted, bound, code(JSON.stringify(takes[0])), code(JSON.stringify(refuses[0]))];
  });
  return table(['`type`', 'Accepted', 'Bound as', 'Taken', 'Refused'], rows);
}

export function constraintTable(): string {
  const names = [...new Set(Object.values(CONSTRAINTS_OF).flat())];
  const rows = names.map((name) => {
    const types = PARAM_TYPES.filter((type) => CONSTRAINTS_OF[type].includes(name));
    return [code(name), types.length === PARAM_TYPES.length ? 'all' : types.map(code).join(', ')];
  });
  return table(['Constraint', 'Fits the types'], rows);
}

export function formatList(): string {
  return [...stringFormats.keys()].map(code).join(', ');
}

export function resultTypeTable(): string {
  const rows = RESULT_TYPES.map((type) => [
    code(type),
    RESULT_TYPE_DOCS[type].columns,
    RESULT_TYPE_DOCS[type].leaves,
  ]);
  return table(['`type`', 'Columns of type', 'What leaves'], rows);
}
