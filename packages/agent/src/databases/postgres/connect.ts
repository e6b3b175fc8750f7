import type { Database, DatabaseChange, Query, SharingEnded } from '../driver/driver.ts';
import { pooledDatabase } from '../sessions/pool.ts';
import { runOwnStatements } from './execute/own-statements.ts';
import type { PostgresConfig } from './config/config.ts';
import { SessionPool } from './pool/session-pool.ts';
import { createQuery } from './execute/run-query.ts';
import type { PreparedQuery } from './execute/prepared-query.ts';
import { openSession } from './connection/database-session.ts';

/** How long a ping waits for a connection: a little more than making one may take. */
const PING_TIMEOUT_MS = 11_000;

export function createPool(
  config: PostgresConfig,
  onChange?: (change: DatabaseChange | SharingEnded) => void,
): SessionPool {
  return new SessionPool((signal) => openSession(config, signal), config.maxConnections, onChange);
}

export async function ping(pool: SessionPool): Promise<void> {
  await runOwnStatements(pool, {
    statements: [{ text: 'select 1' }],
    timeoutMs: PING_TIMEOUT_MS,
  });
}

/** `create` is for queries that answer in another way. */
export function connect(
  config: PostgresConfig,
  onChange: (change: DatabaseChange | SharingEnded) => void,
  create: (pool: SessionPool, verified: PreparedQuery) => Query = createQuery,
): Database {
  const pool = createPool(config, onChange);
  return pooledDatabase(pool, {
    ping: () => ping(pool),
    prepare: (verified: PreparedQuery) => create(pool, verified),
    transactions: pool.sharedCalls.counts,
  });
}
