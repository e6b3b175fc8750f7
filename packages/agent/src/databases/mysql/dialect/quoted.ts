/** The name of a database for GRANT, which takes _ and % for other characters. */
export function asPattern(database: string): string {
  return database.replaceAll(/[_%\\]/g, '\\$&');
}

/** A name as it stands in SQL, whatever it holds. */
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

/** Each once, where letters of both cases are told apart. */
export function distinct<Each extends Table>(tables: readonly Each[]): readonly Each[] {
  return [...new Map(tables.map((table) => [titleOf(table), table])).values()];
}
