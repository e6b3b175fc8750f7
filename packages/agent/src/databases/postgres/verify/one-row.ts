import { quoteIdentifier } from '../dialect/quote-identifier.ts';
import { inside, listIn, namesIn, walk, type TreeNode } from './statement/tree.ts';

/** The columns of each key, by the name of the relation as `namedRelations` writes it. */
export type RelationKeys = ReadonlyMap<string, readonly (readonly string[])[]>;

interface Equality {
  /** Absent if none was written: then no other relation has such a column. */
  readonly relation: string | undefined;
  readonly column: string;
  /** The relations on the other side; undefined for a column without a relation. */
  readonly others: readonly (string | undefined)[];
  readonly scope: ReadonlySet<string>;
}

interface Sources {
  /** By alias. */
  readonly relations: Map<string, string>;
  readonly equalities: Equality[];
}

/**
 * Whether a SELECT finds one row at most: of each relation a whole key has to equal what is given, or columns of
 * relations with one row.
 */
export function findsOneRow(select: TreeNode, keys: RelationKeys): boolean {
  if ('withClause' in select) return false;
  const sources: Sources = { relations: new Map(), equalities: [] };
  const from = listIn(select['fromClause']);
  if (from.length === 0 || !from.every((item) => collect(item, sources) !== undefined)) return false;
  const { relations, equalities } = sources;
  equalities.push(...equalitiesIn(select['whereClause'], new Set(relations.keys())));
  const single = new Set<string | undefined>();
  const isSingle = ([alias, relation]: readonly [string, string]): boolean => {
    const given = equalities
      .filter(({ scope, others }) => scope.has(alias) && others.every((other) => single.has(other)))
      .filter(({ relation: written = alias }) => written === alias);
    const columns = new Set(given.map(({ column }) => column));
    return keys.get(relation)?.some((key) => key.every((column) => columns.has(column))) === true;
  };
  let left = [...relations];
  for (let next = left.find(isSingle); next !== undefined; next = left.find(isSingle)) {
    const [found] = next;
    single.add(found);
    left = left.filter(([alias]) => alias !== found);
  }
  return left.length === 0;
}

/** The aliases below an item of FROM; undefined unless it is made of tables, inner joins and left joins. */
function collect(item: TreeNode, sources: Sources): ReadonlySet<string> | undefined {
  const table = inside(item, 'RangeVar');
  if (table !== undefined) {
    const names = [table['schemaname'], table['relname']].filter((part) => typeof part === 'string');
    const alias = String(inside(table, 'alias')?.['aliasname'] ?? table['relname']);
    sources.relations.set(alias, names.map(quoteIdentifier).join('.'));
    return new Set([alias]);
  }
  const join = inside(item, 'JoinExpr');
  const isLeft = join?.['jointype'] === 'JOIN_LEFT';
  if (join === undefined || (!isLeft && join['jointype'] !== 'JOIN_INNER')) return undefined;
  const [left, right] = [inside(join, 'larg'), inside(join, 'rarg')].map(
    (side) => side && collect(side, sources),
  );
  if (left === undefined || right === undefined) return undefined;
  const both = new Set([...left, ...right]);
  // In a left join rows of the left side stay if the condition does not hold.
  sources.equalities.push(...equalitiesIn(join['quals'], isLeft ? right : both));
  return both;
}

function equalitiesIn(condition: unknown, scope: ReadonlySet<string>): readonly Equality[] {
  return conjuncts(condition).flatMap((term) =>
    equalSides(term).flatMap(([side, other]) => {
      const column = columnOf(side);
      return column === undefined ? [] : [{ ...column, others: relationsIn(other), scope }];
    }),
  );
}

function columnOf(side: unknown): Pick<Equality, 'relation' | 'column'> | undefined {
  const [column, relation] = namesIn(inside(side, 'ColumnRef')?.['fields']).toReversed();
  return column === undefined ? undefined : { column, relation };
}

function relationsIn(value: unknown): readonly (string | undefined)[] {
  const relations: (string | undefined)[] = [];
  walk({ value }, (key, child) => {
    if (key === 'ColumnRef') relations.push(columnOf({ ColumnRef: child })?.relation);
    // What a subselect finds is not looked into.
    if (key === 'SubLink') relations.push(undefined);
  });
  return relations;
}

/** The terms that all have to hold. */
export function conjuncts(condition: unknown): readonly TreeNode[] {
  const and = inside(condition, 'BoolExpr');
  if (and?.['boolop'] === 'AND_EXPR') return listIn(and['args']).flatMap(conjuncts);
  return listIn([condition]);
}

/** Both sides of `a = b`, either way round. */
export function equalSides(term: TreeNode): readonly (readonly [unknown, unknown])[] {
  const comparison = inside(term, 'A_Expr');
  if (comparison?.['kind'] !== 'AEXPR_OP' || namesIn(comparison['name']).at(-1) !== '=') return [];
  const { lexpr, rexpr } = comparison;
  return [
    [lexpr, rexpr],
    [rexpr, lexpr],
  ];
}
