import type { SqlToken } from '../scanner.ts';
import { words } from '../words.ts';
import { betweenCommas, closingAfter, openingBefore } from '../places/tokens.ts';
import { closedOperand, isClosed, operatorAt } from './closed-operand.ts';

/** The expressions of a dialect that refuse values, and harmless operands for the rest of each. */
export interface ProbeRules {
  /** By their names in lower case. */
  readonly functions: Readonly<Record<string, FunctionRule>>;
  /** Whether functions without a rule are probed as well, if all of their arguments are closed. */
  readonly hasOthers: boolean;
  /** By their text in lower case: the expression for an operand on the right, and for a parameter on the left. */
  readonly operators: Readonly<Record<string, OperatorRule>>;
  /** Functions that may leave arguments unevaluated. */
  readonly guards: readonly string[];
}

export interface FunctionRule {
  /** A harmless argument for each place. The last one also serves for those that follow. */
  readonly args: readonly string[];
  /** The function that is called in its place. */
  readonly as?: string;
  /** The text after it, such as the window of a window function. */
  readonly behind?: string;
  /** Functions in which it is not probed, because they test whether it gave null. */
  readonly alternatives?: readonly string[];
}

interface OperatorRule {
  readonly right?: (operand: string) => string;
  readonly left?: (operand: string) => string;
}

/** Words before a parenthesis that are no functions. */
const NO_FUNCTIONS = words(`
  all and any array as between by case distinct else end escape except exists filter from group having in intersect
  interval is join lateral like limit match not offset on or order over partition row select similar some then union
  using values when where with within xor
`);

/**
 * Expressions of the statement that fail by their parameters alone: what they have of the data is left out, or stands for
 * something harmless. Those of fewer parameters come first. Not what stands in a CASE or a guard, which may ask first
 * whether a value is fit for it.
 */
export function probeTexts(sql: string, tokens: readonly SqlToken[], rules: ProbeRules): readonly string[] {
  const guarded = guardedRanges(tokens, rules.guards);
  const isFree = (index: number): boolean => !guarded.some(([from, to]) => from < index && index < to);
  const found = tokens.flatMap((_token, index) =>
    isFree(index) ? [...ofCall(sql, tokens, index, rules), ...ofOperator(sql, tokens, index, rules)] : [],
  );
  const count = (text: string): number => new Set(text.match(/:[A-Za-z_]\w*/g)).size;
  return [...new Set(found)].toSorted((one, other) => count(one) - count(other));
}

function ofCall(sql: string, tokens: readonly SqlToken[], at: number, rules: ProbeRules): readonly string[] {
  const name = tokens[at]?.text.toLowerCase() ?? '';
  if (tokens[at]?.kind !== 'word' || tokens[at + 1]?.text !== '(' || NO_FUNCTIONS.has(name)) return [];
  // A function with a schema may be another than that of the rule.
  if (tokens[at - 1]?.text === '.') return [];
  const rule = Object.hasOwn(rules.functions, name) ? rules.functions[name] : undefined;
  const closing = closingAfter(tokens, at + 1);
  if (closing === tokens.length || (rule === undefined && !rules.hasOthers)) return [];
  if (tokens.slice(at, closing).some((_token, index) => isAlternative(tokens, at + index, rules))) return [];
  const given = betweenCommas(tokens.slice(at + 2, closing));
  const texts = given.map((each) => textOf(sql, each));
  const { as = name, args, behind = '' } = rule ?? { args: [] };
  const call = (written: readonly string[]): string => `${as}(${written.join(', ')})${behind}`;
  const harmless = given.map((_each, index) => args[index] ?? args.at(-1));
  const closed = given.map((each) => isClosed(each));
  const has = given.map((each) => each.some(({ kind }) => kind === 'parameter'));
  const probes: string[] = [];
  const areClosed = closed.every((is) => is) && has.includes(true);
  if (areClosed && as !== name) probes.push(`${name}(${texts.join(', ')})`);
  const alone = (index: number): readonly (string | undefined)[] =>
    harmless.map((each, other) => (other === index ? texts[other] : each));
  for (const index of given.keys()) {
    const written = alone(index).filter((each) => each !== undefined);
    if (closed[index] === true && has[index] === true && written.length === given.length)
      probes.push(call(written));
  }
  const whole = texts.map((text, index) => (closed[index] === true ? text : harmless[index]));
  if (closed.some((is, index) => is && has[index] === true) && !whole.includes(undefined)) {
    probes.push(call(whole.filter((each) => each !== undefined)));
  }
  return probes;
}

