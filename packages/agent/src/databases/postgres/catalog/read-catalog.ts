import type {
  Catalog,
  CatalogColumn,
  CatalogForeignKey,
  CatalogIndex,
  CatalogKey,
  CatalogTable,
} from '../../driver/catalog.ts';
import { runOwnStatements } from '../execute/own-statements.ts';
import type { SessionPool } from '../pool/session-pool.ts';
import { CATALOG_STATEMENTS, PART_NAMES } from './statements.ts';
import {
  type BaseType,
  checkedJsonKind,
  checkedValues,
  kindOfColumn,
  maxLengthOf,
  WITHOUT_CURSOR,
} from './column-kind.ts';

interface TableRow {
  readonly id: number;
  readonly schema: string;
  readonly name: string;
  readonly sql: string;
  readonly kind: string;
  readonly row_security: boolean;
  readonly comment: string | null;
  readonly rows: number | null;
}

interface ColumnRow extends BaseType {
  readonly id: number;
  readonly number: number;
  readonly name: string;
  readonly sql: string;
  readonly type: string;
  readonly not_null: boolean;
  readonly comment: string | null;
  readonly labels: readonly string[] | null;
  readonly checks: readonly string[] | null;
}

interface ConstraintRow {
  readonly id: number;
  readonly kind: string;
  readonly columns: readonly number[] | null;
  readonly target: number;
  readonly target_columns: readonly number[] | null;
  readonly definition: string | null;
}

interface IndexRow {
  readonly id: number;
  readonly primary: boolean;
  readonly unique: boolean;
  readonly partial: boolean;
  readonly method: string;
  readonly columns: readonly number[];
  readonly classes: readonly string[];
}

interface Parts {
  readonly tables: readonly TableRow[];
  readonly unreadable: readonly { readonly id: number; readonly reason: string }[];
  readonly columns: readonly ColumnRow[];
  readonly constraints: readonly ConstraintRow[];
  readonly indexes: readonly IndexRow[];
  readonly distinct: readonly {
    readonly schema: string;
    readonly table: string;
    readonly column: string;
    readonly distinct: number;
  }[];
  readonly labels: readonly { readonly id: number; readonly number: number; readonly label: string }[];
  readonly database: readonly {
    readonly name: string;
    readonly accounts: readonly string[];
  }[];
}

/** Index methods that find a value, and not only what contains it. */
const FINDING = new Set(['btree', 'hash']);
/** `relkind` of pg_class. */
const KINDS: Readonly<Record<string, CatalogTable['kind']>> = {
  v: 'view',
  m: 'materialized view',
  f: 'foreign table',
};

/** Throws `DatabaseError`. */
export async function readCatalog(pool: SessionPool, timeoutMs: number): Promise<Catalog> {
  const { results } = await runOwnStatements(pool, { statements: CATALOG_STATEMENTS, timeoutMs });
  const texts = results.slice(1).map(({ rows }) => rows[0]?.[0] ?? '[]');
  const parts: Parts = JSON.parse(
    `{${PART_NAMES.map((name, index) => `"${name}": ${texts[index] ?? '[]'}`).join(', ')}}`,
  );
  const [database] = parts.database;
  if (database === undefined) throw new Error('cannot read the catalogs: the server does not say its name');
  return {
    name: database.name,
    accounts: new Set(database.accounts),
    tables: tablesOf(parts),
  };
}

