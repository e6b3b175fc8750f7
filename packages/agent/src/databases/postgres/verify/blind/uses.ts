import { operatorsOf, qualifiedName, type QualifiedName } from '../statement/inspect.ts';
import { inside, isNode, listIn, namesIn, walk, type TreeNode } from '../statement/tree.ts';

/** A call as the statement writes it. */
export interface Call extends QualifiedName {
  readonly count: number;
  /**
   * Of each argument whether it may have no type yet, so that the function decides of what type it is. Undefined if the
   * arguments cannot be matched with those of the function by their places.
   */
  readonly untyped: readonly boolean[] | undefined;
}

/** An operator as the statement uses it, with whether its operands may have no type yet. */
export interface OperatorUse extends QualifiedName {
  readonly left: boolean;
  readonly right: boolean;
  /** Undefined if nobody knows. */
  readonly isPrefix?: boolean;
}

export interface Uses {
  readonly calls: readonly Call[];
  readonly operators: readonly OperatorUse[];
  /** As `f` in `t.f` or `(row).f`, which may be a call of `f`. */
  readonly attributes: readonly QualifiedName[];
  readonly types: readonly QualifiedName[];
  readonly collations: readonly QualifiedName[];
  /** Names of all WITH queries, wherever they are in force. */
  readonly queries: ReadonlySet<string>;
  /** `SVFOP_CURRENT_USER` and the like. */
  readonly keywords: readonly string[];
  /** Whether a join has a name of its own, by which columns of its tables can be read. */
  readonly namesJoin: boolean;
}

/** All that a statement's parse tree uses, wherever it stands. */
export function usesOf(tree: TreeNode): Uses {
  const calls: Call[] = [];
  const operators: OperatorUse[] = [];
  const attributes: QualifiedName[] = [];
  const types: QualifiedName[] = [];
  const collations: QualifiedName[] = [];
  const queries = new Set<string>();
  const keywords: string[] = [];
  let namesJoin = false;
  walk(tree, (key, child) => {
    if (key === 'ctename') queries.add(String(child));
    if (!isNode(child)) return;
    operators.push(...operatorUses(key, child));
    if (key === 'FuncCall') calls.push(callOf(child));
    else if (key === 'RangeTableSample')
      calls.push({ ...qualifiedName(namesIn(child['method'])), count: 1, untyped: undefined });
    else if (key === 'typeName' || key === 'TypeName') types.push(qualifiedName(namesIn(child['names'])));
    else if (key === 'CollateClause') collations.push(qualifiedName(namesIn(child['collname'])));
    else if (key === 'SQLValueFunction') keywords.push(String(child['op']));
    else if (key === 'ColumnRef') attributes.push(...fieldsOf(child['fields']).slice(1));
    else if (key === 'A_Indirection') attributes.push(...fieldsOf(child['indirection']));
    else if (key === 'JoinExpr' && 'alias' in child) namesJoin = true;
  });
  return { calls, operators, attributes, types, collations, queries, keywords, namesJoin };
}

function callOf(node: TreeNode): Call {
  const sorted = node['agg_within_group'] === true ? listIn(node['agg_order']) : [];
  const args = [...listIn(node['args']), ...sorted.map((each) => inside(each, 'SortBy', 'node') ?? {})];
  const byPlace = node['func_variadic'] !== true && !args.some((arg) => 'NamedArgExpr' in arg);
  return {
    ...qualifiedName(namesIn(node['funcname'])),
    count: args.length,
    untyped: byPlace ? args.map(mayBeUntyped) : undefined,
  };
}

function operatorUses(key: string, node: TreeNode): readonly OperatorUse[] {
  const names = operatorsOf(key, node);
  if (names.length === 0) return [];
  const [left, right] = operandsOf(key, node);
  return names.map((name) => ({
    ...name,
    left: mayBeUntyped(left),
    right: mayBeUntyped(right),
    isPrefix: key === 'A_Expr' && left === undefined,
  }));
}

function operandsOf(key: string, node: TreeNode): readonly [left: unknown, right: unknown] {
  switch (key) {
    case 'A_Expr':
      return [node['lexpr'], node['rexpr']];
    case 'CaseExpr':
      return [node['arg'], listIn(node['args']).map((each) => inside(each, 'CaseWhen', 'expr'))];
    case 'SubLink':
      return [node['testexpr'], undefined];
    default:
      return [undefined, undefined];
  }
}

/** Text constants, nulls and parameters without a cast, alone or in a row or a list. */
function mayBeUntyped(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(mayBeUntyped);
  if (!isNode(value)) return false;
  const constant = value['A_Const'];
  if (isNode(constant)) return 'sval' in constant || 'isnull' in constant;
  if ('ParamRef' in value) return true;
  const items =
    inside(value, 'RowExpr')?.['args'] ??
    inside(value, 'List')?.['items'] ??
    inside(value, 'A_ArrayExpr')?.['elements'];
  return items !== undefined && mayBeUntyped(items);
}

function fieldsOf(fields: unknown): readonly QualifiedName[] {
  return listIn(fields).flatMap(({ String: field }) => namesIn(field).map((name) => ({ name })));
}
