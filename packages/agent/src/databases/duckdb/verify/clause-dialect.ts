import { numbered } from '../../clauses/parts.ts';
import { PLAIN_OPERATORS } from '../../clauses/page-condition.ts';
import type { ClauseDialect } from '../../clauses/tokens/check-assembled.ts';
import type { KeptColumn, UnkeptColumn } from '../../clauses/tokens/page-orders.ts';
import { changingFunctions } from '../engine/known-functions.ts';
import { lexicon } from '../engine/lexicon.ts';
import type { DuckdbColumn } from '../engine/questions.ts';

/** How filters, orders and pages are written for DuckDB. */
export const clauseDialect: ClauseDialect = {
  lexicon,
  // An arrow takes all before it for its document.
  weakOperators: ['->'],
  changing: changingFunctions,
  quote: quoted,
  nullsFirst: ({ nulls }) => nulls === 'first',
  // A setting of the database could have another default.
  written: ({ isDescending, nulls = 'last' }) => `${isDescending ? ' desc' : ' asc'} nulls ${nulls}`,
  choosesNulls: true,
  hasOrderedIndexes: false,
  page: { ...PLAIN_OPERATORS, hasRowValues: false },
  number: (parts, before = () => '') => numbered(parts, (number, param) => `${before(param)}$${number}`),
};

/** Types whose values a text keeps and whose comparison is their order. An ENUM is compared with others by its text. */
const KEPT =
  /^(?:U?(?:TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)|DECIMAL\(\d+,\d+\)|FLOAT|DOUBLE|VARCHAR|BOOLEAN|DATE|TIME|TIMESTAMP(?:_S|_MS|_NS)?|TIMESTAMP WITH TIME ZONE|INTERVAL|UUID)$/;

export function keptColumn(columns: readonly DuckdbColumn[], field: string): KeptColumn | UnkeptColumn {
  const type = columns.find(({ name }) => name === field)?.type ?? '';
  if (!KEPT.test(type)) return { castTo: 'varchar' };
  return { type, value: (param) => ['CAST(', param, ` AS ${type})`] };
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
