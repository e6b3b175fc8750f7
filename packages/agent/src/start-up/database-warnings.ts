import type { Fault } from '../capabilities/fault.ts';
import type { Capability } from '../capabilities/model.ts';
import type { VerifierDatabase } from '../databases/driver.ts';
import { DatabaseError } from '../databases/errors.ts';

/** None where the database does not tell: a warning must not keep the agent from starting. */
export async function databaseWarnings(
  database: VerifierDatabase,
  capabilities: readonly Capability[],
): Promise<readonly Fault[]> {
  try {
    return await database.findWarnings(capabilities);
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    return [];
  }
}
