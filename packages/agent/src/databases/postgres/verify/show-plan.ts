import { runOwnStatements } from '../execute/own-statements.ts';
import type { PreparedQuery } from '../execute/prepared-query.ts';
import type { SessionPool } from '../pool/session-pool.ts';
import { explain, STEP_TIMEOUT_MS } from './plan-statement.ts';

/** The plan of what runs for a call, for any values of its parameters, as the server writes it. Nothing runs. */
export async function showPlan(
  pool: SessionPool,
  { capability, prefix, params }: PreparedQuery,
): Promise<readonly string[]> {
  const statements = explain(prefix, params.length, 'format text');
  const { results } = await runOwnStatements(pool, { statements, capability, timeoutMs: STEP_TIMEOUT_MS });
  return (results[2]?.rows ?? []).map(([line]) => line ?? '');
}
