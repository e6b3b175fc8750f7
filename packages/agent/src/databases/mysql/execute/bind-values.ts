import type { TypedParameter, TypedParameterValue } from 'mysql2';
import type { Param, ParamSchema } from '../../../capabilities/model.ts';
import { DatabaseError } from '../../errors.ts';
import { utcText } from '../../sql/utc-text.ts';

/** DECIMAL has at most so many digits, and so many of them behind the point. */
const MOST_DIGITS = 65;
const MOST_DECIMALS = 30;

/** What makes values of the types of the wire. */
export type BoundTypes = Pick<TypedParameter, 'BIGINT' | 'DECIMAL' | 'DOUBLE' | 'TINYINT' | 'VARCHAR'>;

/** Of a time, behind its seconds: the servers take no more. */
const MOST_SECOND_DIGITS = 6;

/** A validated value in the form in which it is bound. Throws `DatabaseError`, for a time as `utcText` does. */
export function boundForm(param: Param, value: unknown): unknown {
  if (value === undefined || value === null) return null;
  const { type } = param.schema;
  // Without an offset, which MariaDB drops; the session's time zone is UTC.
  if (type === 'datetime') return utcText(param, textOf(value), MOST_SECOND_DIGITS);
  if (type !== 'integer') return value;
  try {
    return BigInt(textOf(value));
  } catch {
    throw new DatabaseError('failed', `${param.name} is no integer`);
  }
}

/** A value of that form, with its type on the wire. */
export function bindValue(types: BoundTypes, { type }: ParamSchema, value: unknown): TypedParameterValue {
  const isNull = value === null;
  switch (type) {
    case 'integer':
      return types.BIGINT(typeof value === 'bigint' ? value : null);
    case 'number':
      return isNull ? types.DECIMAL(null) : boundNumber(types, Number(value));
    case 'boolean':
      return types.TINYINT(isNull ? null : value === true ? 1 : 0);
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
