import { DatabaseError, type DatabaseConnections } from '../database.ts';
import { unavailable } from './errors.ts';
import { destroy, farewell, type Session } from './session.ts';

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
  readonly #open: (signal: AbortSignal) => Promise<Session>;
  readonly #max: number;
  readonly #live = new Set<Session>();
  readonly #idle: Session[] = [];
  /** When the server last answered on a session, by `performance.now()`. */
  readonly #heardAt = new WeakMap<Session, number>();
  readonly #giveUpOpening = new AbortController();
  readonly #waiters = new Set<Waiter>();
  #opening = 0;
  #closing = false;
  #closed: (() => void) | undefined;

  /** Aborting the signal that `open` gets makes it reject soon. */
  constructor(open: (signal: AbortSignal) => Promise<Session>, max: number) {
    this.#open = open;
    this.#max = max;
  }

  get connections(): DatabaseConnections {
    const idle = this.#idle.length;
    const busy = this.#live.size - idle;
    return { idle, busy, opening: this.#opening, waiting: this.#waiters.size };
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
      farewell(session);
      return;
    }
    this.#heardAt.set(session, performance.now());
    this.#hand(session);
  }

  /** Ends a session whose state is in doubt. */
  discard(session: Session): void {
    this.#forget(session);
    destroy(session);
  }

  /**
   * Ends a session that has been silent since then, and the idle ones not heard of since: what took its connection,
   * a network that drops packets or a server that hangs, may well have taken theirs.
   */
  discardSilent(session: Session, since: number): void {
    this.discard(session);
    const doubtful = this.#idle.filter((idle) => (this.#heardAt.get(idle) ?? 0) < since);
    for (const idle of doubtful) this.discard(idle);
  }

  /**
   * Ends idle sessions now and the others when they come back; resolves when none is left, which a server out of
   * reach delays by a second at most.
   */
  async close(): Promise<void> {
    this.#closing = true;
    this.#refuseAll(new DatabaseError('unavailable', 'cannot run: the database is being closed'));
    this.#giveUpOpening.abort();
    for (const session of this.#idle.splice(0)) farewell(session);
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
      this.#open(this.#giveUpOpening.signal).then(
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
    this.#heardAt.set(session, performance.now());
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
