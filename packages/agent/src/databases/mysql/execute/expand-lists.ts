import type { PlacedParam, PreparedQuery } from './prepared-query.ts';

/** Marks the place of a list's items. No SQL has this character. */
export const LIST = '\0';
/** The most items of a list after IN: MariaDB puts more into a table, which it joins without an index. */
export const MOST_ITEMS = 1000;
/** `x in ()` is not SQL. */
const NO_ITEMS = 'select null from dual where false';

export interface ExpandedQuery {
  readonly text: string;
  readonly params: readonly PlacedParam[];
  readonly values: readonly unknown[];
}

/** Writes a placeholder for each item of a list. `values` are those of the query's parameters. */
export function expandLists(
  { text, params }: Pick<PreparedQuery, 'text' | 'params'>,
  values: readonly unknown[],
): ExpandedQuery {
  if (!params.some(({ isList }) => isList)) return { text, params, values };
  const pieces = text.split(LIST).values();
  const expanded: (readonly [param: PlacedParam, value: unknown])[] = [];
  let whole = pieces.next().value ?? '';
  for (const [index, param] of params.entries()) {
    const value = values[index];
    if (param.isList !== true) {
      expanded.push([param, value]);
      continue;
    }
    const items = padded(Array.isArray(value) ? value : [null]);
    const list = items.length === 0 ? NO_ITEMS : items.map(() => '?').join(', ');
    whole += list + (pieces.next().value ?? '');
    const schema = param.schema.items ?? { type: 'string' };
    expanded.push(...items.map((item) => [{ ...param, schema }, item] as const));
  }
  return {
    text: whole,
    params: expanded.map(([param]) => param),
    values: expanded.map(([, value]) => value),
  };
}

/**
 * Repeats the last item up to the next power of two, so that the server prepares few statements for lists of all
 * lengths.
 */
function padded(items: readonly unknown[]): readonly unknown[] {
  if (items.length === 0) return [];
  const length = Math.max(items.length, Math.min(MOST_ITEMS, 2 ** Math.ceil(Math.log2(items.length))));
  return [...items, ...Array.from({ length: length - items.length }, () => items.at(-1))];
}
