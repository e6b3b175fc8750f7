import type { ResultField, ResultType } from '../../../../capabilities/model.ts';
import { quoteIdentifier } from '../../dialect/quote-identifier.ts';
import { FIRST_USER_OID, FLOATS, INTEGERS, JSON_TYPES, OID } from '../../dialect/type-oids.ts';

/** Domains are resolved. */
export interface ColumnType {
  readonly oid: number;
  /** Type modifier; for numeric it holds precision and scale. */
  readonly modifier: number;
  readonly form: 'scalar' | 'array' | 'composite';
  readonly element?: number;
  readonly name: string;
}

/** SQL over `q."column"`. */
export interface Converted {
  readonly value: string;
  /** The text that `row_to_json` makes of the value; null if the value is. */
  readonly json: string;
}

type Accepted = Converted & { readonly ok: true };
export type Conversion = Accepted | { readonly ok: false; readonly problem: string };

/** A cast to text takes the padding off char(n), and adds a mask to inet. */
/**
 * For each type at the start a cast to it, and a call that guards the cast. A column may change its type while the agent
 * runs, and the cast alone would then round the value, or cut off the time of day. The server accepts the call only for
 * a type whose every value the cast keeps, so an integer column may become a larger integer.
 */
const LASTING: ReadonlyMap<number, { readonly cast: string; readonly takes: (column: string) => string }> =
  new Map([
    [OID.bool, { cast: 'bool', takes: call('boolout') }],
    [OID.int8, { cast: 'int8', takes: call('int8out') }],
    [OID.int2, { cast: 'int8', takes: call('int8out') }],
    [OID.int4, { cast: 'int8', takes: call('int8out') }],
    [OID.oid, { cast: 'int8', takes: call('oidout') }],
    // A call of `float8out` would also accept bigint and numeric columns, whose values the cast would round.
    [OID.float4, { cast: 'float4', takes: exactly('float4') }],
    [OID.float8, { cast: 'float8', takes: exactly('float8') }],
    [OID.numeric, { cast: 'numeric', takes: call('numeric_out') }],
    [OID.date, { cast: 'date', takes: call('date_out') }],
    [OID.timestamp, { cast: 'timestamp', takes: call('timestamp_out') }],
    [OID.timestamptz, { cast: 'timestamptz', takes: call('timestamptz_out') }],
  ]);
/** These casts need no guard: of other types only text can be cast so, and it must then be valid JSON. */
const JSON_CASTS: ReadonlyMap<number, string> = new Map([
  [OID.json, 'json'],
  [OID.jsonb, 'jsonb'],
]);
/** Named with their schema: others of that name might stand earlier on the search path. */
const EQUALS = 'operator(pg_catalog.=)';
const BELOW = 'operator(pg_catalog.<)';
/** From here on there is JSON_SCALAR: `to_json` that looks up the type once for all rows. */
const JSON_SCALAR_VERSION = 170_000;

export function convertColumn(
  { name, type: declared }: ResultField,
  type: ColumnType,
  version: number,
): Conversion {
  const column = `q.${quoteIdentifier(name)}`;
  if (declared === 'string') return asString(column, type, version);
  const lasting = type.form === 'scalar' ? LASTING.get(type.oid) : undefined;
  const cast = lasting?.cast ?? JSON_CASTS.get(type.oid);
  const value = cast === undefined ? column : `${column}::pg_catalog.${cast}`;
  const converted = convertValue(value, declared, type, version);
  const takes = lasting?.takes ?? takesForm(type);
  if (!converted.ok || takes === undefined) return converted;
  return accepted(onlyWhere(takes(column), converted.value), onlyWhere(takes(column), converted.json));
}

function convertValue(
  value: string,
  declared: Exclude<ResultType, 'string'>,
  column: ColumnType,
  version: number,
): Conversion {
  switch (declared) {
    case 'integer':
      return asInteger(value, column);
    case 'number':
      return asNumber(value, column, version);
    case 'boolean':
      return column.oid === OID.bool ? accepted(value) : mismatch(column, 'is a boolean');
    case 'date':
      return column.oid === OID.date
        ? accepted(withinYears(value, value), withinYears(value, toJson(value)))
        : mismatch(column, 'is a date (::date)');
    case 'datetime':
      return asDatetime(value, column);
    case 'array':
      return asArray(value, column);
    case 'object':
      return asObject(value, column);
  }
}

