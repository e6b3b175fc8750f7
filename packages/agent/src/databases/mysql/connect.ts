import type { Database, DatabaseChange } from '../driver/driver.ts';
import { Pool, pooledDatabase } from '../sessions/pool.ts';
import type { MysqlConfig } from './config/config.ts';
import { createKillQuery } from './connection/kill-query.ts';
import { poolRules } from './connection/server-errors.ts';
import { openSession, type MysqlSession } from './connection/session.ts';
import { askDatabase } from './connection/with-session.ts';
import type { PreparedQuery } from './execute/prepared-query.ts';
import { createQuery } from './execute/run-query.ts';

export function createPool(
  config: MysqlConfig,
  onChange?: (change: DatabaseChange) => void,
): Pool<MysqlSession> {
  return new Pool((signal) => openSession(config, signal), config.maxConnections, poolRules, onChange);
}

export async function ping(pool: Pool<MysqlSession>): Promise<void> {
  await askDatabase(pool, (session) => session.ask('select 1'));
}

export function connect(config: MysqlConfig, onChange: (change: DatabaseChange) => void): Database {
  const pool = createPool(config, onChange);
  const kill = createKillQuery(config);
  return pooledDatabase(pool, {
    ping: () => ping(pool),
    prepare: (verified: PreparedQuery) => createQuery(pool, kill, verified),
  });
}
