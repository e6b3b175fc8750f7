import type { VerificationFault } from '../databases/driver/errors.ts';
import type { Proposal } from './model.ts';

/** Leaves out the capabilities that fail their check. Undefined if none is left, or if a fault is about something else. */
export function withoutFailing(
  proposal: Proposal,
  faults: readonly Pick<VerificationFault, 'path' | 'message'>[],
): Proposal | undefined {
  const names = new Set(proposal.tables.flatMap(({ capabilities }) => capabilities.map(({ name }) => name)));
  const reasons = new Map<string, string>();
  for (const { path, message } of faults) {
    const [, name = ''] = /^capabilities\.([^.]+)/.exec(path) ?? [];
    if (!names.delete(name) && !reasons.has(name)) return undefined;
    reasons.set(name, `its check failed: it ${message}`);
  }
  if (names.size === 0) return undefined;
  const tables = proposal.tables.map((table) => ({
    ...table,
    capabilities: table.capabilities.filter(({ name }) => names.has(name)),
    leftOut: [
      ...table.leftOut,
      ...table.capabilities.flatMap(({ name }) => {
        const reason = reasons.get(name);
        return reason === undefined ? [] : [{ name, reason }];
      }),
    ],
  }));
  return { ...proposal, tables };
}
