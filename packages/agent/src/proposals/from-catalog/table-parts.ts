import type {
  CatalogColumn,
  CatalogForeignKey,
  CatalogKey,
  CatalogTable,
} from '../../databases/driver/catalog.ts';
import { nameGiver, slugOf, wordsOf } from '../capability-names.ts';
import { fieldFor, isGiven } from './column-types.ts';
import { sensitivityOf } from '../personal-columns.ts';
import type { ColumnOf, LeftOut, ProposedField } from '../model.ts';

export interface TableParts {
  readonly table: CatalogTable;
  /** The name of the table in names of capabilities. */
  readonly slug: string;
  readonly columns: ReadonlyMap<string, CatalogColumn>;
  readonly hidden: readonly LeftOut[];
  readonly parents: readonly Parent[];
}

/** A table that the rows refer to, with the column that names its rows to people. */
interface Parent {
  readonly key: CatalogForeignKey;
  readonly table: CatalogTable;
  readonly name: CatalogColumn;
  /** The columns of the join, ours and the parent's. */
  readonly pairs: readonly (readonly [CatalogColumn, CatalogColumn])[];
  readonly field: string;
}

/** A query that reads all rows is proposed for tables with fewer. */
export const ROWS_MAX = 100_000;
/** Each further join makes planning a statement slower. */
const PARENTS_MAX = 5;
const FIELD_NAME = /^(?![0-9]+$|__proto__$)[^\p{Cc}]{1,63}$/u;
const NAMING = new Set(['name', 'title', 'label']);

export function tablePartsOf(
  table: CatalogTable,
  slug: string,
  hiddenIn: (table: CatalogTable) => readonly LeftOut[],
  find: (schema: string, name: string) => CatalogTable | undefined,
): TableParts {
  const visibleIn = (other: CatalogTable): readonly CatalogColumn[] => {
    const hidden = new Set(hiddenIn(other).map(({ name }) => name));
    return other.columns.filter(({ name }) => !hidden.has(name));
  };
  const columns = new Map(visibleIn(table).map((column) => [column.name, column]));
  const giveName = nameGiver(63, columns.keys());
  const parents = table.foreignKeys.flatMap((key): Parent[] => {
    const parent = find(key.schema, key.table);
    if (parent === undefined) return [];
    const theirs = visibleIn(parent);
    const name = namingColumn(parent, theirs);
    const pairs = key.columns.flatMap((own, at) => {
      const ours = columns.get(own);
      const other = theirs.find((column) => column.name === key.targetColumns[at]);
      return ours === undefined || other === undefined ? [] : [[ours, other] as const];
    });
    if (name === undefined || pairs.length !== key.columns.length) return [];
    // If the row refers to the parent by its name, it has the name already.
    if (key.targetColumns.includes(name.name)) return [];
    const field = joinedName(key, parent, name);
    // A joined name may be personal: the city of an address says more about a person than a city does.
    if (sensitivityOf({ table: table.name, name: field, kind: name.kind }) !== undefined) return [];
    return [{ key, table: parent, name, pairs, field }];
  });
  return {
    table,
    slug,
    columns,
    hidden: hiddenIn(table),
    parents: parents.slice(0, PARENTS_MAX).map((parent) => ({ ...parent, field: giveName(parent.field) })),
  };
}

/** The column that names a row to people. */
export function namingColumn(
  table: CatalogTable,
  columns: readonly CatalogColumn[],
): CatalogColumn | undefined {
  const own = new Set(wordsOf(table.name).flatMap((word) => [word, singular(word)]));
  const rank = ({ name }: CatalogColumn): number => {
    const words = wordsOf(name);
    const isNaming = NAMING.has(words.at(-1) ?? '');
    if (isNaming && words.slice(0, -1).every((word) => own.has(word))) return 0;
    if (words.length > 0 && words.every((word) => own.has(word))) return 1;
    return isNaming ? 2 : 3;
  };
  const [best] = columns
    .filter((column) => column.kind === 'text' && rank(column) < 3)
    .toSorted((a, b) => rank(a) - rank(b));
  return best;
}

