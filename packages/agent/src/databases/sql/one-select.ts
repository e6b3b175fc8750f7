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
  const body = withoutSemicolons(tokens.filter(({ kind }) => kind !== 'comment'));
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
    const word = token.text.toUpperCase();
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
      continue;
    }
    const schema = isQualified ? body[index - 2]?.text : undefined;
    if (isCall && !isCommonTable(body, index)) {
      functions.push({ schema, name: token.text.toLowerCase(), isQuoted: token.kind === 'name' });
    } else {
      names.push({ schema, name: token.text });
    }
  }
  if (depth > 0) return refused('opens a parenthesis that it does not close: close it');
  return { ok: true, select: { body, functions, names, isLimited, isOrdered } };
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

function withoutSemicolons(tokens: readonly SqlToken[]): readonly SqlToken[] {
  let end = tokens.length;
  while (isOperator(tokens[end - 1], ';')) end -= 1;
  return tokens.slice(0, end);
}

function isOperator(token: SqlToken | undefined, text: string): boolean {
  return token?.kind === 'operator' && token.text === text;
}

function refused(problem: string): OneSelectResult {
  return { ok: false, problem };
}
