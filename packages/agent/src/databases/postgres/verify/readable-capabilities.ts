import { loadModule } from 'libpg-query';
import type { Capability } from '../../../capabilities/model.ts';
import type { VerificationFault } from '../../driver/errors.ts';
import { readAssembled } from './clauses/read-assembled.ts';
import { readStatement, refusedAsTooDeep } from './statement/read-statement.ts';

/** The faults that need no database to be seen. */
export async function readCapabilities(
  capabilities: readonly Capability[],
): Promise<readonly VerificationFault[]> {
  await loadModule();
  return capabilities.flatMap((capability) => {
    if (capability.clauses !== undefined) {
      const result = readAssembled(capability);
      return result.ok ? [] : result.faults;
    }
    try {
      const result = readStatement(capability);
      return result.ok ? [] : result.faults;
    } catch (error) {
      return refusedAsTooDeep(capability, error).faults;
    }
  });
}
