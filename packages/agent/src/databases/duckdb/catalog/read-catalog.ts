import { basename, extname } from 'node:path';
import type {
  Catalog,
  CatalogColumn,
  CatalogForeignKey,
  CatalogKey,
  CatalogTable,
  ColumnKind,
} from '../../driver/catalog.ts';
import { askRows, withSession, type EnginePool } from '../../engine-process/engine-database.ts';
import { grouped } from '../../sql/grouped.ts';

const OWN = 'database_name = system.main.current_database() and not internal';
/** Lists come back as JSON, since DuckDB's own lists are no plain data. */
const JSON_OF = (list: string): string => `system.main.to_json(${list})::varchar`;

const TABLES = `select schema_name, table_name, 'table', estimated_size::varchar, comment
    from system.main.duckdb_tables() where ${OWN}
  union all select schema_name, view_name, 'view', null, comment from system.main.duckdb_views() where ${OWN}
  order by 1, 2`;
const COLUMNS = `select schema_name, table_name, column_name, data_type, is_nullable, comment
  from system.main.duckdb_columns() where ${OWN} order by 1, 2, column_index`;
const CONSTRAINTS = `select schema_name, table_name, constraint_type, ${JSON_OF('constraint_column_names')}, referenced_table,
    ${JSON_OF('referenced_column_names')}
  from system.main.duckdb_constraints() where database_name = system.main.current_database() order by 1, 2, constraint_index`;
const KEYWORDS = `select keyword_name from system.main.duckdb_keywords() where keyword_category <> 'unreserved'`;

type Row = readonly (string | boolean | null)[];

/** Reads the engine's own lists: no row of any table. Throws `DatabaseError`. */
export async function readCatalog(pool: EnginePool, file: string): Promise<Catalog> {
  return withSession(pool, async (session) => {
    const ask = (sql: string): Promise<readonly Row[]> => askRows(session, sql);
    const keywords = new Set((await ask(KEYWORDS)).map(([word]) => String(word)));
    const write = (name: string): string => identifier(name, keywords);
    const columns = grouped(await ask(COLUMNS), tableOf);
    const constraints = grouped(await ask(CONSTRAINTS), tableOf);
    return {
      name: basename(file, extname(file)),
      accounts: new Set<string>(),
      tables: (await ask(TABLES)).map(([schema = null, name = null, kind, rows, comment]): CatalogTable => {
        const own = constraints.get(tableOf([schema, name])) ?? [];
        const keys = own.flatMap(keyOfConstraint);
        const isMain = schema === 'main';
        return {
          schema: String(schema),
          name: String(name),
          sql: isMain ? write(String(name)) : `${write(String(schema))}.${write(String(name))}`,
          kind: kind === 'view' ? 'view' : 'table',
          ...commentOf(comment),
          ...(typeof rows === 'string' ? { rows: Number(rows) } : {}),
          rowSecurity: false,
          columns: (columns.get(tableOf([schema, name])) ?? []).map((column) => columnOf(column, write)),
          keys,
          foreignKeys: own.flatMap((row) => foreignKeyOf(row, String(schema))),
          indexes: keys.map(({ columns: [leading = ''] }) => ({ leading, partsOf: [] })),
        };
      }),
    };
  });
}

function identifier(name: string, keywords: ReadonlySet<string>): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) && !keywords.has(name) ? name : `"${name.replaceAll('"', '""')}"`;
}

function tableOf([schema, name]: Row): string {
  return JSON.stringify([schema, name]);
}

function commentOf(comment: unknown): { readonly comment?: string } {
  return typeof comment === 'string' ? { comment } : {};
}

function columnOf(
  [, , column, type, isNullable, comment]: Row,
  write: (name: string) => string,
): CatalogColumn {
  const name = String(column);
  const labels = /^ENUM\((.*)\)$/s.exec(String(type))?.[1]?.match(/'(?:[^']|'')*'/g);
  return {
    name,
    sql: write(name),
    type: String(type),
    kind: kindOf(String(type)),
    ...(labels === undefined || labels === null
      ? {}
      : { labels: labels.map((label) => label.slice(1, -1).replaceAll("''", "'")) }),
    nullable: isNullable !== false,
    // An ENUM is compared with others by its text, not by its order.
    ...(String(type).startsWith('ENUM(') ? { hasNoCursor: true } : {}),
    ...commentOf(comment),
  };
}

function kindOf(type: string): ColumnKind {
  if (/\[\d*\]$/.test(type)) return 'array';
  if (/^(?:STRUCT|MAP)\(/.test(type)) return 'object';
  if (type === 'JSON') return 'json';
  if (type.startsWith('ENUM(') || type === 'VARCHAR') return 'text';
  if (/^U?(?:TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)$|^DECIMAL\(\d+,0\)$/.test(type)) return 'integer';
  if (/^(?:FLOAT|DOUBLE)$|^DECIMAL\(/.test(type)) return 'number';
  if (type.startsWith('TIMESTAMP')) return 'datetime';
  const others: Readonly<Record<string, ColumnKind>> = {
    BOOLEAN: 'boolean',
    DATE: 'date',
    UUID: 'uuid',
    BLOB: 'opaque',
    BIT: 'opaque',
    GEOMETRY: 'opaque',
  };
  return others[type] ?? 'other';
}

function keyOfConstraint([, , type, columns]: Row): readonly CatalogKey[] {
  if (type !== 'PRIMARY KEY' && type !== 'UNIQUE') return [];
  return [{ columns: namesIn(columns), primary: type === 'PRIMARY KEY' }];
}

function foreignKeyOf(
  [, , type, columns, table, targets]: Row,
  schema: string,
): readonly CatalogForeignKey[] {
  if (type !== 'FOREIGN KEY' || typeof table !== 'string') return [];
  return [{ columns: namesIn(columns), schema, table, targetColumns: namesIn(targets) }];
}

function namesIn(json: unknown): readonly string[] {
  const names: unknown = JSON.parse(String(json));
  return Array.isArray(names) ? names.map(String) : [];
}
