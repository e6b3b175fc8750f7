import type { AbortSignalLike } from '@svc/edge';
import { DatabaseError } from '../../errors.ts';
import type { DatabaseSession } from '../connection/database-session.ts';

/** How long a transaction may take, waiting for a session included: until the time is up or the signal aborts. */
export interface TimeLimit {
  readonly signal: AbortSignalLike;
  readonly timeoutMs: number;
}

/** A transaction that waits for a session. */
export interface Waiter {
  /** See `LatencyTracker`. */
  readonly shortMs: number | undefined;
  readonly give: (session: DatabaseSession) => void;
  readonly refuse: (error: DatabaseError) => void;
}

/** Adds a waiter to the end of the queue, which it leaves when it is given a session, refused, aborted or late. */
export function joinWaitQueue(
  queue: Set<Waiter>,
  limit: TimeLimit,
  shortMs: number | undefined,
  whyLate: () => DatabaseError,
): Promise<DatabaseSession> {
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      clearTimeout(timer);
      limit.signal.removeEventListener('abort', onAbort);
      queue.delete(waiter);
    };
    const waiter: Waiter = {
      shortMs,
      give: (session) => {
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
    queue.add(waiter);
  });
}
