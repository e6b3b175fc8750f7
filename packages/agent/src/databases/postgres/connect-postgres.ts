import type { DatabaseConfig } from '../../config/agent-config.ts';
import type { DatabaseChange, Query, RunningDatabase } from '../database.ts';
import { ask } from './ask.ts';
import { SessionPool } from './pool.ts';
import { createQuery, type VerifiedQuery } from './run.ts';
import { openSession } from './session.ts';

/** How long a ping waits for a connection: a little more than making one may take. */
const PING_TIMEOUT_MS = 11_000;

interface ConnectedPostgres {
  readonly pool: SessionPool;
  readonly database: RunningDatabase;
  readonly queryOf: (verified: VerifiedQuery) => Query;
}

/**
 * A PostgreSQL database, without what verifies capabilities, which is much and needed once. Connects when it is first
 * used, and again whenever a connection was lost.
 */
export function connectPostgres(
  config: DatabaseConfig,
  onChange?: (change: DatabaseChange) => void,
): ConnectedPostgres {
  const pool = new SessionPool((signal) => openSession(config, signal), config.maxConnections, onChange);
  return {
    pool,
    database: {
      ping: async () => {
        await ask(pool, { statements: [{ text: 'select 1' }], capability: '', timeoutMs: PING_TIMEOUT_MS });
      },
      get connections() {
        return pool.connections;
      },
      get isUp() {
        return pool.isUp;
      },
      close: () => pool.close(),
    },
    queryOf: (verified) => createQuery(pool, verified),
  };
}
