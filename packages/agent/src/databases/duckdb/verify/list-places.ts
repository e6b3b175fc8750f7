import type { ParamSchema, ParamType } from '../../../capabilities/model.ts';
import { placeOf, type Place } from '../../sql/places/parameter-place.ts';
import { findAtLevel, isOperator, isWord } from '../../sql/places/tokens.ts';
import type { SqlToken } from '../../sql/scanner.ts';

/** Functions that read JSON, and so get the text of an array or an object. */
const JSON_READERS = /^(?:json|from_json)/;

/** How the value of an array or an object is written in the SQL. */
export type ListForm =
  /** As the rows of a subquery after IN. */
  | 'rows'
  /** As a list of DuckDB. */
  | 'list'
  /** As JSON text. */
  | 'json';

export function formOf(body: readonly SqlToken[], index: number, { type }: ParamSchema): ListForm {
  const place = placeOf(body, index);
  if (type === 'object') return 'json';
  if (place.kind === 'list' && !place.isRow) return 'rows';
  return readsJson(body, index, place) ? 'json' : 'list';
}

/** Whether the parameter can be written as the type that DuckDB finds for its place; null if DuckDB finds none. */
export function takesList(
  body: readonly SqlToken[],
  index: number,
  { type }: ParamSchema,
  found: string | null,
): boolean {
  if (found === null) return true;
  const place = placeOf(body, index);
  if (type === 'object') return readsJson(body, index, place) || /^(?:STRUCT|MAP)\(/.test(found);
  return (place.kind === 'list' && !place.isRow) || readsJson(body, index, place) || found.endsWith(']');
}

function readsJson(body: readonly SqlToken[], index: number, place: Place): boolean {
  const [next, type] = [body[index + 1], body[index + 2]];
  if (place.kind === 'column' || place.kind === 'null-test') return true;
  if (isOperator(next, '-') && isOperator(type, '>')) return true;
  if (isOperator(next, '::')) return !isOperator(body[index + 3], '[');
  if (place.kind !== 'argument' || place.at !== 0) return false;
  if (!place.of.endsWith('cast')) return JSON_READERS.test(place.of);
  return (
    isWord(next, /^as$/i) && findAtLevel(body, index + 2, 1, (token) => isOperator(token, '[')) === undefined
  );
}

const ITEMS: Readonly<Record<ParamType, string>> = {
  integer: 'BIGINT',
  number: 'DOUBLE',
  string: 'VARCHAR',
  uuid: 'VARCHAR',
  boolean: 'BOOLEAN',
  date: 'DATE',
  datetime: 'TIMESTAMP',
  array: 'JSON',
  object: 'JSON',
};

export function listOf(number: number, { items }: ParamSchema): string {
  return `CAST(CAST($${number} AS JSON) AS ${ITEMS[items?.type ?? 'string']}[])`;
}

const INTEGER_BITS: Readonly<Record<string, bigint>> = {
  TINYINT: 8n,
  SMALLINT: 16n,
  INTEGER: 32n,
  BIGINT: 64n,
};

/** The rows that IN compares with: a single null for null. `found` is the type of the other operand. */
export function rowsOf(number: number, { items }: ParamSchema, found: string | null): string {
  const type = items?.type ?? 'string';
  if (type === 'integer') {
    const list = `CAST(CAST($${number} AS JSON) AS HUGEINT[])`;
    const bits = INTEGER_BITS[found ?? ''];
    if (bits === undefined) return unnested(list);
    // Values that the column cannot hold are left out. As HUGEINT every value of the column would be converted.
    const end = 2n ** (bits - 1n);
    return `SELECT CAST(v AS ${found}) FROM (${unnested(list)}) u(v) WHERE v BETWEEN ${-end} AND ${end - 1n} OR v IS NULL`;
  }
  const isText = found === null || found === 'VARCHAR' || found.startsWith('ENUM(');
  const isOwn = type === 'number' || type === 'boolean';
  if (isOwn) return unnested(`CAST(CAST($${number} AS JSON) AS ${ITEMS[type]}[])`);
  const texts = `CAST(CAST($${number} AS JSON) AS VARCHAR[])`;
  return unnested(isText ? texts : `CAST(${texts} AS ${found}[])`);
}

function unnested(list: string): string {
  return `SELECT unnest(coalesce(${list}, [NULL]))`;
}

export const arrayForm = 'list_contains(:p, x)';
export const objectForm = `json_extract_string(:p, '$.key')`;