function tablesOf(parts: Parts): readonly CatalogTable[] {
  const columns = byTable(parts.columns);
  const constraints = byTable(parts.constraints);
  const indexes = byTable(parts.indexes);
  const byId = new Map(parts.tables.map((table) => [table.id, table]));
  const namesOf = new Map(
    [...columns].map(([id, rows]) => [id, new Map(rows.map(({ number, name }) => [number, name]))]),
  );
  const distinct = new Map(
    parts.distinct.map((row) => [keyOf(row.schema, row.table, row.column), row.distinct]),
  );
  const reasons = new Map(parts.unreadable.map(({ id, reason }) => [id, reason]));
  const labels = new Map(parts.labels.map(({ id, number, label }) => [`${id}.${number}`, label]));
  const labelOf = (id: number, column: number): string | undefined => {
    const both = [labels.get(`${id}.${column}`), labels.get(`${id}.0`)].filter(
      (label) => label !== undefined,
    );
    return both.length === 0 ? undefined : both.join(' ');
  };

  return parts.tables.map((table): CatalogTable => {
    const own = constraints.get(table.id) ?? [];
    const unreadable = reasons.get(table.id);
    const names = (id: number, numbers: readonly number[] | null): readonly string[] =>
      (numbers ?? []).flatMap((number) => namesOf.get(id)?.get(number) ?? []);
    const foreignKeys = own.flatMap(
      ({ kind, columns: numbers, target, target_columns }): CatalogForeignKey[] => {
        const to = byId.get(target);
        if (kind !== 'f' || to === undefined) return [];
        const [columns, targetColumns] = [names(table.id, numbers), names(target, target_columns)];
        return [{ columns, schema: to.schema, table: to.name, targetColumns }];
      },
    );
    const ownIndexes = indexes.get(table.id) ?? [];
    const checks = own.filter(({ kind, columns: numbers }) => kind === 'c' && numbers?.length === 1);
    return {
      schema: table.schema,
      name: table.name,
      sql: table.sql,
      kind: KINDS[table.kind] ?? 'table',
      ...(unreadable === undefined ? {} : { unreadable }),
      ...(table.comment === null ? {} : { comment: table.comment }),
      ...(table.rows === null ? {} : { rows: Math.round(table.rows) }),
      rowSecurity: table.row_security,
      columns: (columns.get(table.id) ?? []).map((column) => {
        const definitions = checks.flatMap(({ columns: numbers, definition }) =>
          numbers?.[0] === column.number && definition !== null ? [definition] : [],
        );
        const values = distinct.get(keyOf(table.schema, table.name, column.name));
        const label = labelOf(table.id, column.number);
        return columnOf(column, [...definitions, ...(column.checks ?? [])], values, label);
      }),
      keys: ownIndexes.flatMap((index) => keysOf(index, names(table.id, index.columns))),
      foreignKeys,
      indexes: ownIndexes.flatMap((index) => indexOf(index, (number) => namesOf.get(table.id)?.get(number))),
    };
  });
}

function byTable<Row extends { readonly id: number }>(
  rows: readonly Row[],
): ReadonlyMap<number, readonly Row[]> {
  const groups = new Map<number, Row[]>();
  for (const row of rows) {
    const group = groups.get(row.id);
    if (group === undefined) groups.set(row.id, [row]);
    else group.push(row);
  }
  return groups;
}

function keyOf(...names: readonly string[]): string {
  return JSON.stringify(names);
}

function columnOf(
  row: ColumnRow,
  definitions: readonly string[],
  distinct: number | undefined,
  securityLabel: string | undefined,
): CatalogColumn {
  const byType = kindOfColumn(row);
  const kind = byType === 'json' ? (definitions.map(checkedJsonKind).find(Boolean) ?? byType) : byType;
  const maxLength = maxLengthOf(row);
  const labels = row.labels ?? (kind === 'text' ? definitions.map(checkedValues).find(Boolean) : undefined);
  return {
    name: row.name,
    sql: row.sql,
    type: row.type,
    kind,
    ...(kind === 'enum' ? { typeSchema: row.base_schema } : {}),
    ...(labels === undefined ? {} : { labels }),
    ...(maxLength === undefined ? {} : { maxLength }),
    nullable: !row.not_null,
    // NaN, even if a domain hides the type.
    ...(row.base === 'numeric' ? { holdsMore: true } : {}),
    ...(WITHOUT_CURSOR.has(row.base) ? { hasNoCursor: true } : {}),
    ...(row.comment === null ? {} : { comment: row.comment }),
    ...(securityLabel === undefined ? {} : { securityLabel }),
    ...(distinct === undefined ? {} : { distinct }),
  };
}

/** An index over expressions, which have the number 0, or over a part of the rows gives no key. */
function keysOf(index: IndexRow, columns: readonly string[]): readonly CatalogKey[] {
  const isWhole = index.unique && !index.partial && columns.length === index.columns.length;
  return isWhole ? [{ columns, primary: index.primary }] : [];
}

function indexOf(
  { partial, method, columns, classes }: IndexRow,
  nameOf: (number: number) => string | undefined,
): readonly CatalogIndex[] {
  if (partial) return [];
  const leading = FINDING.has(method) ? nameOf(columns[0] ?? 0) : undefined;
  const partsOf = columns.flatMap((number, at) =>
    classes[at]?.endsWith('_trgm_ops') === true ? (nameOf(number) ?? []) : [],
  );
  return [{ ...(leading === undefined ? {} : { leading }), partsOf }];
}
