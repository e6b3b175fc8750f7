import { createTurnQueue, type AbortSignalLike } from '@svc/edge';
import type { DatabaseChange, DatabaseConnections } from '../driver/driver.ts';
import { copyOf, DatabaseError } from '../driver/errors.ts';
import { createOutage, IN_USE_MS, type Outage, type RefusalRules } from './outage.ts';
import { joinWaitQueue, type TimeLimit, type WaitQueue } from './wait-queue.ts';

/** A connection that serves one call at a time, or several short ones. */
export interface PlainSession {
  /** Calls it once, when the connection is over, whoever ended it. */
  onEnd(ended: () => void): void;
  /** Ends it at once. */
  destroy(): void;
  /** Ends it as the protocol has it. */
  close(): void;
}

export interface PoolRules extends RefusalRules {
  /** What to tell of a connection that could not be made. */
  unavailable(cause: unknown): DatabaseError;
}

/** A connection that is being made. */
interface Opening {
  /** By `performance.now()`. */
  readonly since: number;
  readonly giveUp: AbortController;
}

/** By `performance.now()`. */
interface History {
  readonly openedAt: number;
  /** When the server was last known to answer on it. */
  answeredAt: number;
}

/** What a session that is handed out has to do. */
interface Lease {
  calls: number;
  /** Whether all of them are short, so that others may join them. */
  readonly isShared: boolean;
}

/**
 * Hands out each session to one call, or to several that are short, callers in turn and each caller's in their order.
 * Connections are made when they are needed, up to `max`, kept while idle, and forgotten when they end. A session is in
 * exactly one of `#idle` and `#busy` from when it was made until `#forget`.
 */
export class Pool<Session extends PlainSession> {
  readonly #open: (signal: AbortSignalLike) => Promise<Session>;
  readonly #max: number;
  readonly #rules: PoolRules;
  readonly #mostShort: number;
  readonly #outage: Outage;
  /** The last one was used last. */
  readonly #idle: Session[] = [];
  readonly #busy = new Map<Session, Lease>();
  /** Of all that are idle or busy. */
  readonly #histories = new Map<Session, History>();
  readonly #openings = new Set<Opening>();
  readonly #waiters: WaitQueue<Session> = createTurnQueue();
  #closing = false;
  #onClosed: (() => void) | undefined;

  /**
   * Aborting the signal that `open` gets makes it reject soon. `mostShort`: how many short calls may be on a session at once.
   */
  constructor(
    open: (signal: AbortSignalLike) => Promise<Session>,
    max: number,
    rules: PoolRules,
    onChange: (change: DatabaseChange) => void = () => {},
    mostShort: number = 1,
  ) {
    this.#open = open;
    this.#max = max;
    this.#rules = rules;
    this.#mostShort = mostShort;
    this.#outage = createOutage(rules, onChange);
  }

  get isUp(): boolean {
    return !this.#outage.isLost;
  }

  get connections(): DatabaseConnections {
    return {
      idle: this.#idle.length,
      busy: this.#busy.size,
      opening: this.#openings.size,
      waiting: this.#waiters.size,
    };
  }

