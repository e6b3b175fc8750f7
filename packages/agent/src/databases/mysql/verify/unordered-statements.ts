import type { Capability } from '../../../capabilities/model.ts';
import { readStatement } from './read-statement.ts';

/** The names of those that may give several rows and do not say in which order: a guess, for want of the table's keys. */
export function unorderedStatements(capabilities: readonly Capability[]): readonly string[] {
  return capabilities.flatMap((capability) => {
    const result = readStatement(capability);
    if (!result.ok || result.read.select.isOrdered || capability.limits.maxRows === 1) return [];
    const reads = result.read.select.body.some(({ kind, text }) => kind === 'word' && /^from$/i.test(text));
    return reads ? [capability.name] : [];
  });
}
