import { parseSync } from 'libpg-query';
import { quoteIdentifier } from '../../dialect/quote-identifier.ts';
import { inside, isNode, isSameTree, listIn, walk, type TreeNode } from '../statement/tree.ts';

export interface QualifiedText {
  readonly text: string;
  readonly tree: TreeNode;
}

/**
 * Puts its schema in front of each relation that is named without one: `schemaOf` gives it by the relation's name.
 * Undefined if the text then means anything else to the parser. No WITH query may have the name of a relation.
 */
export function qualify(
  text: string,
  tree: TreeNode,
  schemaOf: (name: string) => string | undefined,
): QualifiedText | undefined {
  const places = new Map<number, string>();
  walk(tree, (key, child) => {
    if (key !== 'RangeVar' || !isNode(child)) return;
    const schema = schemaFor(child, schemaOf);
    if (schema !== undefined) places.set(Number(child['location'] ?? 0), schema);
  });
  const source = Buffer.from(text, 'utf8');
  const pieces: Buffer[] = [];
  let at = 0;
  for (const [place, schema] of [...places].toSorted(([a], [b]) => a - b)) {
    pieces.push(source.subarray(at, place), Buffer.from(`${quoteIdentifier(schema)}.`));
    at = place;
  }
  const qualified = Buffer.concat([...pieces, source.subarray(at)]).toString('utf8');
  const parsed: unknown = parseSync(qualified);
  const statements = isNode(parsed) ? listIn(parsed['stmts']) : [];
  const found = statements.length === 1 ? inside(statements[0], 'stmt', 'SelectStmt') : undefined;
  if (found === undefined || !isSameTree(found, withSchemas(tree, schemaOf))) return undefined;
  return { text: qualified, tree: found };
}

function schemaFor(
  { schemaname: schema, relname: name }: TreeNode,
  schemaOf: (name: string) => string | undefined,
): string | undefined {
  return schema === undefined && typeof name === 'string' ? schemaOf(name) : undefined;
}

/** The tree that the parser must make of the qualified text. */
function withSchemas(value: unknown, schemaOf: (name: string) => string | undefined): unknown {
  if (Array.isArray(value)) return value.map((item: unknown) => withSchemas(item, schemaOf));
  if (!isNode(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, child]): [string, unknown] => {
      const schema = key === 'RangeVar' && isNode(child) ? schemaFor(child, schemaOf) : undefined;
      const inner = withSchemas(child, schemaOf);
      return [key, schema === undefined || !isNode(inner) ? inner : { schemaname: schema, ...inner }];
    }),
  );
}