  /**
   * Throws `DatabaseError`: `cancelled` by the signal, `timeout`, or `unavailable` when no connection can be made.
   * `isShort`: for a call that bears others on its session.
   */
  async acquire(limit: TimeLimit, isShort: boolean = false): Promise<Session> {
    if (this.#closing) throw closing();
    if (limit.signal.aborted) throw new DatabaseError('cancelled', 'cancelled before it began');
    const session = this.#waiters.size === 0 ? this.#lease(isShort) : undefined;
    if (session !== undefined) return session;
    const since = performance.now();
    const waiting = joinWaitQueue(this.#waiters, limit, isShort ? 0 : undefined, () => this.overdue(since));
    // In a short outage the next attempt to connect is scheduled already.
    if (!this.#outage.isPausing || this.#outage.isHopeless) this.#grow();
    return waiting;
  }

  /** For a call whose time is up without a session: where the database was away for some of it, that is the reason. */
  overdue(since: number): DatabaseError {
    const refusal = this.#outage.refusalSince(since);
    return refusal === undefined
      ? new DatabaseError('timeout', 'no database connection became free in time')
      : copyOf(refusal);
  }

  /** Gives back a session that is fit for the next call; without effect on one that has ended meanwhile. */
  release(session: Session): void {
    const lease = this.#busy.get(session);
    if (lease === undefined) return;
    lease.calls -= 1;
    if (lease.calls > 0) {
      this.#serveWaiters();
      return;
    }
    this.#busy.delete(session);
    const history = this.#histories.get(session);
    if (history !== undefined) history.answeredAt = performance.now();
    if (this.#closing) {
      session.close();
      this.#settleClose();
      return;
    }
    this.#idle.push(session);
    this.#serveWaiters();
  }

  /** Ends a session whose state is in doubt. */
  discard(session: Session): void {
    this.#forget(session);
    session.destroy();
  }

  /**
   * Ends idle sessions on which the server has not answered since then, and gives up connections that were being made: on
   * another session it answered neither the query nor the request to end it. What took the one, a network that drops packets
   * or a server that hangs, may well have taken them.
   */
  closeDoubtful(since: number): void {
    const isDoubtful = (session: Session): boolean => (this.#histories.get(session)?.answeredAt ?? 0) < since;
    for (const session of this.#idle.filter(isDoubtful)) this.discard(session);
    for (const opening of this.#openings) if (opening.since < since) opening.giveUp.abort();
  }

  /** Ends idle sessions now and the others when they come back; resolves when none is left. */
  async close(): Promise<void> {
    this.#closing = true;
    this.#refuseAll(closing());
    this.#outage.stopTrying();
    for (const { giveUp } of this.#openings) giveUp.abort();
    for (const session of this.#idle.splice(0)) session.close();
    if (this.#busy.size + this.#openings.size === 0) return;
    await new Promise<void>((resolve) => {
      this.#onClosed = resolve;
    });
  }

  #grow(): void {
    // In an outage one attempt tells as much as many.
    const wanted = this.#outage.refusal === undefined ? this.#waiters.size : Math.min(this.#waiters.size, 1);
    while (this.#openings.size < wanted && this.#size < this.#max) this.#openOne();
  }

  #openOne(): void {
    const opening = { since: performance.now(), giveUp: new AbortController() };
    this.#openings.add(opening);
    this.#open(opening.giveUp.signal).then(
      (session) => {
        this.#openings.delete(opening);
        this.#opened(session);
      },
      (error: unknown) => {
        this.#openings.delete(opening);
        if (!opening.giveUp.signal.aborted || this.#closing) {
          this.#openFailed(error);
          return;
        }
        this.#grow();
        this.#retryLater();
      },
    );
  }

  #opened(session: Session): void {
    if (this.#closing) {
      session.destroy();
      this.#settleClose();
      return;
    }
    const openedAt = performance.now();
    this.#histories.set(session, { openedAt, answeredAt: openedAt });
    this.#idle.push(session);
    session.onEnd(() => this.#forget(session));
    this.#outage.ended();
    this.#serveWaiters();
    this.#grow();
  }

  #openFailed(error: unknown): void {
    // Others will be released to those who wait; without any, those who wait would wait in vain.
    if (this.#size === 0 && !this.#closing) {
      const refusal = this.#rules.unavailable(error);
      this.#outage.refused(refusal);
      if (this.#outage.isHopeless) this.#refuseAll(refusal);
      this.#retryLater();
    }
    this.#settleClose();
  }

  /** In an outage: for those who wait, and else to see when the database is back. */
  #retryLater(): void {
    if (this.#openings.size > 0) return;
    this.#outage.tryLater(this.#waiters.size > 0, () => {
      if (this.#size === 0) this.#openOne();
      this.#retryLater();
    });
  }

  #serveWaiters(): void {
    for (;;) {
      const next = this.#waiters.find(() => true);
      // One that is not short waits for a session of its own, and those behind it wait for it.
      const session = next === undefined ? undefined : this.#lease(next.shortMs !== undefined);
      if (session === undefined) return;
      next?.give(session);
    }
  }

  /** An idle session, or one with short calls for another of them. */
  #lease(isShort: boolean): Session | undefined {
    const idle = this.#idle.pop();
    if (idle !== undefined) {
      this.#busy.set(idle, { calls: 1, isShared: isShort });
      return idle;
    }
    if (!isShort) return undefined;
    let best: readonly [Session, Lease] | undefined;
    for (const each of this.#busy) {
      const [, { calls, isShared }] = each;
      if (isShared && calls < Math.min(this.#mostShort, best?.[1].calls ?? Infinity)) best = each;
    }
    if (best === undefined) return undefined;
    best[1].calls += 1;
    return best[0];
  }

  #refuseAll(error: DatabaseError): void {
    while (this.#waiters.size > 0) this.#waiters.find(() => true)?.refuse(copyOf(error));
  }

  #forget(session: Session): void {
    const wasBusy = this.#busy.delete(session);
    const at = this.#idle.indexOf(session);
    if (at >= 0) this.#idle.splice(at, 1);
    if (!wasBusy && at < 0) return;
    const { openedAt = 0, answeredAt = 0 } = this.#histories.get(session) ?? {};
    this.#histories.delete(session);
    if (this.#closing) {
      this.#settleClose();
      return;
    }
    this.#grow();
    // The last one of a database in use: another tells whether it is lost. One that is long unused may want to sleep.
    const wasInUse = wasBusy || (answeredAt > openedAt && performance.now() - answeredAt < IN_USE_MS);
    if (wasInUse && this.#size === 0) this.#openOne();
  }

  /** How many connections the server may have of this pool. */
  get #size(): number {
    return this.#idle.length + this.#busy.size + this.#openings.size;
  }

  #settleClose(): void {
    if (this.#closing && this.#busy.size + this.#openings.size === 0) this.#onClosed?.();
  }
}

function closing(): DatabaseError {
  return new DatabaseError('unavailable', 'cannot run: the database is being closed');
}
