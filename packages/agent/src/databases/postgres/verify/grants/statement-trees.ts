import { setImmediate } from 'node:timers/promises';
import { loadModule } from 'libpg-query';
import type { Capability } from '../../../../capabilities/model.ts';
import { readStatement } from '../statement/read-statement.ts';

/** The parse trees of the statements that can be read. */
export async function statementTrees(capabilities: readonly Capability[]): Promise<readonly unknown[]> {
  await loadModule();
  const trees: unknown[] = [];
  for (const capability of capabilities) {
    // As in `unorderedStatements`.
    await setImmediate();
    const result = readStatement(capability);
    if (result.ok) trees.push(result.read.inspected.tree);
  }
  return trees;
}
