import type { ResultField } from '../../../capabilities/model.ts';
import type { Column } from './columns.ts';

export type Conversion =
  | {
      readonly ok: true;
      /** SQL for the JSON text of a value. It is NULL if the text is too long for the server. */
      readonly json: string;
      /** SQL for whether JSON has null in its place. */
      readonly absent: string;
      /** Whether `json` has a FLOAT in it, as `writeFloats` takes it. */
      readonly isFloat: boolean;
    }
  | { readonly ok: false; readonly problem: string };

export const TYPE = {
  decimal: 0,
  tiny: 1,
  short: 2,
  long: 3,
  float: 4,
  double: 5,
  null: 6,
  timestamp: 7,
  longlong: 8,
  int24: 9,
  date: 10,
  time: 11,
  datetime: 12,
  year: 13,
  bit: 16,
  json: 245,
  newDecimal: 246,
  geometry: 255,
} as const;

const INTEGERS = new Set<number>([
  TYPE.tiny,
  TYPE.short,
  TYPE.long,
  TYPE.longlong,
  TYPE.int24,
  TYPE.year,
  TYPE.bit,
]);
const DECIMALS = new Set<number>([TYPE.decimal, TYPE.newDecimal]);
const TIMES = new Set<number>([TYPE.timestamp, TYPE.datetime]);
/** VARCHAR, BLOB and TEXT, ENUM, SET, CHAR, and what has no type before it has values. */
const TEXTS = new Set<number>([TYPE.null, 15, 247, 248, 249, 250, 251, 252, 253, 254]);

/** How values are compared, as far as it matters to parameters. */
export type ColumnKind = 'number' | 'text' | 'choice' | 'bytes' | 'date' | 'moment' | 'time' | 'other';

export function kindOfColumn({ type, isBinary, isChoice }: Column): ColumnKind {
  if (type === TYPE.null) return 'other';
  if (isChoice) return 'choice';
  if (INTEGERS.has(type) || DECIMALS.has(type) || type === TYPE.float || type === TYPE.double)
    return 'number';
  if (TIMES.has(type)) return 'moment';
  if (type === TYPE.date) return 'date';
  if (type === TYPE.time) return 'time';
  if (!TEXTS.has(type)) return 'other';
  return isBinary ? 'bytes' : 'text';
}

/** How a column leaves as the declared type. `value` names it in SQL. */
export function convertColumn(
  { type }: Pick<ResultField, 'type'>,
  column: Column,
  value: string,
  isMariaDb: boolean,
): Conversion {
  const json = jsonOf(type, column, value, isMariaDb);
  if (json === undefined) {
    return {
      ok: false,
      problem: `cannot be given as ${type}: declare the type of the column, or CAST the column in the SQL`,
    };
  }
  const isFloat = column.type === TYPE.float;
  return { ok: true, json, absent: absentOf(type, column, value), isFloat };
}

function jsonOf(
  type: ResultField['type'],
  column: Column,
  value: string,
  isMariaDb: boolean,
): string | undefined {
  const isInteger = INTEGERS.has(column.type) || (DECIMALS.has(column.type) && column.decimals === 0);
  switch (type) {
    case 'integer':
      // Adding 0 removes the leading zeros of ZEROFILL.
      return isInteger ? `concat(${value} + 0)` : undefined;
    case 'number':
      if (isInteger || DECIMALS.has(column.type)) return `concat(${value} + 0)`;
      if (column.type === TYPE.float) return floatOf(value);
      return column.type === TYPE.double ? doubleText(value, isMariaDb) : undefined;
    case 'boolean':
      return isBoolean(column) ? `if(${value}, 'true', 'false')` : undefined;
    case 'string':
      return textOf(column, value, isMariaDb);
    case 'date':
      return column.type === TYPE.date ? `concat('"', ${value}, '"')` : undefined;
    case 'datetime':
      return TIMES.has(column.type) ? timeOf(column, value) : undefined;
    case 'array':
    case 'object':
      return documentOf(column, value, isMariaDb);
  }
}

