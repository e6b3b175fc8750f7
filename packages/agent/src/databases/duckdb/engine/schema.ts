import { closingAfter, isOperator, isWord } from '../../sql/places/tokens.ts';
import { scanSql } from '../../sql/scanner.ts';
import { lexicon } from './lexicon.ts';
import type { DuckdbConnection } from './library.ts';
import { foldName, relationKey } from './names.ts';

/** What the database has, by names in lower case. The file cannot change while it is open. */
export interface Schema {
  readonly catalog: string;
  /** The expressions of generated columns by the key of their table; undefined if they cannot be read. */
  readonly tables: ReadonlyMap<string, readonly string[] | undefined>;
  /** The SELECT of each view by its key; undefined if it cannot be read. */
  readonly views: ReadonlyMap<string, string | undefined>;
  /** DuckDB's own views that a name without a schema reaches. */
  readonly ownViews: ReadonlySet<string>;
  /** The bodies of macros, each as a SELECT, by name. */
  readonly macros: ReadonlyMap<string, readonly string[]>;
  /** A macro named like a function of DuckDB. SQL that names no function, such as `a[1]`, may run it. */
  readonly hiding: string | undefined;
}

export async function readSchema(connection: DuckdbConnection): Promise<Schema> {
  const ask = async (sql: string): Promise<readonly (readonly string[])[]> =>
    (await connection.runAndReadAll(sql)).getRows().map((row) => row.map(String));
  const [[catalog = ''] = []] = await ask('select system.main.current_database()');
  const tables = await ask(
    'select schema_name, table_name, sql from system.main.duckdb_tables() where not internal and database_name = system.main.current_database()',
  );
  const views = await ask(
    'select schema_name, view_name, sql from system.main.duckdb_views() where not internal',
  );
  const ownViews = await ask(
    `select view_name from system.main.duckdb_views() where internal and schema_name <> 'information_schema'`,
  );
  const macros = await ask(
    'select function_name, function_type, macro_definition from system.main.duckdb_functions() where not internal',
  );
  const [[hiding] = []] = await ask(
    `select function_name from system.main.duckdb_functions() where not internal and system.main.lower(function_name) in
      (select system.main.lower(function_name) from system.main.duckdb_functions() where internal) order by function_name`,
  );
  const byName = new Map<string, string[]>();
  for (const [name = '', kind = '', definition = ''] of macros) {
    const folded = foldName(name);
    byName.set(folded, [
      ...(byName.get(folded) ?? []),
      kind === 'table_macro' ? definition : `select ${definition}`,
    ]);
  }
  return {
    catalog: foldName(catalog),
    tables: new Map(
      tables.map(([schema = '', name = '', sql = '']) => [relationKey(schema, name), generatedBy(sql)]),
    ),
    views: new Map(
      views.map(([schema = '', name = '', sql = '']) => [relationKey(schema, name), queryOfView(sql)]),
    ),
    ownViews: new Set(ownViews.flat()),
    macros: byName,
    hiding,
  };
}

/** The expression of each `GENERATED ALWAYS AS(...)`, as DuckDB writes it. */
function generatedBy(sql: string): readonly string[] | undefined {
  const scanned = scanSql(sql, lexicon);
  if (!scanned.ok) return undefined;
  const { tokens } = scanned;
  return tokens.flatMap((_, index) => {
    if (![/^generated$/i, /^always$/i, /^as$/i].every((word, at) => isWord(tokens[index + at], word)))
      return [];
    const opening = index + 3;
    return [sql.slice(tokens[opening]?.end, tokens[closingAfter(tokens, opening)]?.start)];
  });
}

/** The text after AS in `CREATE VIEW v (a, b) AS SELECT ...;`. */
function queryOfView(sql: string): string | undefined {
  const scanned = scanSql(sql, lexicon);
  if (!scanned.ok) return undefined;
  let depth = 0;
  for (const token of scanned.tokens) {
    if (isOperator(token, '(')) depth += 1;
    if (isOperator(token, ')')) depth -= 1;
    if (depth === 0 && isWord(token, /^as$/i)) return sql.slice(token.end);
  }
  return undefined;
}
