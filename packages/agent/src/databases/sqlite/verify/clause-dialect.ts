import { numbered } from '../../clauses/parts.ts';
import { PLAIN_OPERATORS } from '../../clauses/page-condition.ts';
import type { ClauseDialect } from '../../clauses/tokens/check-assembled.ts';
import { changingFunctions } from '../engine/known-functions.ts';
import { lexicon } from './lexicon.ts';

/** How filters, orders and pages are written for SQLite. */
export const clauseDialect: ClauseDialect = {
  lexicon,
  weakOperators: [],
  changing: changingFunctions,
  quote: quoted,
  nullsFirst: ({ isDescending, nulls }) => (nulls === undefined ? !isDescending : nulls === 'first'),
  written: ({ isDescending, nulls }) =>
    (isDescending ? ' desc' : ' asc') + (nulls === undefined ? '' : ` nulls ${nulls}`),
  choosesNulls: true,
  hasOrderedIndexes: true,
  page: { ...PLAIN_OPERATORS, hasRowValues: true },
  number: (parts, before = () => '') => numbered(parts, (number, param) => `${before(param)}?${number}`),
};

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
