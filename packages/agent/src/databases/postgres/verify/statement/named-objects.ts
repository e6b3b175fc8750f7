import { operatorsOf, qualifiedName, type QualifiedName } from './inspect.ts';
import { isNode, listIn, namesIn, visitQueries, type TreeNode } from './tree.ts';

/** What a statement names, whether or not the catalog has it. */
export interface NamedObjects {
  readonly functions: readonly QualifiedName[];
  /** As `price` in `(item).price`, which may be a call of `price(item)`. */
  readonly attributes: readonly QualifiedName[];
  /** Those of calls too: `price(1)` may be a cast. */
  readonly types: readonly QualifiedName[];
  readonly operators: readonly QualifiedName[];
  readonly relations: readonly QualifiedName[];
  readonly buildsJson: boolean;
  /** Whether a text without a type may become an element of an array. */
  readonly makesElements: boolean;
}

const WITH_ELEMENTS = /^(?:array_(?:append|prepend|positions?|remove|replace)|width_bucket)$/;

/** Reads a parse tree, or a list of them. The name of a WITH query is no relation while it is in force. */
export function namedObjects(tree: unknown): NamedObjects {
  const functions: QualifiedName[] = [];
  const attributes: QualifiedName[] = [];
  const types: QualifiedName[] = [];
  const operators: QualifiedName[] = [];
  const relations: QualifiedName[] = [];
  let buildsJson = false;
  let makesElements = false;

  const record = (key: string, node: TreeNode, queries: ReadonlySet<string>): void => {
    operators.push(...operatorsOf(key, node));
    if (key.startsWith('Json')) buildsJson = true;
    if (key === 'FuncCall') {
      const called = qualifiedName(namesIn(node['funcname']));
      functions.push(called);
      types.push(called);
      if (takesElement(node)) makesElements = true;
    } else if (key === 'RangeTableSample') {
      functions.push(qualifiedName(namesIn(node['method'])));
    } else if (key === 'typeName' || key === 'TypeName') {
      types.push(qualifiedName(namesIn(node['names'])));
    } else if (key === 'ColumnRef') {
      attributes.push(...namesOfFields(node['fields']).slice(1));
    } else if (key === 'A_Indirection') {
      attributes.push(...namesOfFields(node['indirection']));
    } else if (key === 'RangeVar') {
      const { schemaname: schema, relname: name } = node;
      if (typeof name !== 'string') return;
      if (typeof schema === 'string') relations.push({ schema, name });
      else if (!queries.has(name)) relations.push({ name });
    }
  };
  const visit = (key: string, value: unknown, queries: ReadonlySet<string>): void => {
    if (Array.isArray(value)) {
      for (const item of value) visit(key, item, queries);
    } else if (isNode(value)) {
      record(key, value, queries);
      const { withClause } = value;
      const inForce = isNode(withClause)
        ? visitQueries(withClause, queries, (query, names) => visit('CommonTableExpr', query, names))
        : queries;
      for (const [name, child] of Object.entries(value)) {
        if (name !== 'withClause') visit(name, child, inForce);
      }
    }
  };
  visit('', tree, new Set());
  return { functions, attributes, types, operators, relations, buildsJson, makesElements };
}

function takesElement(node: TreeNode): boolean {
  if (!WITH_ELEMENTS.test(namesIn(node['funcname']).at(-1) ?? '')) return false;
  return listIn(node['args']).some(({ A_Const: value }) => isNode(value) && 'sval' in value);
}

function namesOfFields(fields: unknown): readonly QualifiedName[] {
  return listIn(fields).flatMap(({ String: field }) => namesIn(field).map((name) => ({ name })));
}
