import type { AbortSignalLike } from '@svc/edge';
import { DatabaseError } from '../../errors.ts';
import type { Session } from '../connection/session.ts';

export interface Wait {
  readonly signal: AbortSignalLike;
  readonly timeoutMs: number;
}

/** Somebody who waits for a session. */
export interface Waiter {
  readonly isBrief: boolean;
  readonly give: (session: Session) => void;
  readonly refuse: (error: DatabaseError) => void;
}

/** Adds a waiter to the end of the line, which it leaves when it is given a session, refused, aborted or late. */
export function waitInLine(
  line: Set<Waiter>,
  wait: Wait,
  isBrief: boolean,
  whyLate: () => DatabaseError,
): Promise<Session> {
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      clearTimeout(timer);
      wait.signal.removeEventListener('abort', onAbort);
      line.delete(waiter);
    };
    const waiter: Waiter = {
      isBrief,
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
    const timer = setTimeout(() => waiter.refuse(whyLate()), wait.timeoutMs);
    wait.signal.addEventListener('abort', onAbort);
    line.add(waiter);
  });
}
