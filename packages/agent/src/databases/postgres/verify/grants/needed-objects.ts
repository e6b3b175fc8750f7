import { isNode, listIn, namesIn, visitQueries, type TreeNode } from '../statement/tree.ts';

/** What the account needs a grant for. */
export interface NeededObject {
  readonly kind: 'relation' | 'function' | 'type';
  readonly schemas: readonly string[];
  readonly isQualified: boolean;
  readonly name: string;
  /** Of a relation: columns that may be its own. */
  readonly columns: readonly string[];
  /** Of a relation: whether every column is read. */
  readonly isWhole: boolean;
  /** Of a relation: its name, if that stands for a whole row unless a column has this name. */
  readonly rowName?: string;
  readonly arguments: number;
}

interface Relation {
  readonly names: readonly string[];
  readonly alias: string;
  readonly columns: Set<string>;
  isWhole: boolean;
  namesRow: boolean;
}

interface Scope {
  /** The names of WITH queries that are in force. */
  readonly queries: ReadonlySet<string>;
  /** The FROM clause of the innermost SELECT. */
  readonly from: readonly Relation[];
}

/**
 * Reads a parse tree; `path` is the search path. A column's name without a table counts for every table of the statement
 * that has such a column.
 */
export function neededObjects(tree: unknown, path: readonly string[]): readonly NeededObject[] {
  const relations: Relation[] = [];
  const byNode = new Map<TreeNode, Relation>();
  const bare = new Set<string>();
  const qualified: { readonly table: string; readonly column: string | undefined }[] = [];
  const others: NeededObject[] = [];

  const add = (kind: 'function' | 'type', names: readonly string[], count: number): void => {
    others.push({ ...placeOf(kind, names, path), columns: [], isWhole: false, arguments: count });
  };
  const addRelation = (node: TreeNode, { queries }: Scope): void => {
    const { schemaname: schema, relname: name, alias } = node;
    if (typeof name !== 'string' || (schema === undefined && queries.has(name))) return;
    const { aliasname, colnames } = isNode(alias) ? alias : {};
    const relation: Relation = {
      names: [...(typeof schema === 'string' ? [schema] : []), name],
      alias: typeof aliasname === 'string' ? aliasname : name,
      columns: new Set(),
      isWhole: colnames !== undefined,
      namesRow: false,
    };
    relations.push(relation);
    byNode.set(node, relation);
  };
  const addColumn = (fields: readonly TreeNode[], { from }: Scope): void => {
    const names = fields.flatMap(({ String: field }) => namesIn(field));
    const isStar = fields.some((field) => 'A_Star' in field);
    const column = isStar ? undefined : names.at(-1);
    const table = isStar ? names.at(-1) : names.at(-2);
    if (table !== undefined) qualified.push({ table, column });
    else if (column !== undefined) bare.add(column);
    else for (const relation of from) relation.isWhole = true;
  };
  const visitNode = (key: string, node: TreeNode, scope: Scope): void => {
    if (key === 'RangeVar') {
      if (!byNode.has(node)) addRelation(node, scope);
    } else if (key === 'ColumnRef') {
      addColumn(listIn(node['fields']), scope);
    } else if (key === 'FuncCall') {
      const sorted = node['agg_within_group'] === true ? listIn(node['agg_order']).length : 0;
      add('function', namesIn(node['funcname']), listIn(node['args']).length + sorted);
    } else if (key === 'typeName' || key === 'TypeName') {
      add('type', namesIn(node['names']), 0);
    } else if (key === 'JoinExpr') {
      for (const name of namesIn(node['usingClause'])) bare.add(name);
      // The columns that it compares depend on both tables.
      if (node['isNatural'] === true) for (const relation of scope.from) relation.isWhole = true;
    }
  };
  const visit = (key: string, value: unknown, scope: Scope): void => {
    if (Array.isArray(value)) for (const item of value) visit(key, item, scope);
    if (!isNode(value)) return;
    const { withClause, fromClause } = value;
    const queries = isNode(withClause)
      ? visitQueries(withClause, scope.queries, (query, names) =>
          visit('CommonTableExpr', query, { ...scope, queries: names }),
        )
      : scope.queries;
    let from = isNode(withClause) || fromClause !== undefined ? [] : scope.from;
    if (fromClause !== undefined) {
      for (const node of directRelations(fromClause)) addRelation(node, { queries, from });
      from = directRelations(fromClause).flatMap((node) => byNode.get(node) ?? []);
    }
    const inner = { queries, from };
    visitNode(key, value, inner);
    for (const [name, child] of Object.entries(value)) if (name !== 'withClause') visit(name, child, inner);
  };
  visit('', tree, { queries: new Set(), from: [] });

  for (const relation of relations) {
    for (const { table, column } of qualified) {
      if (table !== relation.alias) continue;
      if (column === undefined) relation.isWhole = true;
      else relation.columns.add(column);
    }
    for (const name of bare) relation.columns.add(name);
    relation.namesRow = bare.has(relation.alias);
  }
  return [
    ...relations.map(({ names, alias, columns, isWhole, namesRow }) => ({
      ...placeOf('relation', names, path),
      columns: [...columns],
      isWhole,
      ...(namesRow ? { rowName: alias } : {}),
      arguments: 0,
    })),
    ...others,
  ];
}

function placeOf(
  kind: NeededObject['kind'],
  names: readonly string[],
  path: readonly string[],
): Pick<NeededObject, 'kind' | 'schemas' | 'isQualified' | 'name'> {
  const name = names.at(-1) ?? '';
  const schema = names.at(-2);
  if (schema !== undefined) return { kind, schemas: [schema], isQualified: true, name };
  return { kind, schemas: path, isQualified: false, name };
}

/** The tables of a FROM clause, in joins and samples too, but not those of its subqueries. */
function directRelations(clause: unknown): readonly TreeNode[] {
  if (Array.isArray(clause)) return clause.flatMap(directRelations);
  if (!isNode(clause)) return [];
  return Object.entries(clause).flatMap(([key, child]) => {
    if (key === 'RangeVar') return isNode(child) ? [child] : [];
    if (key === 'larg' || key === 'rarg' || key === 'relation') return directRelations(child);
    return (key === 'JoinExpr' || key === 'RangeTableSample') && isNode(child) ? directRelations(child) : [];
  });
}

/** Each object once, a table with all columns that are read of it. */
export function together(needed: readonly NeededObject[]): readonly NeededObject[] {
  const found = new Map<string, NeededObject>();
  for (const each of needed) {
    const { kind, schemas, isQualified, name, rowName, arguments: count } = each;
    const key = JSON.stringify([kind, schemas, isQualified, name, rowName, count]);
    const same = found.get(key);
    const columns = [...new Set([...(same?.columns ?? []), ...each.columns])];
    found.set(key, { ...each, columns, isWhole: each.isWhole || same?.isWhole === true });
  }
  return [...found.values()];
}
