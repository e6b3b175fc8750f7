import type { MysqlConfig } from '../config/config.ts';
import { isLoss } from './server-errors.ts';
import { openSession, type MysqlSession } from './session.ts';

/**
 * Ends the query that a connection runs, over another connection, unless `isRunning` says by then that its answer has come:
 * it would end whatever else the server does there. Resolves when the server was told, or need not be.
 */
export type KillQuery = (threadId: number, isRunning: () => boolean) => Promise<void>;

interface Victim {
  readonly threadId: number;
  readonly isRunning: () => boolean;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Uses one connection beyond those of the pool, however many queries are to end at once. */
export function createKillQuery(config: MysqlConfig): KillQuery {
  const victims: Victim[] = [];
  let isTelling = false;

  async function tellAll(): Promise<void> {
    isTelling = true;
    let session: MysqlSession | undefined;
    try {
      // The answer may have arrived already.
      await new Promise((resolve) => setImmediate(resolve));
      if (!victims.some(({ isRunning }) => isRunning())) {
        for (const { resolve } of victims.splice(0)) resolve();
        return;
      }
      session = await openSession(config, new AbortController().signal);
      session.onEnd(() => {});
      for (let next = victims.shift(); next !== undefined; next = victims.shift()) await tell(session, next);
    } catch (error) {
      for (const victim of victims.splice(0)) victim.reject(error);
    } finally {
      isTelling = false;
      session?.close();
    }
  }

  return (threadId, isRunning) =>
    new Promise((resolve, reject) => {
      victims.push({ threadId, isRunning, resolve, reject });
      if (!isTelling) void tellAll();
    });
}

/** Throws if the connection is lost. */
async function tell(session: MysqlSession, { threadId, isRunning, resolve, reject }: Victim): Promise<void> {
  try {
    if (isRunning()) await session.ask(`kill query ${threadId}`);
    resolve();
  } catch (error) {
    reject(error);
    if (isLoss(error)) throw error;
  }
}
