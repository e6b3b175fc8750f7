/** The name of the database of a file with `database`, which gives none. */
export const UNNAMED = '';

export function sectionOf(name: string): readonly string[] {
  return name === UNNAMED ? ['database'] : ['databases', name];
}

/** Whether the path of a fault names a database as a whole. */
export function isDatabasePath(path: string): boolean {
  return path === 'database' || /^databases\.[^.]+$/.test(path);
}

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
