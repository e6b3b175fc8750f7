import type { Param } from '../../../../capabilities/model.ts';
import { scan, type Token } from './scan.ts';
import { castParameter, fingerprint, inside, isNode, listIn, namesIn, type TreeNode } from './tree.ts';

/**
 * The SQL with `= any (:ids)` for `in (:ids)`, and `<> all (:ids)` for `not in (:ids)`, if `ids` is an array: to
 * PostgreSQL each value in the parentheses of IN is one. Undefined without any. `isSameMeaning` proves the outcome.
 */
export function rewriteLists(sql: string, params: readonly Param[]): string | undefined {
  const arrays = new Set(params.flatMap(({ name, schema }) => (schema.type === 'array' ? [name] : [])));
  if (arrays.size === 0) return undefined;
  const tokens = scan(sql).filter(({ kind }) => kind !== 'comment');
  const words = tokens.flatMap((token, index) =>
    token.text === ':' && arrays.has(tokens[index + 1]?.text ?? '') ? wordsBefore(tokens, index) : [],
  );
  if (words.length === 0) return undefined;
  const source = Buffer.from(sql, 'utf8');
  const pieces: Buffer[] = [];
  let at = 0;
  for (const { start, end, text } of words) {
    pieces.push(source.subarray(at, start), Buffer.from(text));
    at = end;
  }
  return Buffer.concat([...pieces, source.subarray(at)]).toString('utf8');
}

/** The words for IN, or for NOT and IN, before a parameter that is alone in their parentheses. */
function wordsBefore(
  tokens: readonly Token[],
  colon: number,
): readonly Pick<Token, 'start' | 'end' | 'text'>[] {
  let [first, last] = [colon - 1, colon + 2];
  if (tokens[first]?.text !== '(' || tokens[last]?.text !== ')') return [];
  while (tokens[first - 1]?.text === '(' && tokens[last + 1]?.text === ')') {
    first -= 1;
    last += 1;
  }
  const [word, before] = [tokens[first - 1], tokens[first - 2]];
  if (!isKeyword(word, 'in')) return [];
  if (!isKeyword(before, 'not')) return [{ ...word, text: '= any' }];
  return [
    { ...before, text: '<>' },
    { ...word, text: 'all' },
  ];
}

function isKeyword(token: Token | undefined, word: string): token is Token {
  return token?.kind === 'name' && token.text.toLowerCase() === word;
}

/** Whether the rewritten statement is the original with its lists read as lists, and nothing else. */
export function isSameMeaning(original: TreeNode, rewritten: TreeNode, params: readonly Param[]): boolean {
  return fingerprint(withLists(original, params)) === fingerprint(rewritten);
}

/** Whether several values in parentheses are compared with a list. */
export function comparesRow(tree: TreeNode, params: readonly Param[]): boolean {
  let found = false;
  mapIn(tree, (comparison) => {
    const isRow =
      listOf(comparison, params) !== undefined && inside(comparison, 'lexpr', 'RowExpr') !== undefined;
    if (isRow) found = true;
    return comparison;
  });
  return found;
}

function withLists(tree: unknown, params: readonly Param[]): unknown {
  return mapIn(tree, (comparison) => {
    const list = listOf(comparison, params);
    if (list === undefined) return comparison;
    const kind = namesIn(comparison['name'])[0] === '=' ? 'AEXPR_OP_ANY' : 'AEXPR_OP_ALL';
    return { ...comparison, kind, rexpr: list };
  });
}

/** Replaces each IN by what `map` returns. */
function mapIn(value: unknown, map: (comparison: TreeNode) => TreeNode): unknown {
  if (Array.isArray(value)) return value.map((item: unknown) => mapIn(item, map));
  if (!isNode(value)) return value;
  const own = value['kind'] === 'AEXPR_IN' ? map(value) : value;
  return Object.fromEntries(Object.entries(own).map(([key, child]) => [key, mapIn(child, map)]));
}

function listOf(comparison: TreeNode, params: readonly Param[]): TreeNode | undefined {
  const [item, ...others] = listIn(inside(comparison, 'rexpr', 'List')?.['items']);
  const number = castParameter(item);
  const isArray = number !== undefined && params[number - 1]?.schema.type === 'array';
  return others.length === 0 && isArray ? item : undefined;
}