/**
 * The value, guarded by a call: if the server cannot resolve the call, it refuses the statement. The planner removes the
 * call, so it takes no time for each row.
 */
function onlyWhere(taken: string, value: string): string {
  return `case when true or ${taken} is null then ${value} end`;
}

function call(name: string): (column: string) => string {
  return (column) => `pg_catalog.${name}(${column})`;
}

/** A guard for one type: `array_eq` takes two arrays of the same type. `abs` turns a domain into its base. */
function exactly(type: string): (column: string) => string {
  return (column) => `pg_catalog.array_eq(array[pg_catalog.abs(${column})], null::pg_catalog.${type}[])`;
}

/** For what is not cast: arrays must stay arrays, and rows must stay rows. */
function takesForm({ form, oid }: ColumnType): ((column: string) => string) | undefined {
  if (form === 'array') return call('array_ndims');
  return form === 'composite' || oid === OID.record ? call('row_to_json') : undefined;
}

/** Whether a row may get JSON text of a user's own, with its line breaks. */
function mayHoldUserJson(column: ColumnType): boolean {
  return (
    column.oid === OID.json ||
    column.oid === OID.record ||
    column.form === 'composite' ||
    column.element === OID.json ||
    column.element === OID.record ||
    isUserElement(column)
  );
}

function isUserElement(column: ColumnType): boolean {
  return column.element !== undefined && column.element >= FIRST_USER_OID;
}

/** Replaces line breaks between JSON tokens, so that a row stays one line. */
function onOneLine(json: string): string {
  const [lineFeed, carriageReturn] = ['pg_catalog.chr(10)', 'pg_catalog.chr(13)'];
  return `pg_catalog.replace(pg_catalog.replace(${json}, ${lineFeed}, ' '), ${carriageReturn}, ' ')`;
}

function asText(value: string): string {
  return `(${value})::pg_catalog.text`;
}

function asJson(text: string): string {
  return `${text}::pg_catalog.json`;
}

/** The server looks up the type each time. */
function toJson(value: string): string {
  return asText(`pg_catalog.to_json(${value})`);
}

/** It needs no guard: every type has a text form. */
function asString(column: string, { oid }: ColumnType, version: number): Conversion {
  if (oid === OID.bpchar || oid === OID.inet) {
    const value = onlyWhere(call(oid === OID.bpchar ? 'bpcharout' : 'inet_out')(column), column);
    return accepted(value, toJson(value));
  }
  const text = `${column}::pg_catalog.text`;
  return accepted(text, version >= JSON_SCALAR_VERSION ? asText(`json_scalar(${text})`) : toJson(text));
}

function asInteger(value: string, column: ColumnType): Conversion {
  if (INTEGERS.has(column.oid)) return accepted(value);
  if (column.oid === OID.numeric && scaleOf(column.modifier) === 0) {
    // Null for NaN, and for fractions if the column comes to hold them: the remainder by 1 is not 0.
    return accepted(
      `case when (${value} operator(pg_catalog.%) 1) ${EQUALS} 0 then pg_catalog.trunc(${value}) end`,
    );
  }
  return mismatch(column, 'is an integer (::bigint; a numeric may hold fractions)');
}

function asNumber(value: string, column: ColumnType, version: number): Conversion {
  if (INTEGERS.has(column.oid)) return asInteger(value, column);
  // NaN sorts above Infinity, so one comparison leaves out both.
  const finite = `case when ${value} operator(pg_catalog.>) '-Infinity' and ${value} ${BELOW} 'Infinity' then ${value} end`;
  if (FLOATS.has(column.oid)) return accepted(finite);
  if (column.oid !== OID.numeric) return mismatch(column, 'is a number (::numeric)');
  // Before 14 a numeric knows no infinity, not even to compare with.
  return accepted(
    version >= 140_000 ? finite : `case when ${value} operator(pg_catalog.<>) 'NaN' then ${value} end`,
  );
}

