import { DatabaseError } from '../database.ts';
import { unavailable } from './errors.ts';
import { destroy, type Session } from './session.ts';

export interface Wait {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

interface Waiter {
  readonly give: (session: Session) => void;
  readonly refuse: (error: DatabaseError) => void;
}

/**
 * Lends each session to one borrower at a time; first come, first served. Connections are made when they are
 * needed, up to `max`, kept while idle, and forgotten when they break.
 */
export class SessionPool {
  readonly #open: () => Promise<Session>;
  readonly #max: number;
  readonly #live = new Set<Session>();
  readonly #idle: Session[] = [];
  readonly #waiters = new Set<Waiter>();
  #opening = 0;
  #closing = false;
  #closed: (() => void) | undefined;

  constructor(open: () => Promise<Session>, max: number) {
    this.#open = open;
    this.#max = max;
  }

  /** Throws `DatabaseError`: `cancelled` by the signal, `timeout`, or `unavailable` when no connection can be made. */
  async acquire(wait: Wait): Promise<Session> {
    if (this.#closing) throw new DatabaseError('unavailable', 'cannot run: the database is being closed');
    if (wait.signal.aborted) throw new DatabaseError('cancelled', 'cancelled before it began');
    // The most recently used one first: its caches are warm, and the others may be let go by a pooler.
    const idle = this.#idle.pop();
    return idle ?? this.#queue(wait);
  }

  /** Gives back a session that is fit for the next borrower. */
  release(session: Session): void {
    if (!this.#live.has(session)) return;
    if (this.#closing) {
      void session.client.end();
      return;
    }
    this.#hand(session);
  }

  /** Ends a session whose state is in doubt. */
  discard(session: Session): void {
    this.#forget(session);
    destroy(session);
  }

  /** Ends idle sessions now and the others when they come back; resolves when none is left. */
  async close(): Promise<void> {
    this.#closing = true;
    this.#refuseAll(new DatabaseError('unavailable', 'cannot run: the database is being closed'));
    for (const session of this.#idle.splice(0)) void session.client.end();
    if (this.#live.size + this.#opening === 0) return;
    await new Promise<void>((resolve) => {
      this.#closed = resolve;
    });
  }

  #queue(wait: Wait): Promise<Session> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        clearTimeout(timer);
        wait.signal.removeEventListener('abort', onAbort);
        this.#waiters.delete(waiter);
      };
      const waiter: Waiter = {
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
      const timer = setTimeout(() => {
        waiter.refuse(new DatabaseError('timeout', 'no database connection became free in time'));
      }, wait.timeoutMs);
      wait.signal.addEventListener('abort', onAbort);
      this.#waiters.add(waiter);
      this.#grow();
    });
  }

  #grow(): void {
    while (this.#opening < this.#waiters.size && this.#live.size + this.#opening < this.#max) {
      this.#opening += 1;
      this.#open().then(
        (session) => {
          this.#opening -= 1;
          this.#adopt(session);
        },
        (error: unknown) => {
          this.#opening -= 1;
          this.#refused(error);
        },
      );
    }
  }

  #adopt(session: Session): void {
    if (this.#closing) {
      destroy(session);
      this.#settleClose();
      return;
    }
    this.#live.add(session);
    session.client.once('end', () => this.#forget(session));
    this.#hand(session);
  }

  #hand(session: Session): void {
    const [next] = this.#waiters;
    if (next === undefined) this.#idle.push(session);
    else next.give(session);
  }

  #refused(error: unknown): void {
    // Sessions that still live will come back to those who wait; without any, nobody should wait in vain.
    if (this.#live.size + this.#opening === 0) {
      this.#refuseAll(error instanceof DatabaseError ? error : unavailable(error));
    }
    this.#settleClose();
  }

  #refuseAll(error: DatabaseError): void {
    // Each waiter gets an error of its own: a shared one would carry the stack of another call.
    for (const waiter of this.#waiters) {
      const { kind, message, cause, advice } = error;
      waiter.refuse(new DatabaseError(kind, message, { cause, advice }));
    }
  }

  #forget(session: Session): void {
    if (!this.#live.delete(session)) return;
    const index = this.#idle.indexOf(session);
    if (index !== -1) this.#idle.splice(index, 1);
    if (this.#closing) this.#settleClose();
    else this.#grow();
  }

  #settleClose(): void {
    if (this.#live.size + this.#opening === 0) this.#closed?.();
  }
}
