import type { SqlToken } from '../scanner.ts';
import { closingAfter, findAtLevel, isOperator, isWord, openingBefore } from './tokens.ts';

/** What a parameter is compared with. */
export interface Comparison {
  /** Whether it compares only for equality. */
  readonly isEquality: boolean;
  /** The other side's first token, and the one after its last. */
  readonly start: number;
  readonly end: number;
}

const ENDS =
  /^(?:select|distinct|all|from|where|and|or|xor|not|on|having|when|then|else|end|case|by|between|in|is|like|glob|regexp|rlike|escape|group|order|limit|offset|union|except|intersect|asc|desc|as|using|window|join|inner|left|right|cross|natural|straight_join|for|separator)$/i;
const COMPARING = ['<', '>', '=', '!'];

/**
 * What the tokens from `index` up to `until` are compared with, of which one is the parameter. Undefined where that is
 * nothing, or what only a parser could tell. `or` are operators that join conditions.
 */
export function comparisonOf(
  body: readonly SqlToken[],
  index: number,
  or: readonly string[],
  until: number = index + 1,
): Comparison | undefined {
  let [start, end] = [index, until];
  if (isWord(body[start - 1], /^in$/i)) return leftOf(body, start - 1, true, or);
  while (isOperator(body[start - 1], '(') && isOperator(body[end], ')') && isPlain(body[start - 2])) {
    start -= 1;
    end += 1;
  }
  const opening = openingBefore(body, start);
  if (isOperator(body[opening], '(') && isWord(body[opening - 1], /^in$/i)) {
    return leftOf(body, opening - 1, true, or);
  }
  if (isWord(body[start - 1], /^between$/i)) return leftOf(body, start - 1, false, or);
  if (isWord(body[start - 1], /^and$/i)) {
    const between = betweenBefore(body, start - 2);
    if (between !== undefined) return leftOf(body, between, false, or);
  }
  const isWhole = isEdge(body[end], or) || isOperator(body[end], ...COMPARING);
  const before = operatorEndingAt(body, start);
  if (before !== undefined)
    return isWhole ? leftOf(body, start - before.length, isEquality(before), or) : undefined;
  if (!isEdge(body[start - 1], or)) return undefined;
  const after = operatorStartingAt(body, end);
  if (after === undefined) return listOrRange(body, isWord(body[end], /^not$/i) ? end + 1 : end);
  const first = end + after.length;
  const stop =
    findAtLevel(body, first, 1, (token, at) => isEnd(token, or) || isComparing(body, at)) ??
    closingAfter(body, first - 1);
  return { isEquality: isEquality(after), start: first, end: stop };
}

/** The BETWEEN to which the AND after that token belongs. */
export function betweenBefore(body: readonly SqlToken[], at: number): number | undefined {
  const word = findAtLevel(body, at, -1, (token) =>
    isWord(token, /^(?:and|or|where|having|on|when|between)$/i),
  );
  return word !== undefined && isWord(body[word], /^between$/i) ? word : undefined;
}

/** The first operand of an IN or BETWEEN at that index. */
function listOrRange(body: readonly SqlToken[], at: number): Comparison | undefined {
  if (isWord(body[at], /^between$/i)) {
    const and = findAtLevel(body, at + 1, 1, (token) => isWord(token, /^and$/i));
    return and === undefined ? undefined : { isEquality: false, start: at + 1, end: and };
  }
  if (!isWord(body[at], /^in$/i) || !isOperator(body[at + 1], '(')) return undefined;
  if (isWord(body[at + 2], /^(?:select|with)$/i))
    return { isEquality: true, start: at + 1, end: closingAfter(body, at + 1) + 1 };
  const comma = findAtLevel(body, at + 2, 1, (token) => isOperator(token, ','));
  return { isEquality: true, start: at + 2, end: comma ?? closingAfter(body, at + 1) };
}

/** Not the arrows `->` and `->>`, which reach into JSON. */
export function isComparing(body: readonly SqlToken[], at: number): boolean {
  if (!isOperator(body[at], ...COMPARING)) return false;
  const first = isOperator(body[at - 1], '>') ? at - 1 : at;
  return !(isOperator(body[first], '>') && isOperator(body[first - 1], '-'));
}

/** The operand before the operator at that index, without NOT. */
function leftOf(
  body: readonly SqlToken[],
  operator: number,
  isEquality: boolean,
  or: readonly string[],
): Comparison | undefined {
  const end = isWord(body[operator - 1], /^not$/i) ? operator - 1 : operator;
  const before = findAtLevel(body, end - 1, -1, (token, at) => isEnd(token, or) || isComparing(body, at));
  const start = before ?? openingBefore(body, end - 1);
  return end - start > 1 ? { isEquality, start: start + 1, end } : undefined;
}

function isEquality(operator: string): boolean {
  return ['=', '==', '<>', '!=', '<=>', 'is'].includes(operator);
}

/** Whether the token ends an operand outside of parentheses. */
export function isEnd(token: SqlToken | undefined, or: readonly string[]): boolean {
  return (
    token === undefined ||
    isOperator(token, ',', ';', ...or) ||
    (token.kind === 'word' && ENDS.test(token.text))
  );
}

function isEdge(token: SqlToken | undefined, or: readonly string[]): boolean {
  return isEnd(token, or) || isOperator(token, '(', ')');
}

/** Whether a parenthesis after the token belongs to neither a call nor IN. */
function isPlain(token: SqlToken | undefined): boolean {
  return (
    token === undefined ||
    token.kind === 'operator' ||
    (token.kind === 'word' && /^(?:where|and|or|not|on|when|having|between)$/i.test(token.text))
  );
}

function operatorEndingAt(body: readonly SqlToken[], end: number): string | undefined {
  let start = end;
  while (isComparing(body, start - 1)) start -= 1;
  return start === end ? undefined : textOf(body, start, end);
}

function operatorStartingAt(body: readonly SqlToken[], start: number): string | undefined {
  let end = start;
  while (isComparing(body, end)) end += 1;
  return start === end ? undefined : textOf(body, start, end);
}

function textOf(body: readonly SqlToken[], start: number, end: number): string {
  return body
    .slice(start, end)
    .map(({ text }) => text)
    .join('');
}
