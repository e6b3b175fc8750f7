import type { Catalog, CatalogColumn, CatalogTable } from '../databases/driver/catalog.ts';

export interface TableChoice {
  /** If empty, all. */
  readonly schemas: readonly string[];
  /** Globs over names, with or without the schema; if empty, all. */
  readonly tables: readonly string[];
  readonly exclude: readonly string[];
  /** `table.column` or `schema.table.column`. */
  readonly include: readonly string[];
}

export type ChosenTables =
  | {
      readonly ok: true;
      readonly chosen: (table: CatalogTable) => boolean;
      readonly included: (table: CatalogTable, column: CatalogColumn) => boolean;
    }
  | { readonly ok: false; readonly problem: string };

/** The tables and columns that the command line asks for; a name that matches nothing is refused. */
export function chooseTables(
  { tables }: Catalog,
  { schemas, tables: wanted, exclude, include }: TableChoice,
): ChosenTables {
  const unknown = schemas.find((schema) => !tables.some((table) => table.schema === schema));
  if (unknown !== undefined) return refused('--schema', unknown, 'a schema with tables or views');
  const matches = (globs: readonly string[]): ((table: CatalogTable) => boolean) => {
    const patterns = globs.map(patternOf);
    return ({ schema, name }) =>
      patterns.some((pattern) => pattern.test(name) || pattern.test(`${schema}.${name}`));
  };
  const misspelt = wanted.find((glob) => !tables.some(matches([glob])));
  if (misspelt !== undefined) return refused('--tables', misspelt, 'any table or view');
  const isWanted = matches(wanted);
  const isExcluded = matches(exclude);
  const chosen = (table: CatalogTable): boolean =>
    (schemas.length === 0 || schemas.includes(table.schema)) &&
    (wanted.length === 0 || isWanted(table)) &&
    !isExcluded(table);
  const named = new Set(include);
  const namesOf = ({ schema, name }: CatalogTable, column: CatalogColumn): readonly string[] => [
    `${name}.${column.name}`,
    `${schema}.${name}.${column.name}`,
  ];
  const known = new Set(
    tables.filter(chosen).flatMap((table) => table.columns.flatMap((column) => namesOf(table, column))),
  );
  const missing = include.find((name) => !known.has(name));
  if (missing !== undefined)
    return refused('--include', missing, 'a column of a chosen table, as `table.column`');
  return {
    ok: true,
    chosen,
    included: (table, column) => namesOf(table, column).some((name) => named.has(name)),
  };
}

function refused(flag: string, given: string, what: string): ChosenTables {
  return { ok: false, problem: `${flag} ${JSON.stringify(given)} does not name ${what}` };
}

/** `*` stands for any characters, `?` for one. */
function patternOf(glob: string): RegExp {
  const source = glob.replace(/[.*+?^${}()|[\]\\]/g, (char) => {
    if (char === '*') return '.*';
    return char === '?' ? '.' : `\\${char}`;
  });
  return new RegExp(`^${source}$`, 'su');
}
