import type { ClauseDialect } from '../../clauses/tokens/check-assembled.ts';
import { quoted } from '../dialect/quoted.ts';
import { lexicon } from './lexicon.ts';

/** How filters, orders and pages are written for MariaDB and MySQL. */
export const clauseDialect: ClauseDialect = {
  lexicon,
  weakOperators: ['||'],
  quote: quoted,
  nullsFirst: ({ isDescending }) => !isDescending,
  written: ({ isDescending }) => (isDescending ? ' desc' : ' asc'),
  choosesNulls: false,
  page: { below: '<', above: '>', atMost: '<=', atLeast: '>=', equals: '=', hasRowValues: false, row: '' },
  number(parts, before = () => '') {
    const params: number[] = [];
    let text = '';
    for (const part of parts) {
      if (typeof part === 'string') text += part;
      else {
        // The placeholder stands in the text after it, since a list has another than a single value.
        text += before(part);
        params.push(part);
      }
    }
    return { text, params };
  },
};
