import type { Param } from '../../../../capabilities/model.ts';
import { placeOf } from '../../../sql/places/parameter-place.ts';
import { isOperator, isWord } from '../../../sql/places/tokens.ts';
import type { SqlToken } from '../../../sql/scanner.ts';

const FIRST = [0];

/** Functions of MySQL, with the arguments of which it takes a placeholder alone for the DATETIME or JSON that they read. */
const READING: Readonly<Record<string, readonly number[]>> = {
  convert_tz: FIRST,
  date: FIRST,
  date_format: FIRST,
  datediff: [0, 1],
  day: FIRST,
  dayofmonth: FIRST,
  json_valid: FIRST,
  json_value: FIRST,
  last_day: FIRST,
  month: FIRST,
  time_format: FIRST,
  timestamp: FIRST,
  timestampdiff: [1, 2],
  to_days: FIRST,
  to_seconds: FIRST,
  unix_timestamp: FIRST,
  year: FIRST,
};

/**
 * What MySQL is sent for the parameter at that index. Where it would take a placeholder for a DATETIME it keeps a date that
 * there is not, and reads a time as a date, without a warning; an expression it reads as the text that it is.
 */
export function placeholderFor(body: readonly SqlToken[], index: number, { schema }: Param): string {
  if (!['string', 'array', 'object'].includes(schema.type)) return '?';
  const place = placeOf(body, index);
  if (place.kind !== 'argument') return '?';
  const isCast =
    (place.of === 'cast' && isWord(body[index + 1], /^as$/i)) ||
    (place.of === 'convert' && isOperator(body[index + 1], ','));
  const isRead = isCast ? isWord(body[index + 2], /^date(?:time)?$/i) : READING[place.of]?.includes(place.at);
  return isRead === true ? 'concat(?)' : '?';
}
