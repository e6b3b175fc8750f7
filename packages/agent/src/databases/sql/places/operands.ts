import type { SqlToken } from '../scanner.ts';
import { isEnd, isComparing } from './comparisons.ts';
import { closingAfter, findAtLevel, isOperator, isWord, openingBefore } from './tokens.ts';

/** The first token, and the one after the last. */
export interface TokenRange {
  readonly start: number;
  readonly end: number;
}

const NO_CALL =
  /^(?:select|distinct|all|where|and|or|xor|not|on|having|when|then|else|case|by|from|in|between|like|limit|offset|exists|any|some|over|as)$/i;
const CLAUSES = /^(?:select|from|where|on|having|by|limit|offset|union|except|intersect|values|using|with)$/i;

/**
 * The expressions of which a parameter is a part, from the smallest on: sums and calls around it, and the SELECT of which
 * it is the column. `or` are operators that join conditions.
 */
export function operandsAround(
  body: readonly SqlToken[],
  index: number,
  or: readonly string[],
): readonly TokenRange[] {
  const ranges: TokenRange[] = [];
  let range: TokenRange = { start: index, end: index + 1 };
  for (;;) {
    const term = termAround(body, range, or);
    if (term.end - term.start > range.end - range.start) ranges.push(term);
    const opening = openingBefore(body, term.start);
    if (!isOperator(body[opening], '(') || isColumnOfMany(body, opening, term)) return ranges;
    const caller = body[opening - 1];
    const isCall = caller?.kind === 'name' || (caller?.kind === 'word' && !NO_CALL.test(caller.text));
    range = { start: isCall ? opening - 1 : opening, end: closingAfter(body, opening) + 1 };
    if (isWord(caller, /^(?:in|exists|over)$/i) && !isWord(body[opening + 1], /^select$/i)) return ranges;
    ranges.push(range);
  }
}

function termAround(
  body: readonly SqlToken[],
  { start, end }: TokenRange,
  or: readonly string[],
): TokenRange {
  const isBound = (token: SqlToken, at: number): boolean => isEnd(token, or) || isComparing(body, at);
  const before = findAtLevel(body, start - 1, -1, isBound) ?? openingBefore(body, start);
  const after = findAtLevel(body, end, 1, isBound) ?? closingAfter(body, start);
  return { start: before + 1, end: after };
}

/** Whether the parentheses hold a SELECT of which this is not the only column. */
function isColumnOfMany(body: readonly SqlToken[], opening: number, { start, end }: TokenRange): boolean {
  if (!isWord(body[opening + 1], /^(?:select|with)$/i)) return false;
  const clause = findAtLevel(body, start - 1, -1, (token) => isWord(token, CLAUSES));
  const isFirst = clause !== undefined && isWord(body[clause], /^select$/i);
  return !isFirst || isOperator(body[end], ',') || isOperator(body[start - 1], ',');
}