/** The scale of numeric(p, s); undefined if none was declared. Negative scales hold no fractions either. */
function scaleOf(modifier: number): number | undefined {
  if (modifier < 4) return undefined;
  const scale = (((modifier - 4) & 0x7ff) ^ 1024) - 1024;
  return Math.max(scale, 0);
}

function asDatetime(value: string, column: ColumnType): Conversion {
  if (column.oid === OID.timestamptz) return inUtc(value);
  // Without an offset it is no date-time of JSON Schema; PostgreSQL itself reads it in the session's time zone.
  if (column.oid === OID.timestamp) {
    const utc = inUtc(`${value}::pg_catalog.timestamptz`);
    return accepted(withinYears(value, utc.value), withinYears(value, utc.json));
  }
  return mismatch(column, 'is a timestamp (::timestamptz)');
}

/** In UTC: old offsets have seconds, which neither ISO 8601 nor RFC 3339 can write. */
function inUtc(value: string): Accepted {
  // A zone by its name would be looked up for each value.
  const utc = `pg_catalog.timezone('0'::pg_catalog.interval, ${value})`;
  const [json, midnight] = [toJson(utc), ' 00:00:00+00'];
  return accepted(
    withinYears(value, `pg_catalog.textcat(pg_catalog.btrim(${json}, '"'), '+00:00')`, midnight),
    withinYears(value, `pg_catalog.textcat(pg_catalog.rtrim(${json}, '"'), '+00:00"')`, midnight),
  );
}

/** Null for infinity and for years that ISO 8601 cannot write in four digits. `midnight` follows the bounds. */
function withinYears(moment: string, value: string, midnight = ''): string {
  return `case when ${moment} operator(pg_catalog.>=) '0001-01-01${midnight}' and ${moment} ${BELOW} '10000-01-01${midnight}' then ${value} end`;
}

function asArray(value: string, column: ColumnType): Conversion {
  if (JSON_TYPES.has(column.oid)) return onlyJson('array', value, column);
  if (column.form !== 'array' || column.element === undefined) {
    return mismatch(column, 'is an array or JSON (to_jsonb(...), array_agg(...))');
  }
  const cleanse = unrepresentable(column.element);
  if (cleanse === undefined) return nested(value, column);
  const json = `pg_catalog.regexp_replace(${toJson(value)}, '${cleanse}', 'null', 'g')`;
  return accepted(asJson(json), json);
}

function nested(value: string, column: ColumnType): Conversion {
  if (!mayHoldUserJson(column)) return accepted(value, toJson(value));
  const json = onOneLine(toJson(value));
  return accepted(asJson(json), json);
}

/** Elements of these types are bare numbers or one quoted word, so a pattern finds exactly the words. */
function unrepresentable(element: number): string | undefined {
  if (FLOATS.has(element) || element === OID.numeric) return '"-?(NaN|Infinity)"';
  if (element === OID.date || element === OID.timestamp || element === OID.timestamptz) {
    return '"(-?infinity|[0-9]{5,}-[^"]*|[^"]* BC)"';
  }
  return undefined;
}

function asObject(value: string, column: ColumnType): Conversion {
  if (JSON_TYPES.has(column.oid)) return onlyJson('object', value, column);
  if (column.form === 'composite' || column.oid === OID.record) return nested(value, column);
  return mismatch(column, 'is JSON or a row (to_jsonb(...), jsonb_build_object(...))');
}

/** JSON of another kind than the declared one becomes null: the column's type does not tell its kind. */
function onlyJson(kind: 'array' | 'object', value: string, column: ColumnType): Conversion {
  const typeOf = column.oid === OID.jsonb ? 'jsonb_typeof' : 'json_typeof';
  const only = `case when pg_catalog.${typeOf}(${value}) ${EQUALS} '${kind}' then ${value} end`;
  if (!mayHoldUserJson(column)) return accepted(only);
  const json = onOneLine(asText(only));
  return accepted(asJson(json), json);
}

function accepted(value: string, json: string = asText(value)): Accepted {
  return { ok: true, value, json };
}

function mismatch(column: ColumnType, wanted: string): Conversion {
  const found = column.oid < FIRST_USER_OID ? column.name : 'a type of the database';
  return {
    ok: false,
    problem: `the column is ${found}: cast it so that it ${wanted}, or declare another type`,
  };
}
