import type { Database, DatabaseChange } from '../driver/driver.ts';
import { DatabaseError } from '../driver/errors.ts';
import { Pool, pooledDatabase } from '../sessions/pool.ts';
import type { PoolRules } from '../sessions/pool-base.ts';
import { createQueries, type EngineRules, type LimitedDefinition } from './engine-queries.ts';
import { ASK, type ReadQuestion } from './engine-questions.ts';
import type { EngineSession } from './engine-session.ts';

/** How long a question of the driver may wait for a free process. */
const ASK_MS = 30_000;

export type EnginePool = Pool<EngineSession>;

const poolRules: PoolRules = {
  hasTooMany: () => false,
  isOfEndedSession: () => false,
  // The file may appear, or become readable, at any time.
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

export function createEnginePool(
  open: ConstructorParameters<typeof Pool<EngineSession>>[0],
  max: number,
  onChange?: (change: DatabaseChange) => void,
  mostShort: number = 1,
): EnginePool {
  return new Pool(open, max, poolRules, onChange, mostShort);
}

/** Runs `work` on a session of its own. Throws `DatabaseError`. */
export async function withSession<Result>(
  pool: EnginePool,
  work: (session: EngineSession) => Promise<Result>,
): Promise<Result> {
  const session = await pool.acquire({ signal: new AbortController().signal, timeoutMs: ASK_MS });
  try {
    const result = await work(session);
    pool.release(session);
    return result;
  } catch (error) {
    pool.discard(session);
    throw error instanceof DatabaseError ? error : unavailable(error);
  }
}

/** The rows of a statement of the driver itself. */
export function askRows<Row>(session: EngineSession, sql: string): Promise<readonly Row[]> {
  return session.ask(ASK.read, { sql } satisfies ReadQuestion);
}

/** Proves that the database answers a statement of the driver. Throws `DatabaseError`. */
export async function pingBy(pool: EnginePool, sql: string): Promise<void> {
  try {
    await withSession(pool, (session) => askRows(session, sql));
  } catch (error) {
    throw unavailable(error);
  }
}

export function engineDatabase<Definition extends LimitedDefinition>(
  pool: EnginePool,
  ping: () => Promise<void>,
  rules: EngineRules<Definition>,
): Database {
  return pooledDatabase(pool, {
    ping,
    ...createQueries(pool, rules),
  });
}
