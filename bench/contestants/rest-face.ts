import { QUERIES } from './books.ts';
import type { Face } from './contestant.ts';

/** A POST of the parameter as JSON to a path made from the query's name. */
export function restFace(
  path: (name: string) => string,
  headers: Readonly<Record<string, string>>,
  rows: Face['rows'],
): Face {
  return {
    kind: 'rest',
    title: 'REST',
    path: (query) => path(QUERIES[query].name),
    headers: () => ({ ...headers, 'content-type': 'application/json' }),
    body: (query, value) => JSON.stringify({ [QUERIES[query].parameter]: value }),
    rows,
  };
}
