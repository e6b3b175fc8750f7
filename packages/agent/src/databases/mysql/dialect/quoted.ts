/** The name of a database for GRANT, which takes _ and % for other characters. */
export function asPattern(database: string): string {
  return database.replaceAll(/[_%\\]/g, '\\$&');
}

/** A name as it stands in SQL, whatever it holds. */
export function quoted(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``;
}
