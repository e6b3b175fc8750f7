import { setImmediate } from 'node:timers/promises';
import { loadModule } from 'libpg-query';
import type { Capability } from '../../../../capabilities/model.ts';
import { quoteIdentifier } from '../../dialect/quote-identifier.ts';
import { readStatement, type ReadStatement } from './read-statement.ts';
import { isNode, walk, type TreeNode } from './tree.ts';

interface ReadableStatement {
  readonly capability: Capability;
  readonly read: ReadStatement;
}

/** The statements of capabilities that can be read. Reading many takes seconds, so other work gets its turn in between. */
export async function* readableStatements(
  capabilities: readonly Capability[],
): AsyncGenerator<ReadableStatement> {
  await loadModule();
  for (const capability of capabilities) {
    await setImmediate();
    const result = readStatement(capability);
    if (result.ok) yield { capability, read: result.read };
  }
}

export async function statementTrees(capabilities: readonly Capability[]): Promise<readonly TreeNode[]> {
  const trees: TreeNode[] = [];
  for await (const { read } of readableStatements(capabilities)) trees.push(read.inspected.tree);
  return trees;
}

/** The tables and views that the statements read, as they name them: quoted, with a schema only if it was written. */
export async function namedRelations(capabilities: readonly Capability[]): Promise<readonly string[]> {
  const found = new Set<string>();
  for (const tree of await statementTrees(capabilities)) {
    const own = new Set<unknown>();
    const named: TreeNode[] = [];
    walk(tree, (key, child) => {
      if (key === 'ctename') own.add(child);
      if (key === 'RangeVar' && isNode(child)) named.push(child);
    });
    for (const { schemaname, relname } of named) {
      if (schemaname === undefined && own.has(relname)) continue;
      const parts = [schemaname, relname].filter((part) => typeof part === 'string');
      found.add(parts.map(quoteIdentifier).join('.'));
    }
  }
  return [...found];
}
