import type { Pool } from '../../sessions/pool.ts';
import { isLoss, unavailable } from './server-errors.ts';
import type { MysqlSession } from './session.ts';

/** How long a question of the driver may wait: a little more than making a connection takes. */
const ASK_MS = 11_000;

/** Runs `work` on a session of its own. */
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

/** The same, but throws only `DatabaseError`. */
export async function askDatabase<Result>(
  pool: Pool<MysqlSession>,
  work: (session: MysqlSession) => Promise<Result>,
): Promise<Result> {
  try {
    return await withSession(pool, work);
  } catch (error) {
    throw unavailable(error);
  }
}
