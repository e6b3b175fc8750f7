import type { Param } from '../../../../capabilities/model.ts';
import { placeOf } from '../../../sql/places/parameter-place.ts';
import { isOperator, isWord } from '../../../sql/places/tokens.ts';
import type { SqlToken } from '../../../sql/scanner.ts';
import { each } from '../../../sql/words.ts';

/** Functions of MySQL with the arguments in which a bare placeholder becomes the DATETIME or JSON that they read. */
const READING: Readonly<Record<string, readonly number[]>> = {
  ...each(
    `convert_tz date date_format day dayofmonth json_valid json_value last_day month time_format timestamp to_days
    to_seconds unix_timestamp year`,
    [0],
  ),
  datediff: [0, 1],
  timestampdiff: [1, 2],
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
