import type { SqlToken } from '../scanner.ts';
import { findAtLevel, isOperator, isWord } from './tokens.ts';

/** The count of a LIMIT, OFFSET or FETCH FIRST. */
export interface RowCount {
  readonly of: 'limit' | 'offset';
  /** Its first token, and the one after its last. */
  readonly start: number;
  readonly end: number;
}

const NEXT_CLAUSE = /^(?:limit|offset|row|rows|union|except|intersect|for|percent|window)$/i;

export function rowCounts(body: readonly SqlToken[]): readonly RowCount[] {
  return body.flatMap((token, index): readonly RowCount[] => {
    const next = body[index + 1];
    // On some engines a column may have this name.
    if (isOperator(body[index - 1], '.') || isOperator(next, '=', '<', '>', '!', ',', ')', '.', '+'))
      return [];
    if (isWord(token, /^(?:first|next)$/i) && isWord(body[index - 1], /^fetch$/i)) {
      return [countOf(body, 'limit', index + 1)];
    }
    if (isWord(token, /^offset$/i)) return [countOf(body, 'offset', index + 1)];
    if (!isWord(token, /^limit$/i)) return [];
    const first = countOf(body, 'limit', index + 1);
    if (!isOperator(body[first.end], ',')) return [first];
    return [{ ...first, of: 'offset' }, countOf(body, 'limit', first.end + 1)];
  });
}

/** The index of the parameter if the count is only that, perhaps in parentheses. */
export function loneParameter(body: readonly SqlToken[], { start, end }: RowCount): number | undefined {
  let [from, to] = [start, end];
  while (to - from > 2 && isOperator(body[from], '(') && isOperator(body[to - 1], ')')) {
    from += 1;
    to -= 1;
  }
  return to - from === 1 && body[from]?.kind === 'parameter' ? from : undefined;
}

function countOf(body: readonly SqlToken[], of: RowCount['of'], start: number): RowCount {
  const end = findAtLevel(
    body,
    start,
    1,
    (token) => isOperator(token, ',', ')', ';') || isWord(token, NEXT_CLAUSE),
  );
  return { of, start, end: end ?? body.length };
}
