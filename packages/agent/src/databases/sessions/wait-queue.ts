import type { AbortSignalLike, TurnQueue } from '@svc/edge';
import type { CallerShare } from '../driver/driver.ts';
import { DatabaseError } from '../driver/errors.ts';

/** How long a transaction may take, waiting for a session included: until the time is up or the signal aborts. */
export interface TimeLimit {
  readonly signal: AbortSignalLike;
  readonly timeoutMs: number;
  /** For whom; absent for the service itself. */
  readonly share?: CallerShare | undefined;
}

/** Transactions that wait, by their callers. */
export type WaitQueue<Session> = TurnQueue<CallerShare | undefined, Waiter<Session>>;

/** A transaction that waits for a session. */
interface Waiter<Session> {
  /** How long it is expected to take, where it may share a session. */
  readonly shortMs: number | undefined;
  readonly share: CallerShare | undefined;
  readonly give: (session: Session) => void;
  readonly refuse: (error: DatabaseError) => void;
}

/** Adds a waiter to the end of its caller's queue, which it leaves when it is given a session, refused, aborted or late. */
export function joinWaitQueue<Session>(
  queue: WaitQueue<Session>,
  limit: TimeLimit,
  shortMs: number | undefined,
  whyLate: () => DatabaseError,
): Promise<Session> {
  const { share } = limit;
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      clearTimeout(timer);
      limit.signal.removeEventListener('abort', onAbort);
      queue.delete(share, waiter);
    };
    const waiter: Waiter<Session> = {
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
