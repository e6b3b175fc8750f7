import { textOf } from '../../connection/server-errors.ts';

/**
 * What a fault says when SQL nests deeper than the stack of the parser, of WebAssembly or of this process; undefined for
 * any other error. Nothing is undone by such an error: what reads SQL only reads.
 */
export function tooDeep(error: unknown): { readonly message: string; readonly detail: string } | undefined {
  const detail = textOf(error);
  if (!(error instanceof RangeError) && !detail.startsWith('memory exhausted')) return undefined;
  const message =
    'nests too deep to be checked: put fewer subselects, calls, parentheses or operators inside each other; WITH, a join or = any (array[...]) often does without';
  return { message, detail };
}
