/** A node of PostgreSQL's parse tree as JSON: an object whose keys name node types or fields. */
export type TreeNode = Readonly<Record<string, unknown>>;

export function isNode(value: unknown): value is TreeNode {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Visits every key of every object below `value`, outermost first; not what is below a key whose visit returns false. */
export function walk(value: unknown, visit: (key: string, child: unknown) => boolean | void): void {
  if (Array.isArray(value)) {
    for (const item of value) walk(item, visit);
  } else if (isNode(value)) {
    for (const [key, child] of Object.entries(value)) {
      if (visit(key, child) !== false) walk(child, visit);
    }
  }
}

export function namesIn(value: unknown): readonly string[] {
  const names: string[] = [];
  walk(value, (key, child) => {
    if (key === 'sval' && typeof child === 'string') names.push(child);
  });
  return names;
}

export function listIn(value: unknown): readonly TreeNode[] {
  return Array.isArray(value) ? value.filter(isNode) : [];
}

export function inside(value: unknown, ...path: readonly string[]): TreeNode | undefined {
  let found = value;
  for (const key of path) found = isNode(found) ? found[key] : undefined;
  return isNode(found) ? found : undefined;
}

/** Visits each query of a WITH clause with the names of queries that are in force there; returns those in force after it. */
export function visitQueries(
  clause: TreeNode,
  outer: ReadonlySet<string>,
  visit: (query: TreeNode, inForce: ReadonlySet<string>) => void,
): ReadonlySet<string> {
  const own = listIn(clause['ctes'])
    .map((each) => inside(each, 'CommonTableExpr'))
    .filter((query) => query !== undefined);
  const inForce = new Set(outer);
  if (clause['recursive'] === true) for (const { ctename } of own) inForce.add(String(ctename));
  for (const query of own) {
    visit(query, new Set(inForce));
    inForce.add(String(query['ctename']));
  }
  return inForce;
}

/** The number of a parameter, in casts or not; undefined for anything else. */
export function castParameter(value: unknown): number | undefined {
  let node = value;
  while (isNode(node) && isNode(node['TypeCast'])) node = node['TypeCast']['arg'];
  const param = inside(node, 'ParamRef');
  return param && Number(param['number']);
}

const POSITIONS = new Set(
  'location stmt_location stmt_len list_start list_end rexpr_list_start rexpr_list_end'.split(' '),
);

/** One text for trees that differ only in the places of their nodes; `hole` is left out. */
export function fingerprint(tree: unknown, hole?: TreeNode): string {
  return JSON.stringify(tree, (key: string, child: unknown) =>
    POSITIONS.has(key) || (hole !== undefined && child === hole) ? undefined : child,
  );
}

/** As if the fingerprints were compared. `holes` are left out, one in each, and must be in the same place. */
export function isSameTree(a: unknown, b: unknown, holes?: readonly [TreeNode, TreeNode]): boolean {
  if (holes !== undefined && (a === holes[0] || b === holes[1])) return a === holes[0] && b === holes[1];
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((item, at) => isSameTree(item, b[at], holes));
  if (!isNode(a) || !isNode(b)) return a === b;
  let keys = 0;
  for (const key in a) {
    if (POSITIONS.has(key)) continue;
    if (!isSameTree(a[key], b[key], holes)) return false;
    keys += 1;
  }
  for (const key in b) if (!POSITIONS.has(key)) keys -= 1;
  return keys === 0;
}
