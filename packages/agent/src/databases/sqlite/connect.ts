import type { Database, DatabaseChange } from '../driver.ts';
import { DatabaseError } from '../errors.ts';
import { Pool } from '../sessions/pool.ts';
import type { SqliteConfig } from './config.ts';
import { poolRules, unavailable } from './connection/engine-errors.ts';
import { openSession, type SqliteSession } from './connection/session.ts';
import type { PreparedQuery } from './execute/prepared-query.ts';
import { createQueries } from './execute/run-query.ts';

/** So many short calls leave for a process, and come back from it, in one write. */
const MOST_SHORT = 16;
/** How long a question of our own may wait for a process that is free. */
const ASK_MS = 30_000;

export function createPool(
  config: SqliteConfig,
  onChange?: (change: DatabaseChange) => void,
): Pool<SqliteSession> {
  return new Pool(
    (signal) => openSession(config, signal),
    config.maxConnections,
    poolRules,
    onChange,
    MOST_SHORT,
  );
}

/** Runs `work` on a session that no other has meanwhile. Throws `DatabaseError`. */
export async function withSession<Result>(
  pool: Pool<SqliteSession>,
  work: (session: SqliteSession) => Promise<Result>,
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

export async function ping(pool: Pool<SqliteSession>): Promise<void> {
  const sql = 'select count(*) from sqlite_schema';
  try {
    await withSession(pool, (session) => session.read({ sql }));
  } catch (error) {
    throw unavailable(error);
  }
}

export function connect(config: SqliteConfig, onChange: (change: DatabaseChange) => void): Database {
  const pool = createPool(config, onChange);
  const queries = createQueries(pool);
  return {
    ping: () => ping(pool),
    prepare: (verified: PreparedQuery) => queries.prepare(verified),
    forget: (query) => queries.forget(query),
    get connections() {
      return pool.connections;
    },
    get isUp() {
      return pool.isUp;
    },
    close: () => pool.close(),
  };
}
