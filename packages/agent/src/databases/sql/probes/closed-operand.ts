import type { SqlToken } from '../scanner.ts';
import { closingAfter } from '../places/tokens.ts';
import { words } from '../words.ts';

/** Words of expressions that name no column: values, and types in casts. A wrong type is refused when the probe runs. */
const VALUE_WORDS = words(`
  null true false as using char signed unsigned json date datetime time binary decimal double precision float real integer
  int from
`);
const SYMBOLS = /^[-+*/<>=~!@#%^&|]$/;
/** Operators that join operands. */
const JOINING = /^(?:\|\||[-+*/%])$/;
const WORD_OPERATORS: readonly (readonly string[])[] = [
  ['at', 'time', 'zone'],
  ['similar', 'to'],
  ['ilike'],
  ['like'],
  ['limit'],
  ['offset'],
  ['regexp'],
  ['rlike'],
];

/** Whether it holds only parameters, literals, and functions and casts of them, so that nothing comes from a table. */
export function isClosed(tokens: readonly SqlToken[]): boolean {
  return (
    tokens.length > 0 &&
    tokens.every(({ kind, text }, index) => {
      if (kind === 'word') {
        const word = text.toLowerCase();
        if (word === 'select') return false;
        // The part of a time in EXTRACT.
        if (index === 0 && tokens[1]?.text.toLowerCase() === 'from') return true;
        const isType = /^(?:::|as|using)$/i.test(tokens[index - 1]?.text ?? '');
        return isType || tokens[index + 1]?.text === '(' || VALUE_WORDS.has(word);
      }
      return kind !== 'name' && kind !== 'variable' && kind !== 'comment';
    })
  );
}

/** The operator that begins there, in lower case, and the start of its right operand. */
export function operatorAt(
  tokens: readonly SqlToken[],
  at: number,
): { readonly text: string; readonly end: number } | undefined {
  const token = tokens[at];
  if (token?.kind === 'word') {
    const words = WORD_OPERATORS.find((each) =>
      each.every((word, index) => tokens[at + index]?.text.toLowerCase() === word),
    );
    return words === undefined ? undefined : { text: words.join(' '), end: at + words.length };
  }
  if (token?.kind !== 'operator') return undefined;
  if (token.text === '::') return { text: '::', end: at + 1 };
  // This is the middle of an operator.
  if (isJoined(tokens, at - 1)) return undefined;
  let end = at;
  while (SYMBOLS.test(tokens[end]?.text ?? '') && (end === at || isJoined(tokens, end - 1))) end += 1;
  const text = tokens.slice(at, end).map((each) => each.text);
  return end === at ? undefined : { text: text.join(''), end };
}

function isJoined(tokens: readonly SqlToken[], at: number): boolean {
  const [one, next] = [tokens[at], tokens[at + 1]];
  const areSymbols = SYMBOLS.test(one?.text ?? '') && SYMBOLS.test(next?.text ?? '');
  return areSymbols && one?.end === next?.start;
}

/** The operand that begins there; empty if it is not closed. */
export function closedOperand(tokens: readonly SqlToken[], from: number): readonly SqlToken[] {
  let end = endOfPrimary(tokens, from);
  while (end > from) {
    const operator = operatorAt(tokens, end);
    const next = JOINING.test(operator?.text ?? '') ? endOfPrimary(tokens, operator?.end ?? end) : end;
    if (next <= end) break;
    end = next;
  }
  const operand = tokens.slice(from, end);
  return isClosed(operand) ? operand : [];
}

function endOfPrimary(tokens: readonly SqlToken[], from: number): number {
  let at = from;
  if (tokens[at]?.text === '-') at += 1;
  const { kind, text } = tokens[at] ?? {};
  if (kind === 'word' && tokens[at + 1]?.text === '(') at = closingAfter(tokens, at + 1) + 1;
  else if (kind === 'operator' && text === '(') at = closingAfter(tokens, at) + 1;
  else if (kind !== undefined && kind !== 'operator') at += 1;
  else return from;
  while (tokens[at]?.text === '::') at = endOfType(tokens, at + 1);
  return at;
}

function endOfType(tokens: readonly SqlToken[], from: number): number {
  let at = from + 1;
  while (tokens[at]?.text === '.') at += 2;
  if (tokens[at]?.text === '(') at = closingAfter(tokens, at) + 1;
  while (tokens[at]?.text === '[' && tokens[at + 1]?.text === ']') at += 2;
  return at;
}
