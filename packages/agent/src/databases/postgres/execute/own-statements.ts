import { DatabaseError } from '../../driver/errors.ts';
import { kindOf, textOf } from '../connection/server-errors.ts';
import { runTransaction } from './transaction.ts';
import type { Rows, Statement } from '../connection/pipeline.ts';
import type { SessionPool } from '../pool/session-pool.ts';
import type { SessionFacts } from '../connection/database-session.ts';

export interface OwnStatements {
  readonly statements: readonly Statement[];
  /** For which capability they run; empty for the service itself. */
  readonly capability: string;
  readonly timeoutMs: number;
}

export interface OwnOutput {
  readonly results: readonly Rows[];
  readonly facts: SessionFacts;
}

/** Runs the service's own statements as calls are run; throws `DatabaseError`, its cause being what failed. */
export async function runOwnStatements(pool: SessionPool, own: OwnStatements): Promise<OwnOutput> {
  const limit = { signal: new AbortController().signal, timeoutMs: own.timeoutMs };
  const session = await pool.acquire(limit);
  const settings = { apiKeyName: '', capability: own.capability, requestId: '' };
  const done = await runTransaction(pool, session, { ...own, settings }, limit);
  const { error } = done;
  if (error !== undefined)
    throw new DatabaseError(done.stopped ?? kindOf(error), textOf(error), { cause: error });
  return { results: done.results, facts: session.facts };
}
