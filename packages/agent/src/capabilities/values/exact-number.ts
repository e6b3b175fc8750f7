import type { ParamSchema } from '../model.ts';
import { compareDecimals, integerText, isDecimalMultiple, readDecimal, type Decimal } from './decimal.ts';

/** The bounds of an `integer`: 64 bits, with a sign or without. */
export const LEAST_INTEGER = '-9223372036854775808';
export const GREATEST_INTEGER = '18446744073709551615';

const LEAST = readDecimal(LEAST_INTEGER);
const GREATEST = readDecimal(GREATEST_INTEGER);

/** The keyword that a number fails, judged by all digits that it is written with. */
export function failedKeyword(schema: ParamSchema, written: string): string | undefined {
  const { type, minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, enum: allowed } = schema;
  const value = readDecimal(written);
  const order = (bound: number): number => compareDecimals(value, readDecimal(String(bound)));
  if (type === 'integer') {
    if (value.point < value.digits.length) return 'type';
    if (compareDecimals(value, LEAST) < 0 || compareDecimals(value, GREATEST) > 0) return 'range';
  }
  if (minimum !== undefined && order(minimum) < 0) return 'minimum';
  if (maximum !== undefined && order(maximum) > 0) return 'maximum';
  if (exclusiveMinimum !== undefined && order(exclusiveMinimum) <= 0) return 'exclusiveMinimum';
  if (exclusiveMaximum !== undefined && order(exclusiveMaximum) >= 0) return 'exclusiveMaximum';
  if (multipleOf !== undefined && !isDecimalMultiple(value, readDecimal(String(multipleOf))))
    return 'multipleOf';
  if (allowed !== undefined && !allowed.some((one) => order(Number(one)) === 0)) return 'enum';
  return undefined;
}

/** The number itself if a double keeps it; otherwise its digits, without an exponent if it is an integer. */
export function exactNumber(type: 'integer' | 'number', value: number, written: string): number | string {
  const decimal: Decimal = readDecimal(written);
  const isKept = type === 'integer' ? Number.isSafeInteger(value) : isSame(decimal, value);
  if (isKept) return value;
  return type === 'integer' ? (integerText(decimal) ?? written) : written;
}

function isSame(decimal: Decimal, value: number): boolean {
  return compareDecimals(decimal, readDecimal(String(value))) === 0;
}
