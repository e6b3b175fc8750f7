import type { Capability } from '../../../capabilities/model.ts';
import { readableStatements } from './statement/readable-statements.ts';
import { inside, isNode, listIn, namesIn, walk, type TreeNode } from './statement/tree.ts';
import { conjuncts, equalSides, findsOneRow, type RelationKeys } from './one-row.ts';

const AGGREGATES: ReadonlySet<string> = new Set(
  (
    'array_agg avg bool_and bool_or count every json_agg json_object_agg jsonb_agg jsonb_object_agg max min ' +
    'percentile_cont percentile_disc stddev string_agg sum variance'
  ).split(' '),
);

/**
 * Capabilities that have no ORDER BY and, as far as their statement shows, may give several rows: then the server
 * decides which of them a cap leaves out. Without keys the names of columns tell which row is the only one.
 */
export async function unorderedStatements(
  capabilities: readonly Capability[],
  keys: RelationKeys = new Map(),
): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const { capability, read } of readableStatements(capabilities)) {
    const { tree } = read.inspected;
    if (!isOrdered(tree) && !findsOneRow(tree, keys)) names.push(capability.name);
  }
  return names;
}

function isOrdered(select: TreeNode): boolean {
  if ('sortClause' in select || isOne(select['limitCount'])) return true;
  if (select['op'] !== 'SETOP_NONE') return false;
  const from = listIn(select['fromClause']);
  if (from.every((item) => 'RangeFunction' in item)) return true;
  if (!('groupClause' in select) && listIn(select['targetList']).some(aggregates)) return true;
  return isOrderedSubselect(from) || isByKey(select['whereClause'], from);
}

/** As in `from (select ... order by ...) x` alone: the statement around it keeps the order in practice. */
function isOrderedSubselect([first, ...others]: readonly TreeNode[]): boolean {
  if (others.length > 0) return false;
  const subselect = inside(first, 'RangeSubselect', 'subquery', 'SelectStmt');
  return subselect !== undefined && isOrdered(subselect);
}

function isOne(limit: unknown): boolean {
  return inside(limit, 'A_Const', 'ival')?.['ival'] === 1;
}

/** An aggregate makes one row of all, unless it is a window's or a subselect's. */
function aggregates(value: unknown): boolean {
  let found = false;
  walk(value, (key, child) => {
    if (key === 'FuncCall' && isNode(child) && !('over' in child))
      found ||= AGGREGATES.has(namesIn(child['funcname']).at(-1) ?? '');
    return key !== 'SubLink';
  });
  return found;
}

/** `id = :x`; `film_id = :x` if the table is film or films; two columns of ids. */
function isByKey(where: unknown, from: readonly TreeNode[]): boolean {
  const given = conjuncts(where).flatMap(equalledColumn);
  const ids = given.filter((name) => name.endsWith('_id'));
  return ids.length > 1 || given.some((name) => name === 'id' || isIdOf(name, firstTable(from)));
}

function equalledColumn(term: TreeNode): readonly string[] {
  const sides = equalSides(term);
  if (!sides.some(([side]) => holdsParameter(side))) return [];
  return sides.flatMap(([side]) => namesIn(inside(side, 'ColumnRef')?.['fields']).slice(-1));
}

function isIdOf(name: string, table: string): boolean {
  const one = name.replace(/_id$/, '');
  return one !== name && [one, `${one}s`, `${one}es`, one.replace(/y$/, 'ies')].includes(table);
}

function firstTable(from: readonly TreeNode[]): string {
  let first: string | undefined;
  walk(from, (key, child) => {
    if (key === 'relname') first ??= String(child);
  });
  return first ?? '';
}

function holdsParameter(value: unknown): boolean {
  let holds = false;
  walk(value, (key) => {
    holds ||= key === 'ParamRef';
  });
  return holds;
}
