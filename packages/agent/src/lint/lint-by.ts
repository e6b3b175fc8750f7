import type { Fault } from '../capabilities/fault.ts';
import type { Capability } from '../capabilities/model.ts';
import type { VerifierDatabase } from '../databases/driver/driver.ts';
import type { Finding } from './finding.ts';
import { lintCapabilities } from './lint-capabilities.ts';

/** All findings, as far as `asked` tells, which may have no database. */
export async function lintBy(
  asked: Required<Pick<VerifierDatabase, 'findUnordered' | 'findClauseAdvice'>>,
  capabilities: readonly Capability[],
  warnings: readonly Fault[],
): Promise<readonly Finding[]> {
  const unordered = await asked.findUnordered(capabilities);
  const ofClauses = await asked.findClauseAdvice(capabilities);
  return lintCapabilities(capabilities, { warnings, unordered, ofClauses });
}
