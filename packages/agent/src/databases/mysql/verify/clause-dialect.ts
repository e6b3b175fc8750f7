import { PLAIN_OPERATORS } from '../../clauses/page-condition.ts';
import type { ClauseDialect } from '../../clauses/tokens/check-assembled.ts';
import { placeholders } from '../dialect/placeholders.ts';
import { quoted } from '../dialect/quoted.ts';
import { changingFunctions } from './known-functions.ts';
import { lexicon } from './lexicon.ts';

/** How filters, orders and pages are written for MariaDB and MySQL. */
export const clauseDialect: ClauseDialect = {
  lexicon,
  weakOperators: ['||'],
  changing: changingFunctions,
  quote: quoted,
  nullsFirst: ({ isDescending }) => !isDescending,
  written: ({ isDescending }) => (isDescending ? ' desc' : ' asc'),
  choosesNulls: false,
  hasOrderedIndexes: true,
  page: { ...PLAIN_OPERATORS, hasRowValues: false },
  number: placeholders,
};