function ofOperator(
  sql: string,
  tokens: readonly SqlToken[],
  at: number,
  { operators }: ProbeRules,
): readonly string[] {
  const operator = operatorAt(tokens, at);
  if (operator === undefined) return [];
  const { text, end } = operator;
  const cast = text === '::' ? castOf(sql, tokens, at) : undefined;
  if (cast !== undefined) return [cast];
  if (text === 'like' || text === 'ilike') return ofLike(sql, tokens, end, text);
  const rule = Object.hasOwn(operators, text) ? operators[text] : undefined;
  const right = closedOperand(tokens, end);
  const left = tokens[at - 1]?.kind === 'parameter' ? [tokens[at - 1]] : [];
  const write = (
    how: OperatorRule['right'],
    operand: readonly (SqlToken | undefined)[],
  ): readonly string[] => {
    const written = operand.filter((token) => token !== undefined);
    const isOfValues = written.some(({ kind }) => kind === 'parameter');
    return how === undefined || !isOfValues ? [] : [how(textOf(sql, written))];
  };
  return [...write(rule?.right, right), ...write(rule?.left, left)];
}

/** A cast directly after a parameter, with its whole type. */
function castOf(sql: string, tokens: readonly SqlToken[], at: number): string | undefined {
  if (tokens[at - 1]?.kind !== 'parameter') return undefined;
  return textOf(sql, closedOperand(tokens, at - 1));
}

/**
 * A pattern that ends with the escape character is refused only when a text matches up to there, so the probe matches
 * it with itself.
 */
function ofLike(sql: string, tokens: readonly SqlToken[], from: number, like: string): readonly string[] {
  const pattern = closedOperand(tokens, from);
  const end = tokens.indexOf(pattern.at(-1) ?? { kind: 'comment', text: '', start: 0, end: 0 }) + 1;
  const isEscaped = end > 0 && tokens[end]?.text.toLowerCase() === 'escape';
  const escape = isEscaped ? closedOperand(tokens, end + 1) : [];
  const isOfValues = [...pattern, ...escape].some(({ kind }) => kind === 'parameter');
  if (!isOfValues || (isEscaped && escape.length === 0)) return [];
  const text = textOf(sql, pattern);
  const behind = isEscaped ? ` escape ${textOf(sql, escape)}` : '';
  const alone = escape.some(({ kind }) => kind === 'parameter') ? [`'' ${like} ''${behind}`] : [];
  return [...alone, `(${text}) ${like} (${text})${behind}`];
}

/** Whether it is a function inside one that tests whether it gave null. */
function isAlternative(tokens: readonly SqlToken[], at: number, { functions }: ProbeRules): boolean {
  const name = tokens[at]?.text.toLowerCase() ?? '';
  const askers = Object.hasOwn(functions, name) ? functions[name]?.alternatives : undefined;
  const caller = tokens[openingBefore(tokens, at) - 1]?.text.toLowerCase() ?? '';
  return askers?.includes(caller) === true;
}

/** From CASE to END, and the arguments of guards. */
function guardedRanges(
  tokens: readonly SqlToken[],
  guards: readonly string[],
): readonly (readonly [from: number, to: number])[] {
  const ranges: (readonly [number, number])[] = [];
  const cases: number[] = [];
  for (const [index, { kind, text }] of tokens.entries()) {
    const word = kind === 'word' ? text.toLowerCase() : '';
    if (word === 'case') cases.push(index);
    if (word === 'end') ranges.push([cases.pop() ?? index, index]);
    const isGuard = guards.includes(word) && tokens[index + 1]?.text === '(';
    if (isGuard) ranges.push([index + 1, closingAfter(tokens, index + 1)]);
  }
  return ranges;
}

function textOf(sql: string, tokens: readonly SqlToken[]): string {
  return sql.slice(tokens[0]?.start ?? 0, tokens.at(-1)?.end ?? 0);
}