/** Dates with a zero year, month or day count as absent, and so do documents of another kind. */
function absentOf(type: ResultField['type'], column: Column, value: string): string {
  const parts = [`year(${value})`, `month(${value})`, `dayofmonth(${value})`];
  switch (type) {
    case 'date':
    case 'datetime':
      return `coalesce(${parts.map((part) => `${part} = 0`).join(' or ')}, 1)`;
    case 'array':
    case 'object': {
      const kind = `coalesce(json_type(${value}), '') <> '${type.toUpperCase()}'`;
      return column.type === TYPE.json ? kind : `if(${isJson(value)}, ${kind}, 1)`;
    }
    default:
      return `${value} is null`;
  }
}

/**
 * The texts and the numbers of JSON, and what stands between them. MariaDB takes more for JSON: texts with other escapes
 * or control characters, and numbers that want a digit. Possessive, so that a long document takes time in proportion to its length.
 */
const JSON_PARTS = [
  String.raw`"[^"\\\x00-\x1f]*+(?:\\["\\/bfnrtu][^"\\\x00-\x1f]*+)*+"`,
  String.raw`-?[0-9]++(?:\.[0-9]++)?+(?:[eE][+-]?+[0-9]++)?+(?![0-9.eE+-])`,
  String.raw`[^"0-9\\.+-]++`,
];
const JSON_PATTERN = `^(?:${JSON_PARTS.join('|')})*+$`.replaceAll('\\', '\\\\');

function isJson(value: string): string {
  return `coalesce(json_valid(${value}), 0) and convert(${value} using utf8mb4) regexp '${JSON_PATTERN}'`;
}

/** A comparison yields an integer of one digit. */
function isBoolean({ type, length }: Column): boolean {
  return (
    length === 1 && (type === TYPE.tiny || type === TYPE.bit || type === TYPE.longlong || type === TYPE.long)
  );
}

function textOf({ type, isBinary }: Column, value: string, isMariaDb: boolean): string | undefined {
  if (type === TYPE.geometry) return undefined;
  if (type === TYPE.bit) return `json_quote(concat(${value} + 0))`;
  if (type === TYPE.float) return `concat('"', ${floatOf(value)}, '"')`;
  if (type === TYPE.double) return `concat('"', ${doubleText(value, isMariaDb)}, '"')`;
  if (TEXTS.has(type)) {
    return isBinary && type !== TYPE.null
      ? String.raw`concat('"\\\\x', lower(hex(${value})), '"')`
      : `json_quote(convert(${value} using utf8mb4))`;
  }
  return `json_quote(convert(concat(${value}) using utf8mb4))`;
}

/** MySQL drops the last digits of some doubles. As JSON it writes them all, but the others differently. */
export function doubleText(value: string, isMariaDb: boolean): string {
  const double = `${value} + 0e0`;
  if (isMariaDb) return `concat(${double})`;
  return `if(concat(${double}) + 0e0 = ${double}, concat(${double}), concat(cast(${double} as json)))`;
}

/** The servers write a FLOAT with six digits, or as DOUBLE: the agent turns that into the shortest decimal. */
function floatOf(value: string): string {
  return `concat(char(1), ${value} + 0e0, char(1))`;
}

function timeOf({ decimals }: Column, value: string): string {
  // Most columns keep whole seconds, and asking each value for more costs a fifth of the server's work.
  if (decimals === 0) return `concat('"', replace(${value}, ' ', 'T'), '+00:00"')`;
  const fraction = `if(microsecond(${value}) = 0, '', trim(trailing '0' from date_format(${value}, '.%f')))`;
  return `concat('"', date_format(${value}, '%Y-%m-%dT%H:%i:%s'), ${fraction}, '+00:00"')`;
}

function documentOf(column: Column, value: string, isMariaDb: boolean): string | undefined {
  if (column.type === TYPE.json) return `convert(${value} using utf8mb4)`;
  // MariaDB keeps JSON as text, so each value is checked.
  const isText = TEXTS.has(column.type) && (column.type === TYPE.null || !column.isBinary);
  // Otherwise the whole row would be in the character set of the column.
  return isMariaDb && isText ? `json_compact(convert(${value} using utf8mb4))` : undefined;
}
