import type { Fault } from '../../../capabilities/fault.ts';
import { warningOf } from '../connection/server-support.ts';
import { runOwnStatements } from '../execute/own-statements.ts';
import type { SessionPool } from '../pool/session-pool.ts';

const TIMEOUT_MS = 30_000;

/** What whoever serves such a server has to know at each start. */
export async function serverWarnings(pool: SessionPool): Promise<readonly Fault[]> {
  const { facts } = await runOwnStatements(pool, { statements: [], capability: '', timeoutMs: TIMEOUT_MS });
  const message = warningOf(facts.told);
  return message === undefined ? [] : [{ path: 'database', message }];
}
