/** DuckDB ignores the case of ASCII letters only. By the rules of Unicode the Kelvin sign would be a k. */
export function foldName(text: unknown): string {
  return String(text).replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** The key of a table or a view. Names may contain dots. */
export function relationKey(schema: string, name: string): string {
  return JSON.stringify([foldName(schema), foldName(name)]);
}

export function schemaOfKey(key: string): string {
  const [schema]: readonly string[] = JSON.parse(key);
  return schema ?? '';
}
