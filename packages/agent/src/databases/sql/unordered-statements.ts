import type { Capability } from '../../capabilities/model.ts';
import type { OneSelect } from './one-select.ts';

/** The names of those that may give several rows and do not say in which order: a guess, for want of the table's keys. */
export function unorderedStatements(
  capabilities: readonly Capability[],
  /** Undefined for a statement that is at fault. */
  selectOf: (capability: Capability) => OneSelect | undefined,
): readonly string[] {
  return capabilities.flatMap((capability) => {
    const select = selectOf(capability);
    if (select === undefined || select.isOrdered || capability.limits.maxRows === 1) return [];
    const reads = select.body.some(({ kind, text }) => kind === 'word' && /^from$/i.test(text));
    return reads ? [capability.name] : [];
  });
}
