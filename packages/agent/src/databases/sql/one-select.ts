import { isOperator } from './places/tokens.ts';
import type { SqlToken } from './scanner.ts';

/** The words of a dialect that are no names unless they are quoted. */
export interface Vocabulary {
  /** What a reading statement may use, upper case. */
  readonly allowed: ReadonlySet<string>;
  /** Every other reserved word, upper case. */
  readonly reserved: ReadonlySet<string>;
  /** Allowed words that are functions where a parenthesis follows them. */
  readonly functions: ReadonlySet<string>;
}

/** One that is called by its name; quoted names may only be functions of the database's own making. */
export interface CalledFunction {
  readonly schema: string | undefined;
  /** Lower case. */
  readonly name: string;
  readonly isQuoted: boolean;
}

export interface OneSelect {
  /** The statement without comments and without the semicolons at its end. */
  readonly body: readonly SqlToken[];
  readonly functions: readonly CalledFunction[];
  /** Other words of the dialect with a parenthesis behind them, lower case: functions where the server has them for no words. */
  readonly calledWords: readonly string[];
  /** What may name a table, with the name of its schema where that is written. */
  readonly names: readonly WrittenName[];
  /** Whether its outermost SELECT says how many rows there may be. */
  readonly isLimited: boolean;
  /** Whether its outermost SELECT says in which order they come. */
  readonly isOrdered: boolean;
}

export interface WrittenName {
  readonly schema: string | undefined;
  readonly name: string;
}

export type OneSelectResult =
  | { readonly ok: true; readonly select: OneSelect }
  | { readonly ok: false; readonly problem: string };

/** Whether these tokens are one SELECT, of words that only read. */
export function oneSelect(tokens: readonly SqlToken[], vocabulary: Vocabulary): OneSelectResult {
  const body = bodyOf(tokens);
  const first = body.find((token) => !isOperator(token, '('));
  if (first === undefined) return refused('is empty: write one SELECT');
  if (first.kind !== 'word' || !/^(?:select|with)$/i.test(first.text)) {
    return refused('is no SELECT: only one statement that begins with SELECT or WITH is allowed');
  }
  if (body.some((token) => isOperator(token, ';'))) {
    return refused('has more than one statement: write one SELECT');
  }
  const last = body.at(-1);
  if (last?.kind === 'operator' && last.text !== ')') {
    // Cut off there, two of them could begin a comment.
    return refused('ends with an operator: complete it');
  }
  const functions: CalledFunction[] = [];
  const calledWords = new Set<string>();
  const names: WrittenName[] = [];
  let depth = 0;
  let isLimited = false;
  let isOrdered = false;
  for (const [index, token] of body.entries()) {
    if (isOperator(token, '(')) depth += 1;
    if (isOperator(token, ')')) depth -= 1;
    if (depth < 0) return refused('closes a parenthesis that it has not opened: write one plain SELECT');
    if (token.kind !== 'word' && token.kind !== 'name') continue;
    const isQualified = isOperator(body[index - 1], '.');
    const word = upper(token);
    const title = token.text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
    const isWord = token.kind === 'word' && !isQualified;
    const isCall = isOperator(body[index + 1], '(');
    if (isWord && vocabulary.reserved.has(word)) {
      return refused(
        `uses ${word}, which is not allowed in a reading statement: remove it, or quote it where it is a name`,
      );
    }
    const isKeyword = isWord && vocabulary.allowed.has(word) && !(isCall && vocabulary.functions.has(word));
    if (isKeyword) {
      if (depth === 0 && (word === 'LIMIT' || word === 'FETCH')) isLimited = true;
      if (depth === 0 && word === 'ORDER') isOrdered = true;
      // Servers differ in which words they reserve: what is none to one may be a view or a function there.
      if (isCall) calledWords.add(title);
      else names.push({ schema: undefined, name: token.text });
      continue;
    }
    const schema = isQualified ? body[index - 2]?.text : undefined;
    if (isCall && !isCommonTable(body, index)) {
      functions.push({ schema, name: title, isQuoted: token.kind === 'name' });
    } else {
      names.push({ schema, name: token.text });
      // MariaDB reads a name behind `from .` as if the dot were not there.
      if (isQualified && !isName(body[index - 2], vocabulary)) {
        names.push({ schema: undefined, name: token.text });
      }
    }
  }
  if (depth > 0) return refused('opens a parenthesis that it does not close: close it');
  return {
    ok: true,
    select: { body, functions, calledWords: [...calledWords], names, isLimited, isOrdered },
  };
}

/** Servers know the letters of ASCII alone in their words: to them others such as \u0131 are not the same as any of those. */
function upper({ text }: SqlToken): string {
  return text.replaceAll(/[a-z]+/g, (letters) => letters.toUpperCase());
}

/** Whether a dot behind it has a name before it. */
function isName(token: SqlToken | undefined, { allowed }: Vocabulary): boolean {
  return token?.kind === 'name' || (token?.kind === 'word' && !allowed.has(upper(token)));
}

/** Whether what stands there is `name (columns) as (`, which no call is. */
function isCommonTable(body: readonly SqlToken[], at: number): boolean {
  if (isOperator(body[at - 1], '.')) return false;
  let depth = 0;
  for (let index = at + 1; index < body.length; index += 1) {
    if (isOperator(body[index], '(')) depth += 1;
    if (isOperator(body[index], ')')) depth -= 1;
    if (depth === 0) {
      return /^as$/i.test(body[index + 1]?.text ?? '') && isOperator(body[index + 2], '(');
    }
  }
  return false;
}

/** Without comments, and without the semicolons at the end. */
export function bodyOf(tokens: readonly SqlToken[]): readonly SqlToken[] {
  const body = tokens.filter(({ kind }) => kind !== 'comment');
  while (isOperator(body.at(-1), ';')) body.pop();
  return body;
}

function refused(problem: string): OneSelectResult {
  return { ok: false, problem };
}
