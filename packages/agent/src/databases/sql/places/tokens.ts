import type { SqlToken } from '../scanner.ts';

export function isWord(token: SqlToken | undefined, words: RegExp): boolean {
  return token?.kind === 'word' && words.test(token.text);
}

export function isOperator(token: SqlToken | undefined, ...texts: readonly string[]): boolean {
  return token?.kind === 'operator' && texts.includes(token.text);
}

/** A word of SQL, or a name in quotes. */
export function isName(token: SqlToken | undefined): token is SqlToken {
  return token?.kind === 'name' || token?.kind === 'word';
}

/** The indexes of parameters, including variables. */
export function parameterIndexes(body: readonly SqlToken[]): readonly number[] {
  return body.flatMap(({ kind }, index) => (kind === 'parameter' || kind === 'variable' ? [index] : []));
}

export function indexesOf(body: readonly SqlToken[], name: string): readonly number[] {
  return body.flatMap(({ kind, text }, index) =>
    kind === 'parameter' && text === `:${name}` ? [index] : [],
  );
}

/** Splits at commas, but not at those in inner parentheses. */
export function betweenCommas(tokens: readonly SqlToken[]): readonly (readonly SqlToken[])[] {
  const parts: SqlToken[][] = [[]];
  let depth = 0;
  for (const token of tokens) {
    if (opens(token)) depth += 1;
    if (closes(token)) depth -= 1;
    if (depth === 0 && isOperator(token, ',')) parts.push([]);
    else parts.at(-1)?.push(token);
  }
  return parts;
}

function opens(token: SqlToken | undefined): boolean {
  return isOperator(token, '(', '[', '{');
}

function closes(token: SqlToken | undefined): boolean {
  return isOperator(token, ')', ']', '}');
}

/** The index of the parenthesis or bracket around the token at that index; -1 if there is none. */
export function openingBefore(body: readonly SqlToken[], at: number): number {
  let depth = 0;
  for (let index = at - 1; index >= 0; index -= 1) {
    if (closes(body[index])) depth += 1;
    if (opens(body[index])) depth -= 1;
    if (depth < 0) return index;
  }
  return -1;
}

/**
 * The index of the next parenthesis or bracket that closes one opened before or at that index; else the end of the
 * text.
 */
export function closingAfter(body: readonly SqlToken[], at: number): number {
  let depth = 0;
  for (let index = at + 1; index < body.length; index += 1) {
    if (opens(body[index])) depth += 1;
    if (closes(body[index])) depth -= 1;
    if (depth < 0) return index;
  }
  return body.length;
}

/** The first token from that index on that `isFound` accepts, outside of inner parentheses. */
export function findAtLevel(
  body: readonly SqlToken[],
  from: number,
  step: 1 | -1,
  isFound: (token: SqlToken, index: number) => boolean,
): number | undefined {
  let depth = 0;
  for (let index = from; index >= 0 && index < body.length; index += step) {
    const token = body[index];
    if (token === undefined) break;
    const isInner = step === 1 ? opens(token) : closes(token);
    const isOuter = step === 1 ? closes(token) : opens(token);
    if (depth === 0 && isFound(token, index)) return index;
    if (isInner) depth += 1;
    if (isOuter) depth -= 1;
    if (depth < 0) return undefined;
  }
  return undefined;
}
