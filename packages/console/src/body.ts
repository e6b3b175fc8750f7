import type { Param } from './openapi.ts';

/** What is sent for a parameter. Absent and null are different. */
export type Sent = { readonly kind: 'absent' | 'null' } | { readonly kind: 'value'; readonly text: string };

export type Inputs = Readonly<Record<string, Sent>>;

/** What an answer that was cut says in `next`: the parameters with which the same call goes on. */
export type Next = Readonly<Record<string, unknown>>;

export function initialInputs(params: readonly Param[], example: Readonly<Record<string, unknown>>): Inputs {
  return Object.fromEntries(
    params.map(({ name, isRequired }): [string, Sent] => {
      const value = example[name];
      if (value === null) return [name, { kind: 'null' }];
      if (value !== undefined) {
        return [name, { kind: 'value', text: typeof value === 'string' ? value : JSON.stringify(value) }];
      }
      return [name, isRequired ? { kind: 'value', text: '' } : { kind: 'absent' }];
    }),
  );
}

/**
 * The body of a call as JSON; `next` goes before the inputs. Numbers stay as they are written: JavaScript would round long
 * ones.
 */
export function bodyOf(params: readonly Param[], inputs: Inputs, next: Next = {}): string {
  const fields = params.flatMap(({ name, type }) => {
    const sent = inputs[name];
    if (sent === undefined || sent.kind === 'absent' || Object.hasOwn(next, name)) return [];
    const value = sent.kind === 'value' ? jsonOf(type, sent.text) : 'null';
    return [`${JSON.stringify(name)}:${value}`];
  });
  const more = Object.entries(next).map(
    ([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`,
  );
  return `{${[...fields, ...more].join(',')}}`;
}

/** Invalid JSON is sent as text, so that the answer says what is wrong with it. */
function jsonOf(type: string, text: string): string {
  if (type === 'string') return JSON.stringify(text);
  try {
    JSON.parse(text);
    return text;
  } catch {
    return JSON.stringify(text);
  }
}
