import { DatabaseError } from '../../errors.ts';
import type { PoolRules } from '../../sessions/pool.ts';

export const poolRules: PoolRules = {
  hasTooMany: () => false,
  isOfEndedSession: () => false,
  // The file may be put there, or be given to the agent's user, at any time.
  mayPass: () => true,
  unavailable,
};

export function unavailable(cause: unknown): DatabaseError {
  const text = cause instanceof Error ? cause.message : String(cause);
  const advice = cause instanceof DatabaseError ? cause.advice : undefined;
  return new DatabaseError('unavailable', `cannot use the database: ${text}`, {
    cause,
    advice: advice ?? 'it cannot be opened: check file',
  });
}
