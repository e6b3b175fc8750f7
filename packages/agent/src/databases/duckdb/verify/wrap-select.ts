import type { CapabilityLimits, ResultType } from '../../../capabilities/model.ts';
import { quoted } from './clause-dialect.ts';

export interface OutputField {
  readonly name: string;
  readonly nullable: boolean;
  /** SQL for the JSON text of the value, unless it is absent. */
  readonly json: string;
  /** SQL for whether the value is null or JSON cannot hold it. */
  readonly absent: string;
}

export type Conversion =
  | { readonly ok: true; readonly json: string; readonly absent: string }
  | { readonly ok: false };

const INTEGERS = /^U?(?:TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)$|^BIGNUM$|^DECIMAL\(\d+,0\)$/;
const FLOATS = /^(?:FLOAT|DOUBLE)$/;
const TIMES = /^TIMESTAMP(?:_S|_MS|_NS)?$/;
const LISTS = /\[\d*\]$/;
const OBJECTS = /^(?:STRUCT|MAP)\(/;
/** The dates that JSON can hold, without infinities. */
const DATES = `DATE '0001-01-01' AND DATE '9999-12-31'`;
const MOMENTS = `TIMESTAMP '0001-01-01' AND TIMESTAMP '9999-12-31 23:59:59.999999'`;

/** How the column `ref` of that type leaves as the declared one, without macros of the database: see `called`. */
export function convertColumn(declared: ResultType, type: string, ref: string): Conversion {
  const text = `CAST(${ref} AS VARCHAR)`;
  const isNull = `${ref} IS NULL`;
  switch (declared) {
    case 'integer':
      return INTEGERS.test(type) ? as(text, isNull) : MISFIT;
    case 'number':
      if (FLOATS.test(type)) return as(text, `(${isNull} OR NOT ${called('isfinite', ref)})`);
      return INTEGERS.test(type) || type.startsWith('DECIMAL(') ? as(text, isNull) : MISFIT;
    case 'boolean':
      return type === 'BOOLEAN' ? as(text, isNull) : MISFIT;
    case 'date':
      return type === 'DATE' ? as(jsonText(text), `${ref} BETWEEN ${DATES} IS NOT TRUE`) : MISFIT;
    case 'datetime':
      return convertTime(type, ref);
    case 'array':
      if (type === 'JSON') return convertJson(ref, 'ARRAY');
      return LISTS.test(type) ? as(jsonText(ref), isNull) : MISFIT;
    case 'object':
      if (type === 'JSON') return convertJson(ref, 'OBJECT');
      return OBJECTS.test(type) && !LISTS.test(type) ? as(jsonText(ref), isNull) : MISFIT;
    case 'string':
      if (type !== 'BLOB') return as(jsonText(text), isNull);
      return as(called('concat', `'"\\\\x'`, called('lower', called('hex', ref)), `'"'`), isNull);
  }
}

const MISFIT: Conversion = { ok: false };

function as(json: string, absent: string): Conversion {
  return { ok: true, json, absent };
}

/** Calls a function of DuckDB even if the database has a macro of that name. */
function called(name: string, ...args: readonly string[]): string {
  return `system.main.${name}(${args.join(', ')})`;
}

function jsonText(value: string): string {
  return `CAST(${called('to_json', value)} AS VARCHAR)`;
}

/** In UTC, without trailing zeros. */
function convertTime(type: string, ref: string): Conversion {
  const isZoned = type === 'TIMESTAMP WITH TIME ZONE';
  if (!isZoned && !TIMES.test(type)) return MISFIT;
  if (type === 'TIMESTAMP_NS') {
    // This type holds only the years 1677 to 2262.
    return as(momentText(ref, '%n'), `(${called('isfinite', ref)}) IS NOT TRUE`);
  }
  const moment = isZoned ? called('make_timestamp', called('epoch_us', ref)) : `CAST(${ref} AS TIMESTAMP)`;
  const isNone = `(NOT ${called('isfinite', ref)}) IS NOT FALSE`;
  const absent = `CASE WHEN ${isNone} THEN true ELSE ${moment} NOT BETWEEN ${MOMENTS} END`;
  return as(momentText(moment, '%f'), absent);
}

function momentText(moment: string, fraction: '%f' | '%n'): string {
  const digits = called('strftime', moment, `'%Y-%m-%dT%H:%M:%S.${fraction}'`);
  const text = called('rtrim', called('rtrim', digits, `'0'`), `'.'`);
  return called('concat', `'"'`, text, `'+00:00"'`);
}

function convertJson(ref: string, kind: 'ARRAY' | 'OBJECT'): Conversion {
  return as(`CAST(${ref} AS VARCHAR)`, `${called('json_type', ref)} IS DISTINCT FROM '${kind}'`);
}

/**
 * The SELECT around that of the capability. It yields for each row its JSON text, null where it is longer than any that
 * may leave, and the number of the first field that must not be null and is. One row more than may leave tells whether
 * there are more; the LIMIT stands behind the SELECT itself, whose order both keep. With the fields of a cursor there follow
 * whether DuckDB holds the row for equal to the one before it, and their texts.
 */
export function wrapSelect(
  sql: string,
  fields: readonly OutputField[],
  limits: CapabilityLimits,
  isLimited: boolean,
  keys: readonly string[] = [],
): string {
  const members = fields.flatMap(({ name, json, absent }, index) => [
    `'${index === 0 ? '{' : ','}${JSON.stringify(name).replaceAll("'", "''")}:'`,
    `CASE WHEN ${absent} THEN 'null' ELSE ${json} END`,
  ]);
  const most = limits.maxRows + 1;
  const [inner, outer] = isLimited ? ['', `\nLIMIT ${most}`] : [`\nLIMIT ${most}`, ''];
  const required = fields.filter(({ nullable }) => !nullable);
  const missing = required.map(({ absent }, index) => ` WHEN ${absent} THEN ${index}`).join('');
  const row = called('concat', ...members, `'}'`);
  const columns = keys.map((name) => `q.${quoted(name)}`);
  const ties = columns.map((column) => `${column} IS NOT DISTINCT FROM lag(${column}) OVER ()`);
  const texts = columns.map((column, at) => `CAST(${column} AS VARCHAR) AS k${at}`);
  const border = keys.length === 0 ? '' : `, ${ties.join(' AND ')} AS t, ${texts.join(', ')}`;
  const named = keys.length === 0 ? '' : `, w.t${keys.map((_name, at) => `, w.k${at}`).join('')}`;
  return `SELECT CASE WHEN ${called('strlen', 'w.r')} > ${limits.maxBytes} THEN NULL ELSE w.r END, w.m${named} FROM (
SELECT ${row} AS r, ${missing === '' ? 'NULL' : `CASE${missing} END`} AS m${border} FROM (${sql}${inner}) q${outer}) w`;
}
