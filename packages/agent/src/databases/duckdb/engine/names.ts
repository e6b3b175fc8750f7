/** Like DuckDB, which tells large and small letters of ASCII alone not apart: by Unicode the Kelvin sign would be a k. */
export function foldName(text: unknown): string {
  return String(text).replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** Of a table or a view. Names may have dots in them. */
export function relationKey(schema: string, name: string): string {
  return JSON.stringify([foldName(schema), foldName(name)]);
}

export function schemaOfKey(key: string): string {
  const [schema]: readonly string[] = JSON.parse(key);
  return schema ?? '';
}