function singular(word: string): string {
  if (word.endsWith('ies')) return `${word.slice(0, -3)}y`;
  return word.endsWith('s') ? word.slice(0, -1) : word;
}

function joinedName({ columns }: CatalogForeignKey, parent: CatalogTable, { name }: CatalogColumn): string {
  const [only = ''] = columns;
  const base =
    columns.length === 1 ? slugOf(only).replace(/_(?:id|no|nr|code|key|fk)$/, '') : slugOf(parent.name);
  const words = slugOf(name);
  return words === base || words.startsWith(`${base}_`) ? words : `${base}_${words}`;
}

export interface Selection {
  /** The list after SELECT. */
  readonly list: readonly string[];
  /** The same without new names. */
  readonly expressions: readonly string[];
  /** FROM and the joins. */
  readonly from: readonly string[];
  readonly fields: readonly ProposedField[];
  /** Those of columns of the table itself. */
  readonly fieldOf: ReadonlyMap<CatalogColumn, ProposedField>;
  readonly reads: readonly ColumnOf[];
}

/** All columns that may leave; the name of each parent follows the columns that refer to it. */
export function selectAll(parts: TableParts): Selection {
  return select(parts, [...parts.columns.values()]);
}

export function select(
  { table, columns: all, parents }: TableParts,
  columns: readonly CatalogColumn[],
): Selection {
  const list: string[] = [];
  const expressions: string[] = [];
  const fields: ProposedField[] = [];
  const fieldOf = new Map<CatalogColumn, ProposedField>();
  const reads: ColumnOf[] = columns.map((column) => ({ table, column }));
  const from = [`from ${table.sql} t`];
  const giveName = nameGiver(63, all.keys());
  const joined = parents.filter(({ pairs }) => pairs.every(([own]) => columns.includes(own)));
  for (const column of columns) {
    const isField = FIELD_NAME.test(column.name);
    const name = isField ? column.name : giveName(slugOf(column.name));
    const expression = `t.${column.sql}`;
    expressions.push(expression);
    list.push(isField ? expression : `${expression} as ${name}`);
    const field = fieldFor(name, column);
    fields.push(field);
    fieldOf.set(column, field);
    for (const parent of joined.filter(({ pairs }) => pairs.at(-1)?.[0] === column)) {
      const alias = `p${joined.indexOf(parent) + 1}`;
      const theirs = `${alias}.${parent.name.sql}`;
      expressions.push(theirs);
      list.push(`${theirs} as ${parent.field}`);
      const isNamed = slugOf(parent.field).startsWith(singular(slugOf(parent.table.name)));
      fields.push({
        name: parent.field,
        type: 'string',
        ...(isNamed ? {} : { description: `From ${parent.table.name}` }),
      });
    }
  }
  for (const [index, { table: other, name, pairs }] of joined.entries()) {
    const alias = `p${index + 1}`;
    const on = pairs.map(([ours, theirs]) => `${alias}.${theirs.sql} = t.${ours.sql}`).join(' and ');
    from.push(`left join ${other.sql} ${alias} on ${on}`);
    reads.push({ table: other, column: name }, ...pairs.map(([, column]) => ({ table: other, column })));
  }
  return { list, expressions, from, fields, fieldOf, reads };
}

/** The key to page by. */
export function pagingKey(parts: TableParts): readonly CatalogColumn[] | undefined {
  return pagingKeys(parts)[0];
}

/** Those of which no column is ever null, and callers can give all. */
export function pagingKeys(parts: TableParts): readonly (readonly CatalogColumn[])[] {
  return parts.table.keys
    .map((key) => keyColumns(parts, key))
    .filter((columns) => columns !== undefined)
    .filter((columns) => columns.every(({ nullable }) => !nullable));
}

/** Undefined if callers cannot give one of its columns, or may not see it. */
export function keyColumns({ columns }: TableParts, key: CatalogKey): readonly CatalogColumn[] | undefined {
  const own = key.columns.flatMap((name) => columns.get(name) ?? []);
  return own.length === key.columns.length && own.every(isGiven) ? own : undefined;
}
