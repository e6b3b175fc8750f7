import type { Database, DatabaseChange } from '../driver.ts';
import { Pool } from '../sessions/pool.ts';
import type { MysqlConfig } from './config.ts';
import { createKillQuery } from './connection/kill-query.ts';
import { isLoss, poolRules, unavailable } from './connection/server-errors.ts';
import { openSession, type MysqlSession } from './connection/session.ts';
import type { PreparedQuery } from './execute/prepared-query.ts';
import { createQuery } from './execute/run-query.ts';

/** How long a question of our own may take: a little more than making a connection. */
const ASK_MS = 11_000;

export function createPool(
  config: MysqlConfig,
  onChange?: (change: DatabaseChange) => void,
): Pool<MysqlSession> {
  return new Pool((signal) => openSession(config, signal), config.maxConnections, poolRules, onChange);
}

/** Runs `work` on a session that no other has meanwhile. */
export async function withSession<Result>(
  pool: Pool<MysqlSession>,
  work: (session: MysqlSession) => Promise<Result>,
): Promise<Result> {
  const session = await pool.acquire({ signal: new AbortController().signal, timeoutMs: ASK_MS });
  try {
    const result = await work(session);
    pool.release(session);
    return result;
  } catch (error) {
    if (isLoss(error)) pool.discard(session);
    else pool.release(session);
    throw error;
  }
}

export async function ping(pool: Pool<MysqlSession>): Promise<void> {
  try {
    await withSession(pool, (session) => session.ask('select 1'));
  } catch (error) {
    throw unavailable(error);
  }
}

export function connect(config: MysqlConfig, onChange: (change: DatabaseChange) => void): Database {
  const pool = createPool(config, onChange);
  const kill = createKillQuery(config);
  return {
    ping: () => ping(pool),
    prepare: (verified: PreparedQuery) => createQuery(pool, kill, verified),
    // Nothing beside the query itself knows of it; its statements last as long as the connections.
    forget: () => {},
    get connections() {
      return pool.connections;
    },
    get isUp() {
      return pool.isUp;
    },
    close: () => pool.close(),
  };
}
