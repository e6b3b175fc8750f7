import { basename, extname } from 'node:path';
import type { Catalog, CatalogColumn, CatalogKey, CatalogTable, ColumnKind } from '../../driver/catalog.ts';
import { askRows, withSession, type EnginePool } from '../../engine-process/engine-database.ts';
import { writtenName } from '../../sql/one-select.ts';
import { grouped } from '../../sql/grouped.ts';
import { vocabulary } from '../dialect/vocabulary.ts';

/** Virtual tables, and the tables that belong to them, are left out: queries may not read them. */
const TABLES = `select name, type from pragma_table_list
  where schema = 'main' and type in ('table', 'view') and name not like 'sqlite\\_%' escape '\\' order by name`;
const COLUMNS = `select l.name as tab, x.name, x.type, x."notnull" as not_null, x.pk
  from pragma_table_list l, pragma_table_xinfo(l.name) x
  where l.schema = 'main' and l.type in ('table', 'view') and x.hidden <> 1 order by l.name, x.cid`;
const INDEXES = `select l.name as tab, i.name, i."unique" as is_unique, i.partial, i.origin, c.seqno, c.name as col
  from pragma_table_list l, pragma_index_list(l.name) i, pragma_index_info(i.name) c
  where l.schema = 'main' and l.type = 'table' order by l.name, i.seq, c.seqno`;
const FOREIGN_KEYS = `select l.name as tab, f.id, f."table" as target, f."from" as col, f."to" as target_col
  from pragma_table_list l, pragma_foreign_key_list(l.name) f
  where l.schema = 'main' and l.type = 'table' order by l.name, f.id, f.seq`;
/** The counts of ANALYZE, if it has been run. */
const HAS_COUNTS = `select 1 as a from sqlite_schema where name = 'sqlite_stat1'`;
const COUNTS = `select tbl as tab, max(cast(stat as integer)) as count from sqlite_stat1 group by tbl`;

type Row = Readonly<Record<string, unknown>>;

/** Reads the schema and SQLite's own counts, but no row of any other table. Throws `DatabaseError`. */
export async function readCatalog(pool: EnginePool, file: string): Promise<Catalog> {
  return withSession(pool, async (session) => {
    const ask = (sql: string): Promise<readonly Row[]> => askRows(session, sql);
    const tables = await ask(TABLES);
    const columns = grouped(await ask(COLUMNS), tableOf);
    const indexes = grouped(await ask(INDEXES), tableOf);
    const foreignKeys = grouped(await ask(FOREIGN_KEYS), tableOf);
    const counts = (await ask(HAS_COUNTS)).length > 0 ? await ask(COUNTS) : [];
    const rows = new Map(counts.map((row) => [text(row, 'tab'), Number(row['count'])]));
    return {
      name: basename(file, extname(file)),
      accounts: new Set<string>(),
      tables: tables.map((table): CatalogTable => {
        const name = text(table, 'name');
        const own = columns.get(name) ?? [];
        const parts = [...grouped(indexes.get(name) ?? [], (row) => text(row, 'name')).values()];
        const count = rows.get(name);
        return {
          schema: 'main',
          name,
          sql: writtenName(name, vocabulary, quoted),
          kind: text(table, 'type') === 'view' ? 'view' : 'table',
          ...(count === undefined ? {} : { rows: count }),
          rowSecurity: false,
          columns: own.map(columnOf),
          keys: [...primaryKey(own), ...parts.flatMap(keyOf)],
          foreignKeys: [...grouped(foreignKeys.get(name) ?? [], (row) => text(row, 'id')).values()].map(
            (each) => ({
              columns: each.map((row) => text(row, 'col')),
              schema: 'main',
              table: text(each[0] ?? {}, 'target'),
              targetColumns: each.map((row) => text(row, 'target_col')),
            }),
          ),
          indexes: [
            ...primaryKey(own).map(({ columns: [leading = ''] }) => ({ leading, partsOf: [] })),
            ...parts.map(([first]) => ({
              ...(typeof first?.['col'] === 'string' && first['partial'] === 0
                ? { leading: first['col'] }
                : {}),
              partsOf: [],
            })),
          ],
        };
      }),
    };
  });
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function text(row: Row, name: string): string {
  return String(row[name]);
}

function tableOf(row: Row): string {
  return text(row, 'tab');
}

function columnOf(row: Row): CatalogColumn {
  const name = text(row, 'name');
  const type = text(row, 'type');
  const [, length] = /^\w*CHAR\w*\s*\((\d+)\)/i.exec(type) ?? [];
  const isRowId = Number(row['pk']) === 1 && /^integer$/i.test(type);
  return {
    name,
    sql: writtenName(name, vocabulary, quoted),
    type: type === '' ? 'no type' : type,
    kind: kindOf(type),
    ...(length === undefined ? {} : { maxLength: Number(length) }),
    nullable: Number(row['not_null']) === 0 && !isRowId,
  };
}

/** SQLite's own rules for the affinity of a column, except that dates and times are texts. */
function kindOf(type: string): ColumnKind {
  if (/INT/i.test(type)) return 'integer';
  if (/CHAR|CLOB|TEXT|DATE|TIME|UUID|JSON/i.test(type)) return 'text';
  if (/BLOB/i.test(type)) return 'opaque';
  if (/BOOL/i.test(type)) return 'boolean';
  return /REAL|FLOA|DOUB|NUM|DEC/i.test(type) ? 'number' : 'other';
}

function primaryKey(columns: readonly Row[]): readonly CatalogKey[] {
  const parts = columns
    .filter(({ pk }) => Number(pk) > 0)
    .toSorted((a, b) => Number(a['pk']) - Number(b['pk']));
  return parts.length === 0 ? [] : [{ columns: parts.map((row) => text(row, 'name')), primary: true }];
}

/** Empty for an index over expressions, which have no name, or over a part of the rows. */
function keyOf(parts: readonly Row[]): readonly CatalogKey[] {
  const [first] = parts;
  const isWhole =
    first?.['is_unique'] === 1 && first['partial'] === 0 && parts.every(({ col }) => col !== null);
  // `primaryKey` gives that of the primary key.
  if (!isWhole || first['origin'] === 'pk') return [];
  return [{ columns: parts.map((row) => text(row, 'col')), primary: false }];
}
