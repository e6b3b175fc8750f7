/** The name of a database for GRANT, where _ and % are wildcards. */
export function asPattern(database: string): string {
  return database.replaceAll(/[_%\\]/g, '\\$&');
}

/** A name in quotes, whatever it holds. */
export function quoted(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``;
}

export interface Table {
  readonly schema: string;
  readonly name: string;
}

export function titleOf({ schema, name }: Table): string {
  return `${quoted(schema)}.${quoted(name)}`;
}

/** Each table once. Case matters. */
export function distinct<Each extends Table>(tables: readonly Each[]): readonly Each[] {
  return [...new Map(tables.map((table) => [titleOf(table), table])).values()];
}
