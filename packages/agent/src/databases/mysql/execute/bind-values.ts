import type { TypedParameterValue } from 'mysql2';
import type { ParamSchema } from '../../../capabilities/model.ts';
import { jsonOf } from '../../../capabilities/values/bound-value.ts';
import { readDecimal } from '../../../capabilities/values/decimal.ts';
import { DatabaseError } from '../../driver/errors.ts';
import type { BoundTypes } from '../connection/session.ts';
import { utcText } from '../../sql/utc-text.ts';
import type { PlacedParam } from './prepared-query.ts';

/** The most digits of DECIMAL, and of those after the point. */
const MOST_DIGITS = 65;
const MOST_DECIMALS = 30;
const INT64_MAX = 2n ** 63n - 1n;

/** The most digits after the seconds of a time that the servers accept. */
const MOST_SECOND_DIGITS = 6;

/** A validated value in the form in which it is bound. Throws `DatabaseError`. */
export function boundForm(param: PlacedParam, value: unknown): unknown {
  if (value === undefined || value === null) return param.ifNull === undefined ? null : BigInt(param.ifNull);
  const { type } = param.schema;
  // The session's time zone is UTC, and MariaDB ignores offsets.
  if (type === 'datetime') return utcText(param, textOf(value), MOST_SECOND_DIGITS);
  if (type !== 'integer') return value;
  try {
    return BigInt(textOf(value));
  } catch {
    throw new DatabaseError('failed', `${param.name} is no integer`);
  }
}

/** A value of that form, with its type on the wire. */
export function bindValue(types: BoundTypes, schema: ParamSchema, value: unknown): TypedParameterValue {
  const isNull = value === null;
  switch (schema.type) {
    case 'integer':
      if (typeof value !== 'bigint') return types.BIGINT(null);
      return value > INT64_MAX ? types.BIGINT.unsigned(value) : types.BIGINT(value);
    case 'number':
      return isNull ? types.DECIMAL(null) : boundNumber(types, textOf(value));
    case 'boolean':
      return types.TINYINT(isNull ? null : value === true ? 1 : 0);
    case 'array':
    case 'object':
      return types.VARCHAR(isNull ? null : jsonOf(schema, value));
    default:
      return types.VARCHAR(isNull ? null : textOf(value));
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** DECIMAL compares exactly with a DECIMAL. Larger numbers are bound as DOUBLE. */
function boundNumber(types: BoundTypes, text: string): TypedParameterValue {
  const { sign, digits, point } = readDecimal(text);
  const decimals = Math.max(digits.length - point, 0);
  if (Math.max(point, 0) + decimals > MOST_DIGITS || decimals > MOST_DECIMALS) {
    return types.DOUBLE(Number(text));
  }
  const whole = digits.slice(0, Math.max(point, 0)).padEnd(point, '0');
  const fraction = digits.slice(whole.length).padStart(decimals, '0');
  return types.DECIMAL(`${sign < 0 ? '-' : ''}${whole || '0'}${fraction && `.${fraction}`}`);
}
