import type { Capability, ParamSchema } from '../../../../capabilities/model.ts';
import type { TokenRange } from '../../../sql/places/operands.ts';
import { placeOf } from '../../../sql/places/parameter-place.ts';
import { probeOf } from '../../../sql/places/probe.ts';
import {
  betweenCommas,
  closingAfter,
  isOperator,
  isWord,
  openingBefore,
} from '../../../sql/places/tokens.ts';
import { isClosed } from '../../../sql/probes/closed-operand.ts';
import type { SqlToken } from '../../../sql/scanner.ts';
import type { Column } from '../columns.ts';

/** The column of a SELECT; undefined if the server refuses the SELECT. */
export type ColumnOf = (probe: string) => Promise<Column | undefined>;

/** Functions that compare their arguments with each other. */
const COMPARING = /^(?:field|greatest|least|nullif)$/;
const DIGITS = /^['"](?:%[cdefHhIijklmSsUuVvwXxYy])+['"]$/;

/** What the server says of an expression in its place in the statement. */
export function columnAt(
  { sql, params }: Capability,
  body: readonly SqlToken[],
  { start, end }: TokenRange,
  columnOf: ColumnOf,
): Promise<Column | undefined> {
  const schemas = new Map(params.map(({ name, schema }) => [`:${name}`, schema]));
  return columnOf(
    probeOf(sql, body, start, end, ({ text }) => sampleOf(schemas.get(text) ?? { type: 'string' })),
  );
}

/** A value of the type as which the parameter is bound: for MariaDB a placeholder has no type. */
function sampleOf({ type, items }: ParamSchema): string {
  switch (type) {
    case 'integer':
    case 'boolean':
      return '0';
    case 'number':
      return '0.5';
    case 'array':
      return sampleOf(items ?? { type: 'string' });
    default:
      return "convert('' using utf8mb4)";
  }
}

/** Whether the SQL itself has all of it. */
export function isConstant(body: readonly SqlToken[], { start, end }: TokenRange): boolean {
  const tokens = body.slice(start, end);
  return isClosed(tokens) && !tokens.some(({ kind }) => kind === 'parameter');
}

/** Whether it is a text of digits alone. */
export function isOfDigits(body: readonly SqlToken[], range: TokenRange): boolean {
  const format = body[range.end - 2]?.text ?? '';
  return isCallOf(body, range, /^(?:date_format|time_format)$/i) && DIGITS.test(format);
}

/** Whether it is taken out of a document, whose numbers MariaDB gives as text. */
export function isOfDocument(body: readonly SqlToken[], range: TokenRange): boolean {
  const tokens = body.slice(range.start, range.end);
  const hasArrow = tokens.some((token, at) => isOperator(token, '-') && isOperator(tokens[at + 1], '>'));
  return hasArrow || isCallOf(body, range, /^json_/i);
}

function isCallOf(body: readonly SqlToken[], { start, end }: TokenRange, name: RegExp): boolean {
  return (
    isWord(body[start], name) && isOperator(body[start + 1], '(') && closingAfter(body, start + 1) === end - 1
  );
}

/** The other arguments of a function that compares the tokens of that range with them. */
export function argumentsBeside(
  body: readonly SqlToken[],
  { start, end }: TokenRange,
): readonly TokenRange[] {
  const place = placeOf(body, start, end);
  const opening = openingBefore(body, start);
  if (place.kind !== 'argument' || !COMPARING.test(place.of)) return [];
  if (body[opening - 1]?.text.toLowerCase() !== place.of) return [];
  let first = opening + 1;
  return betweenCommas(body.slice(first, closingAfter(body, opening))).flatMap(({ length }) => {
    const range = { start: first, end: first + length };
    first = range.end + 1;
    return range.start === start ? [] : [range];
  });
}
