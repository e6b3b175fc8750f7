import type { RowDataPacket } from 'mysql2';
import type {
  Catalog,
  CatalogColumn,
  CatalogForeignKey,
  CatalogIndex,
  CatalogKey,
  CatalogTable,
} from '../../driver/catalog.ts';
import type { Pool } from '../../sessions/pool.ts';
import { askDatabase } from '../connection/with-session.ts';
import type { MysqlSession } from '../connection/session.ts';
import { quoted } from '../dialect/quoted.ts';
import { writtenName } from '../../sql/one-select.ts';
import { grouped } from '../../sql/grouped.ts';
import { vocabulary } from '../dialect/vocabulary.ts';
import { kindOfColumn, labelsOf, WITHOUT_CURSOR } from './column-kind.ts';

const TABLES = `select table_name as name, table_type as kind, table_rows as rows_, table_comment as comment
  from information_schema.tables
  where table_schema = database() and table_type in ('BASE TABLE', 'SYSTEM VERSIONED', 'VIEW') order by table_name`;

const COLUMNS = `select table_name as tab, column_name as name, data_type as data_type, column_type as column_type,
    is_nullable as nullable, column_comment as comment, character_maximum_length as length, numeric_scale as scale
  from information_schema.columns where table_schema = database() order by table_name, ordinal_position`;

const INDEXES = `select table_name as tab, index_name as name, non_unique as non_unique, column_name as col,
    sub_part as part, index_type as type, cardinality as cardinality
  from information_schema.statistics where table_schema = database()
  order by table_name, index_name <> 'PRIMARY', index_name, seq_in_index`;

const FOREIGN_KEYS = `select table_name as tab, constraint_name as name, column_name as col,
    referenced_table_schema as target_schema, referenced_table_name as target, referenced_column_name as target_col
  from information_schema.key_column_usage where table_schema = database() and referenced_table_name is not null
  order by table_name, constraint_name, ordinal_position`;

/** Only an administrator sees them all. Otherwise creating the account tells that it exists. */
const ACCOUNTS = 'select distinct user as name from mysql.user';

type Rows = readonly RowDataPacket[];

export async function readCatalog(
  pool: Pool<MysqlSession>,
  name: string,
  timeoutMs: number,
): Promise<Catalog> {
  return askDatabase(pool, async (session) => {
    await session.limitTime(timeoutMs);
    const tables = await session.ask(TABLES);
    const columns = grouped(await session.ask(COLUMNS), tableOf);
    const indexes = grouped(await session.ask(INDEXES), tableOf);
    const foreignKeys = grouped(await session.ask(FOREIGN_KEYS), tableOf);
    const accounts: Rows = await session.ask(ACCOUNTS).catch(() => []);
    return {
      name,
      accounts: new Set(accounts.map((row) => textOf(row, 'name'))),
      tables: tables.map((table): CatalogTable => {
        const title = textOf(table, 'name');
        const own = [...grouped(indexes.get(title) ?? [], nameOf).values()];
        return {
          schema: name,
          name: title,
          sql: writtenName(title, vocabulary, quoted),
          kind: textOf(table, 'kind') === 'VIEW' ? 'view' : 'table',
          ...commentOf(table),
          ...(table['rows_'] === null ? {} : { rows: Number(table['rows_']) }),
          rowSecurity: false,
          columns: (columns.get(title) ?? []).map((column) => columnOf(column, own)),
          keys: own.flatMap(keyOf),
          foreignKeys: foreignKeysOf(foreignKeys.get(title) ?? [], name),
          indexes: own.flatMap(indexOf),
        };
      }),
    };
  });
}

function textOf(row: RowDataPacket, name: string): string {
  return String(row[name]);
}

function nameOf(row: RowDataPacket): string {
  return textOf(row, 'name');
}

function tableOf(row: RowDataPacket): string {
  return textOf(row, 'tab');
}

/** MySQL gives a view the comment VIEW. */
function commentOf(row: RowDataPacket): { readonly comment?: string } {
  const comment = textOf(row, 'comment');
  return comment === '' || comment === 'VIEW' ? {} : { comment };
}

function columnOf(row: RowDataPacket, indexes: readonly Rows[]): CatalogColumn {
  const name = textOf(row, 'name');
  const type = textOf(row, 'column_type');
  const kind = kindOfColumn(
    textOf(row, 'data_type'),
    type,
    row['scale'] === null ? undefined : Number(row['scale']),
  );
  const labels = labelsOf(type);
  const length = kind === 'text' && row['length'] !== null ? Number(row['length']) : undefined;
  const [alone] = indexes.flatMap((parts) => (parts.length === 1 && parts[0]?.['col'] === name ? parts : []));
  const distinct = alone?.['cardinality'] ?? undefined;
  return {
    name,
    sql: writtenName(name, vocabulary, quoted),
    type,
    kind,
    ...(labels === undefined ? {} : { labels }),
    ...(length === undefined ? {} : { maxLength: Math.min(length, 65_535) }),
    nullable: textOf(row, 'nullable') === 'YES',
    ...(WITHOUT_CURSOR.has(textOf(row, 'data_type')) ? { hasNoCursor: true } : {}),
    ...commentOf(row),
    ...(distinct === undefined ? {} : { distinct: Number(distinct) }),
  };
}

function keyOf(parts: Rows): readonly CatalogKey[] {
  const [first] = parts;
  const isWhole = parts.every((part) => part['col'] !== null && part['part'] === null);
  if (first === undefined || !isWhole || Number(first['non_unique']) !== 0) return [];
  return [
    { columns: parts.map((part) => textOf(part, 'col')), primary: textOf(first, 'name') === 'PRIMARY' },
  ];
}

/** No index of these servers finds substrings: FULLTEXT knows words. */
function indexOf([first]: Rows): readonly CatalogIndex[] {
  if (first === undefined || !/^(?:BTREE|HASH)$/.test(textOf(first, 'type'))) return [];
  return [{ ...(first['col'] === null ? {} : { leading: textOf(first, 'col') }), partsOf: [] }];
}

function foreignKeysOf(rows: Rows, schema: string): readonly CatalogForeignKey[] {
  return [...grouped(rows, nameOf).values()].flatMap((parts): CatalogForeignKey[] => {
    const [first] = parts;
    if (first === undefined || textOf(first, 'target_schema') !== schema) return [];
    return [
      {
        columns: parts.map((part) => textOf(part, 'col')),
        schema,
        table: textOf(first, 'target'),
        targetColumns: parts.map((part) => textOf(part, 'target_col')),
      },
    ];
  });
}
