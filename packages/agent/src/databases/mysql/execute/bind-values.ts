import type { TypedParameter, TypedParameterValue } from 'mysql2';
import type { ParamSchema } from '../../../capabilities/model.ts';

/** DECIMAL has at most so many digits, and so many of them behind the point. */
const MOST_DIGITS = 65;
const MOST_DECIMALS = 30;

/** From 0001 to 9999. */
const YEARS = /^(?!0000)\d{4}-/;

/** What makes values of the types of the wire. */
export type BoundTypes = Pick<TypedParameter, 'BIGINT' | 'DECIMAL' | 'DOUBLE' | 'TINYINT' | 'VARCHAR'>;

/** A validated value as it is bound, with its type on the wire; absent and null are SQL NULL. */
export function bindValue(types: BoundTypes, schema: ParamSchema, value: unknown): TypedParameterValue {
  const isNull = value === undefined || value === null;
  switch (schema.type) {
    case 'integer':
      return types.BIGINT(isNull ? null : BigInt(textOf(value)));
    case 'number':
      return isNull ? types.DECIMAL(null) : boundNumber(types, Number(value));
    case 'boolean':
      return types.TINYINT(isNull ? null : value === true ? 1 : 0);
    case 'datetime':
      return types.VARCHAR(isNull ? null : inUtc(textOf(value)));
    case 'array':
    case 'object':
      return types.VARCHAR(isNull ? null : JSON.stringify(value));
    default:
      return types.VARCHAR(isNull ? null : textOf(value));
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** As DECIMAL, which compares exactly with a DECIMAL; beyond what that holds as DOUBLE. */
function boundNumber(types: BoundTypes, value: number): TypedParameterValue {
  const text = plain(value);
  const [whole = '', fraction = ''] = text.replace('-', '').split('.');
  if (whole.length + fraction.length > MOST_DIGITS || fraction.length > MOST_DECIMALS) {
    return types.DOUBLE(value);
  }
  return types.DECIMAL(text);
}

/** Without an exponent. */
function plain(value: number): string {
  const match = /^(-?)(\d+)(?:\.(\d+))?e([+-]\d+)$/.exec(String(value));
  if (match === null) return String(value);
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match;
  const shift = Number(exponent);
  if (shift > 0) return `${sign}${whole}${fraction.padEnd(shift, '0')}`;
  return `${sign}0.${'0'.repeat(-shift - 1)}${whole}${fraction}`;
}

/**
 * In UTC, which the session's time zone is, and without an offset: MariaDB drops it. What the text has behind the
 * seconds stays as it is, for a Date has milliseconds only.
 */
function inUtc(value: string): string {
  const fraction = /\.(\d{1,6})/.exec(value)?.[1];
  const isLeapSecond = /^.{16}:60/.test(value);
  const date = new Date(value.replace(/\.\d+/, '').replace(/^(.{16}):60/, '$1:59'));
  // No Date and no server has a 61st second: it is the first of the next minute.
  if (isLeapSecond) date.setUTCSeconds(60);
  const whole = date.toISOString().slice(0, 19).replace('T', ' ');
  // An offset may lead out of the years that the servers know.
  if (!YEARS.test(whole)) throw new RangeError('the time is out of range');
  return fraction === undefined ? whole : `${whole}.${fraction}`;
}
