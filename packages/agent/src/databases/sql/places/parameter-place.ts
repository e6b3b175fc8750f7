import type { SqlToken } from '../scanner.ts';
import { closingAfter, findAtLevel, isOperator, isWord, openingBefore } from './tokens.ts';

/** The place of a parameter, as far as it says what the parameter may be. */
export type Place =
  /** Alone in the parentheses after IN. */
  | { readonly kind: 'list'; readonly isRow: boolean }
  /** One of several after IN. */
  | { readonly kind: 'listed' }
  /** An argument of a function, or of a construct like one, whose name is in lower case. */
  | { readonly kind: 'argument'; readonly of: string; readonly at: number }
  /** After MEMBER OF. */
  | { readonly kind: 'members' }
  /** Only tested for null. */
  | { readonly kind: 'null-test' }
  /** A column of the result. */
  | { readonly kind: 'column' }
  | { readonly kind: 'other' };

/** Functions that return one of their arguments. */
const PASSING = /^(?:coalesce|ifnull|nvl)$/i;
const BOUNDARY =
  /^(?:select|distinct|all|where|and|or|xor|not|on|having|when|then|else|case|by|from|in|between|like|limit|offset|if)$/i;
const CLAUSES =
  /^(?:select|from|where|on|having|by|limit|offset|fetch|union|except|intersect|values|using|with|window)$/i;

/** The place of the tokens from `start` up to `end`, which are a parameter or pass its value on. */
export function placeOf(body: readonly SqlToken[], start: number, end: number = start + 1): Place {
  const [before, next] = [body[start - 1], body[end]];
  if (isTested(body, start, end)) return { kind: 'null-test' };
  const isAlone = isOperator(before, '(') && isOperator(next, ')');
  if (isAlone) {
    const caller = body[start - 2];
    if (isWord(caller, /^in$/i)) return listOf(body, start - 1);
    if (isWord(caller, /^of$/i) && isWord(body[start - 3], /^member$/i)) return { kind: 'members' };
    if (!isCaller(caller)) return placeOf(body, start - 1, end + 1);
  }
  const isArgument =
    isOperator(before, '(', ',') && (isOperator(next, ')', ',') || isWord(next, /^(?:as|using)$/i));
  const opening = openingBefore(body, start);
  const caller = body[opening - 1];
  if (isArgument && isOperator(body[opening], '(')) {
    if (isWord(caller, /^in$/i)) return { kind: 'listed' };
    if (isCaller(caller)) {
      if (PASSING.test(caller.text)) return placeOf(body, opening - 1, closingAfter(body, opening) + 1);
      const at = body.slice(opening + 1, start).filter((token, index) => {
        return isOperator(token, ',') && openingBefore(body, opening + 1 + index) === opening;
      }).length;
      return { kind: 'argument', of: caller.text.toLowerCase(), at };
    }
  }
  return isColumn(body, start, end) ? { kind: 'column' } : { kind: 'other' };
}

function listOf(body: readonly SqlToken[], opening: number): Place {
  const last = opening - (isWord(body[opening - 2], /^not$/i) ? 3 : 2);
  return { kind: 'list', isRow: isRow(body, last) };
}

/** Whether a list of several values in parentheses ends with that token. */
function isRow(body: readonly SqlToken[], last: number): boolean {
  if (!isOperator(body[last], ')')) return false;
  const opening = openingBefore(body, last);
  const caller = body[opening - 1];
  if (isCaller(caller) && !isWord(caller, /^row$/i)) return false;
  return findAtLevel(body, opening + 1, 1, (token) => isOperator(token, ',')) !== undefined;
}

function isCaller(token: SqlToken | undefined): token is SqlToken {
  return token?.kind === 'name' || (token?.kind === 'word' && !BOUNDARY.test(token.text));
}

function isTested(body: readonly SqlToken[], start: number, end: number): boolean {
  const [next, after, third] = [body[end], body[end + 1], body[end + 2]];
  const isAsked =
    isWord(next, /^(?:isnull|notnull)$/i) ||
    (isWord(next, /^(?:is|not)$/i) && isWord(after, /^null$/i)) ||
    (isWord(next, /^is$/i) && isWord(after, /^not$/i) && isWord(third, /^null$/i));
  const before = body[start - 1];
  const isWhole =
    before === undefined ||
    isOperator(before, '(', ',') ||
    (before.kind === 'word' &&
      BOUNDARY.test(before.text) &&
      !/^(?:in|between|like|limit|offset)$/i.test(before.text));
  return isAsked && isWhole;
}

/** Only columns of the outermost SELECT: an inner SELECT yields a value of the statement. */
function isColumn(body: readonly SqlToken[], start: number, end: number): boolean {
  if (openingBefore(body, start) >= 0) return false;
  const clause = findAtLevel(body, start - 1, -1, (token) => isWord(token, CLAUSES));
  if (clause === undefined || !isWord(body[clause], /^select$/i)) return false;
  const [before, next] = [body[start - 1], body[end]];
  const begins = isOperator(before, ',') || isWord(before, /^(?:select|distinct|all)$/i);
  return begins && (next === undefined || next.kind !== 'operator' || isOperator(next, ','));
}
