import { setImmediate } from 'node:timers/promises';
import { loadModule } from 'libpg-query';
import type { Capability } from '../../../../capabilities/model.ts';
import { quoteIdentifier } from '../../dialect/quote-identifier.ts';
import { readStatement } from './read-statement.ts';
import { isNode, walk, type TreeNode } from './tree.ts';

/** The tables and views that the statements read, as they name them: quoted, with a schema only where it was written. */
export async function namedRelations(capabilities: readonly Capability[]): Promise<readonly string[]> {
  await loadModule();
  const found = new Set<string>();
  for (const capability of capabilities) {
    // As in `unorderedStatements`.
    await setImmediate();
    const result = readStatement(capability);
    if (!result.ok) continue;
    const own = new Set<unknown>();
    const named: TreeNode[] = [];
    walk(result.read.inspected.tree, (key, child) => {
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
