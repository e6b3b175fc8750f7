import { isOperator } from './places/tokens.ts';
import type { SqlToken } from './scanner.ts';

/** The words of a dialect that are names only in quotes. */
export interface Vocabulary {
  /** Words that a reading statement may use, in upper case. */
  readonly allowed: ReadonlySet<string>;
  /** Every other reserved word, in upper case. */
  readonly reserved: ReadonlySet<string>;
  /** Allowed words that are functions before a parenthesis. */
  readonly functions: ReadonlySet<string>;
}

/** A function that is called by its name. A quoted name can only be a stored function. */
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
  /** Other words before a parenthesis, in lower case: functions if the server does not reserve them. */
  readonly calledWords: readonly string[];
  /** Names that may be tables, with their schemas if written. */
  readonly names: readonly WrittenName[];
  /** Whether its outermost SELECT has a LIMIT. */
  readonly isLimited: boolean;
  /** Whether its outermost SELECT has an ORDER BY. */
  readonly isOrdered: boolean;
}

export interface WrittenName {
  readonly schema: string | undefined;
  readonly name: string;
}

export type OneSelectResult =
  | { readonly ok: true; readonly select: OneSelect }
  | { readonly ok: false; readonly problem: string };

/** Accepts one SELECT of words that only read. */
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
    // If the text were cut there, two operators could begin a comment.
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
        `uses ${word}, which is not allowed in a reading statement: remove it, or quote it if it is a name`,
      );
    }
    const isKeyword = isWord && vocabulary.allowed.has(word) && !(isCall && vocabulary.functions.has(word));
    if (isKeyword) {
      if (depth === 0 && (word === 'LIMIT' || word === 'FETCH')) isLimited = true;
      if (depth === 0 && word === 'ORDER') isOrdered = true;
      // Servers differ in which words they reserve: one may have a view or a function of that name.
      if (isCall) calledWords.add(title);
      else names.push({ schema: undefined, name: token.text });
      continue;
    }
    const schema = isQualified ? body[index - 2]?.text : undefined;
    if (isCall && !isCommonTable(body, index)) {
      functions.push({ schema, name: title, isQuoted: token.kind === 'name' });
    } else {
      names.push({ schema, name: token.text });
      // MariaDB ignores the dot in `from .name`.
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

/** Quotes a name that the server or the scanner could take for something else. */
export function writtenName(
  name: string,
  { allowed, reserved }: Vocabulary,
  quoted: (name: string) => string,
): string {
  const word = name.toUpperCase();
  const isPlain = /^[a-z_][a-z0-9_]*$/.test(name) && !allowed.has(word) && !reserved.has(word);
  return isPlain ? name : quoted(name);
}

/** Servers ignore the case of ASCII letters only: \u0131 is no I. */
function upper({ text }: SqlToken): string {
  return text.replaceAll(/[a-z]+/g, (letters) => letters.toUpperCase());
}

/** Whether it is a name before a dot. */
function isName(token: SqlToken | undefined, { allowed }: Vocabulary): boolean {
  return token?.kind === 'name' || (token?.kind === 'word' && !allowed.has(upper(token)));
}

/** Whether this is `name (columns) as (`, which is no call. */
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
