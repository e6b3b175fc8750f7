import { DatabaseError } from '../../driver/errors.ts';
import type { SessionFacts } from '../connection/database-session.ts';
import type { Rows, Statement } from '../connection/statement.ts';
import { kindOf, textOf } from '../connection/server-errors.ts';
import type { SessionPool } from '../pool/session-pool.ts';
import { runTransaction } from './transaction.ts';

interface OwnStatements {
  readonly statements: readonly Statement[];
  /** The capability that they are for; empty for the service itself. */
  readonly capability?: string;
  readonly timeoutMs?: number;
}

export interface OwnOutput {
  readonly results: readonly Rows[];
  readonly facts: SessionFacts;
}

const TIMEOUT_MS = 30_000;

/**
 * Goes before statements of the service's own, in their transaction. Otherwise somebody who may create objects on the
 * account's search path could define an SQL operator that fits better than PostgreSQL's, and its function would run with
 * the account's rights. Statements that resolve the names of the author's SQL go before it.
 */
export const PIN_SEARCH_PATH: Statement = {
  text: "select pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true)",
};

/** Runs the service's own statements as calls are run; throws `DatabaseError`, its cause being what failed. */
export async function runOwnStatements(
  pool: SessionPool,
  { statements, capability = '', timeoutMs = TIMEOUT_MS }: OwnStatements,
): Promise<OwnOutput> {
  const limit = { signal: new AbortController().signal, timeoutMs };
  const session = await pool.acquire(limit);
  const settings = { apiKeyName: '', capability, requestId: '' };
  const done = await runTransaction(pool, session, { statements, settings }, limit);
  const { error } = done;
  if (error !== undefined)
    throw new DatabaseError(done.stopped ?? kindOf(error), textOf(error), { cause: error });
  return { results: done.results, facts: session.facts };
}

/** The rows of one statement that runs after `PIN_SEARCH_PATH`. */
export async function askCatalog(
  pool: SessionPool,
  statement: Statement,
  options?: Omit<OwnStatements, 'statements'>,
): Promise<Rows['rows']> {
  const { results } = await runOwnStatements(pool, { ...options, statements: [PIN_SEARCH_PATH, statement] });
  return results[1]?.rows ?? [];
}
