import type { AbortSignalLike, TurnQueue } from '@svc/edge';
import type { CallerShare } from '../../driver.ts';
import { DatabaseError } from '../../errors.ts';
import type { DatabaseSession } from '../connection/database-session.ts';

/** How long a transaction may take, waiting for a session included: until the time is up or the signal aborts. */
export interface TimeLimit {
  readonly signal: AbortSignalLike;
  readonly timeoutMs: number;
  /** For whom; absent for the service itself. */
  readonly share?: CallerShare | undefined;
}

/** Transactions that wait, by their callers. */
export type WaitQueue = TurnQueue<CallerShare | undefined, Waiter>;

/** A transaction that waits for a session. */
interface Waiter {
  /** See `LatencyTracker`. */
  readonly shortMs: number | undefined;
  readonly share: CallerShare | undefined;
  readonly give: (session: DatabaseSession) => void;
  readonly refuse: (error: DatabaseError) => void;
}

/** Adds a waiter to the end of its caller's queue, which it leaves when it is given a session, refused, aborted or late. */
export function joinWaitQueue(
  queue: WaitQueue,
  limit: TimeLimit,
  shortMs: number | undefined,
  whyLate: () => DatabaseError,
): Promise<DatabaseSession> {
  const { share } = limit;
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      clearTimeout(timer);
      limit.signal.removeEventListener('abort', onAbort);
      queue.delete(share, waiter);
    };
    const waiter: Waiter = {
      shortMs,
      share,
      give: (session) => {
        queue.served(share);
        leave();
        resolve(session);
      },
      refuse: (error) => {
        leave();
        reject(error);
      },
    };
    const onAbort = (): void => waiter.refuse(new DatabaseError('cancelled', 'cancelled while waiting'));
    const timer = setTimeout(() => waiter.refuse(whyLate()), limit.timeoutMs);
    limit.signal.addEventListener('abort', onAbort);
    queue.add(share, waiter);
  });
}
