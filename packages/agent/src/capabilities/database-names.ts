/** The name of the only database, where the file has `database` and gives none. */
export const UNNAMED = '';

/** Where the database of that name stands in the file. */
export function sectionOf(name: string): readonly string[] {
  return name === UNNAMED ? ['database'] : ['databases', name];
}

/** Whether the path of a fault is that of a database as a whole. */
export function isDatabasePath(path: string): boolean {
  return path === 'database' || /^databases\.[^.]+$/.test(path);
}

/** Those of each database, by its name. */
export function byDatabase<Item extends { readonly database?: string }>(
  items: readonly Item[],
): ReadonlyMap<string, readonly Item[]> {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const name = item.database ?? UNNAMED;
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [item]);
    else group.push(item);
  }
  return groups;
}
