import type { CatalogColumn } from '../../databases/driver/catalog.ts';
import { nameGiver, slugOf, wordsOf } from '../capability-names.ts';
import type { ProposedOrder } from '../model.ts';
import { isGiven } from './column-types.ts';
import { namingColumn, ROWS_MAX, type Selection, type TableParts } from './table-parts.ts';

const SORTED_MAX = 4;
const NAME_MAX = 32;
/** Whole numbers with these words are amounts, too. */
const AMOUNTS = new Set(['amount', 'balance', 'cost', 'fee', 'price', 'quantity', 'sum', 'total']);

/** By the key, which is the default, and by the columns that people sort by. */
export function ordersFor(
  parts: TableParts,
  key: readonly CatalogColumn[],
  { fieldOf }: Selection,
): readonly ProposedOrder[] {
  const giveName = nameGiver(NAME_MAX);
  const termOf = (column: CatalogColumn): string => written(fieldOf.get(column)?.name ?? column.name);
  const byKey = {
    name: giveName(key.map(({ name }) => slugOf(name)).join('_and_')),
    terms: key.map(termOf).join(', '),
  };
  const others = sortedColumns(parts, key).flatMap((column): readonly ProposedOrder[] => {
    const name = giveName(slugOf(column.name));
    const terms = termOf(column);
    if (!isDate(column) && !isAmount(column)) return [{ name, terms }];
    return [
      { name, terms },
      { name: giveName(`${slugOf(column.name)}_desc`), terms: `${terms} desc` },
    ];
  });
  return [byKey, ...others];
}

/** Whether a cursor keeps its values. */
export function isKept(column: CatalogColumn): boolean {
  return isGiven(column) && column.hasNoCursor !== true;
}

/** Dates first, then amounts and the name of a row. An index gives the order, or the rows are few enough to sort. */
function sortedColumns(
  { table, columns }: TableParts,
  key: readonly CatalogColumn[],
): readonly CatalogColumn[] {
  const indexed = new Set(table.indexes.map(({ leading }) => leading));
  const isSmall = table.rows !== undefined && table.rows < ROWS_MAX;
  const references = new Set(table.foreignKeys.flatMap(({ columns: own }) => own));
  const naming = namingColumn(table, [...columns.values()]);
  const rank = (column: CatalogColumn): number => {
    if (isDate(column)) return 0;
    if (isAmount(column)) return 1;
    return column === naming ? 2 : 3;
  };
  // Rows are found by a reference or by one of a few values, but not sorted by it; nor by a long text.
  const isSorted = (column: CatalogColumn): boolean =>
    isKept(column) &&
    column.labels === undefined &&
    !['boolean', 'enum', 'uuid'].includes(column.kind) &&
    !references.has(column.name) &&
    !(key.length === 1 && key[0] === column) &&
    (indexed.has(column.name) || (isSmall && (column.kind !== 'text' || rank(column) < 3)));
  return [...columns.values()]
    .filter(isSorted)
    .toSorted((a, b) => rank(a) - rank(b))
    .slice(0, SORTED_MAX);
}

/** SQLite has dates as texts. */
function isDate({ kind, type }: CatalogColumn): boolean {
  return kind === 'date' || kind === 'datetime' || (kind === 'text' && /^(?:date|time)/i.test(type));
}

function isAmount({ kind, name }: CatalogColumn): boolean {
  return kind === 'number' || (kind === 'integer' && wordsOf(name).some((word) => AMOUNTS.has(word)));
}

/** A field as `sort` names it. */
function written(field: string): string {
  return /^[a-z_][a-z0-9_]*$/i.test(field) ? field : `"${field.replaceAll('"', '""')}"`;
}
