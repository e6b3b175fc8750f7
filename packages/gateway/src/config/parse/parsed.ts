import type { Problem } from '@svc/identity';

/** The result of reading one setting: its value, or everything that is wrong with it. */
export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: readonly string[] };

export function good<T>(value: T): Parsed<T> {
  return { ok: true, value };
}

/** Each problem says what is wrong and what is accepted; never a secret. */
export function bad(...problems: readonly string[]): Parsed<never> {
  return { ok: false, problems };
}

/** A user's own text inside a message: on one line, and shortened. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}...` : text);
}

/** The non-empty items of a comma-separated setting, trimmed. */
export function listItems(text: string): readonly string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

/** Reads every item of a comma-separated setting; the problems of all items, each with its position. */
export function parseList<T>(text: string, parseItem: (item: string) => Parsed<T>): Parsed<readonly T[]> {
  const items = listItems(text);
  const values: T[] = [];
  const problems: string[] = [];
  for (const [index, item] of items.entries()) {
    const parsed = parseItem(item);
    if (parsed.ok) values.push(parsed.value);
    else problems.push(...parsed.problems.map((problem) => at(index, items.length, problem)));
  }
  return problems.length > 0 ? bad(...problems) : good(values);
}

/** Refuses a list of nothing but commas, which must not count as an empty list. */
export function atLeastOne<T>(list: Parsed<readonly T[]>, accepted: string): Parsed<readonly T[]> {
  return list.ok && list.value.length === 0 ? bad(`is an empty list; accepted: ${accepted}`) : list;
}

function at(index: number, count: number, problem: string): string {
  return count === 1 ? problem : `entry ${index + 1}: ${problem}`;
}

/** A problem after the path of its field, like `grants[0].scope is missing`. */
export function problemText({ path, message }: Problem): string {
  const field = path
    .map((step, at) => {
      if (typeof step === 'number') return `[${step}]`;
      return at === 0 ? step : `.${step}`;
    })
    .join('');
  return field === '' ? message : `${field} ${message}`;
}
