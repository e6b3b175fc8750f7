import { createTurnQueue, type AbortSignalLike } from '@svc/edge';
import type { CallerShare, DatabaseChange, DatabaseConnections } from '../driver/driver.ts';
import { copyOf, DatabaseError } from '../driver/errors.ts';
import { IN_USE_MS, Outage, type RefusalRules } from './outage.ts';
import { joinWaitQueue, type TimeLimit, type WaitQueue } from './wait-queue.ts';

/** A connection that serves one call at a time, or several short ones. */
export interface PooledSession {
  /** Calls `ended` when the connection is over, whoever ended it. */
  onEnd(ended: () => void): void;
  /** Ends it at once. */
  destroy(): void;
  /** Ends it as the protocol has it. A server that does not answer may delay that by `timeoutMs`. */
  close(timeoutMs?: number): void;
}

export interface PoolRules extends RefusalRules {
  /** The error of a connection that could not be made. */
  unavailable(cause: unknown): DatabaseError;
}

/**
 * What a live session is doing, and who changes that:
 *
 * - `idle`: it is in `idle`. At the start (`#opened`), and again when its last call has released it.
 * - `exclusive`: it serves one call, which may be long. From `idle`, by `assign`.
 * - `shared`: it serves one or several short calls. From `idle` or `shared`, by `assign`.
 * - `closing`: it was told to end, and is no longer handed out. From `idle`, by `close` and `closeDoubtful`; from
 *   `exclusive` and `shared`, by the last `release` while the pool closes.
 *
 * A session stops being live when its connection is over (`forget`). The pool of PostgreSQL also leaves sessions whose
 * query cannot be stopped (`orphan`): they are among `orphans`, and count until the server has ended the query.
 */
type SessionState = 'idle' | 'exclusive' | 'shared' | 'closing';

/** Times are by `performance.now()`. */
export interface LiveSession {
  state: SessionState;
  /** How many calls it serves. */
  acquired: number;
  /** How many milliseconds those are expected to take together. */
  expectedMs: number;
  /** Whose it is while it is `exclusive`; undefined for the service itself. */
  holder: CallerShare | undefined;
  readonly openedAt: number;
  /** When the server last answered on it. */
  answeredAt: number;
}

/** A connection that is being made. */
interface Opening {
  readonly since: number;
  readonly giveUp: AbortController;
}

/**
 * The life of sessions, the same for every engine: connections are made when they are needed, up to `max`, kept while
 * idle, and forgotten when they end. Callers take turns, and the calls of each keep their order. An engine says how
 * sessions are shared (`assign`) and how they end.
 */
export abstract class PoolBase<Session extends PooledSession> {
  protected readonly open: (signal: AbortSignalLike) => Promise<Session>;
  protected readonly max: number;
  protected readonly live: Map<Session, LiveSession> = new Map();
  /** The last one was used last. */
  protected readonly idle: Session[] = [];
  protected abstract readonly orphans: Pick<Set<Session>, 'size' | 'delete'>;
  protected isClosing = false;
  /** When a connection last could not be made. */
  protected refusedAt: number = Number.NEGATIVE_INFINITY;
  readonly #rules: PoolRules;
  readonly #outage: Outage;
  readonly #openings = new Set<Opening>();
  readonly #waiters: WaitQueue<Session> = createTurnQueue();
  #onClosed: (() => void) | undefined;

  /** When the signal that `open` gets is aborted, `open` must reject soon. */
  constructor(
    open: (signal: AbortSignalLike) => Promise<Session>,
    max: number,
    rules: PoolRules,
    onChange: (change: DatabaseChange) => void = () => {},
  ) {
    this.open = open;
    this.max = max;
    this.#rules = rules;
    this.#outage = new Outage(rules, onChange);
  }

  /** False from when a connection cannot be made and none is left until one can be made again. */
  get isUp(): boolean {
    return !this.#outage.isLost;
  }

  get connections(): DatabaseConnections {
    const idle = this.idle.length;
    const busy = this.live.size - idle + this.orphans.size;
    return { idle, busy, opening: this.#openings.size, waiting: this.#waiters.size };
  }

  /**
   * A session for one call alone, or, with `shortMs`, for one that may share it. Throws `DatabaseError`: `cancelled` by
   * the signal, `timeout`, or `unavailable` when no connection can be made.
   */
  async acquire(limit: TimeLimit, shortMs?: number): Promise<Session> {
    if (this.isClosing) throw closing();
    if (limit.signal.aborted) throw new DatabaseError('cancelled', 'cancelled before it began');
    return this.tryAcquire(shortMs, limit.share) ?? this.#waitForSession(limit, shortMs);
  }

  /** As `acquire`, if that is possible at once. */
  tryAcquire(shortMs: number | undefined, share?: CallerShare): Session | undefined {
    const isTurn = this.#waiters.size === 0 || this.#mayOvertake(share);
    return this.isClosing || !isTurn ? undefined : this.assign(shortMs, share);
  }

  /** The error of a call whose time is up: if the database was away in that time, that is the reason. */
  overdue(since: number, message: string): DatabaseError {
    const refusal = this.#outage.refusalSince(since);
    return refusal === undefined ? new DatabaseError('timeout', message) : copyOf(refusal);
  }

  /** Gives back a session that is fit for the next call. A session that has ended meanwhile is ignored. */
  release(session: Session): void {
    const live = this.live.get(session);
    if (live === undefined) return;
    if (live.acquired === 0) throw new Error(`released a session that is ${live.state}`);
    live.answeredAt = performance.now();
    live.expectedMs -= live.expectedMs / live.acquired;
    live.acquired -= 1;
    if (live.acquired === 0) {
      this.freed(session, live);
      if (this.isClosing) {
        this.endGracefully(session);
        this.#settleClose();
        return;
      }
      live.state = 'idle';
      this.idle.push(session);
    }
    this.#serveWaiters();
  }

  /** Ends a session whose state is in doubt. */
  discard(session: Session): void {
    this.forget(session);
    session.destroy();
  }

  /**
   * Ends idle sessions on which the server has not answered since then, and gives up connections that were being made: on
   * another session it answered neither the query nor the request to end it. A network that drops packets, or a server
   * that hangs, has probably taken these too.
   */
  closeDoubtful(since: number): void {
    const doubtful = this.idle.filter((session) => (this.live.get(session)?.answeredAt ?? 0) < since);
    for (const session of doubtful) this.endDoubtful(session);
    for (const opening of this.#openings) if (opening.since < since) opening.giveUp.abort();
  }

  /** Ends idle sessions now and the others when they come back; resolves when none is left. */
  async close(): Promise<void> {
    this.isClosing = true;
    this.#refuseAll(closing());
    this.#outage.stopTrying();
    for (const { giveUp } of this.#openings) giveUp.abort();
    for (const session of this.idle.splice(0)) this.endGracefully(session);
    if (this.live.size + this.#openings.size === 0) return;
    await new Promise<void>((resolve) => {
      this.#onClosed = resolve;
    });
  }

  /** Hands out a session that is idle or, for a call that may share it, one with other short calls. */
  protected abstract assign(shortMs: number | undefined, share: CallerShare | undefined): Session | undefined;

  /** Whether a caller has to leave to others what is idle. */
  protected isKeptBack(_shortMs: number | undefined, _share: CallerShare | undefined): boolean {
    return false;
  }

  protected added(_session: Session): void {}

  /** Its last call has released it. */
  protected freed(_session: Session, _live: LiveSession): void {}

  /** It is no longer live. */
  protected removed(_session: Session, _live: LiveSession): void {}

  /** Tells a session to end that is no longer in `idle`. It stays live until its connection is over. */
  protected endGracefully(session: Session, timeoutMs?: number): void {
    const live = this.live.get(session);
    if (live?.acquired !== 0) throw new Error(`closed a session that is ${live?.state ?? 'not live'}`);
    live.state = 'closing';
    session.close(timeoutMs);
  }

  /** Ends an idle session that may be as silent as another. */
  protected abstract endDoubtful(session: Session): void;

  /** Whether the database was in use when this session ended: one that is long unused may want to sleep. */
  protected wasInUse({ answeredAt, openedAt }: LiveSession): boolean {
    return answeredAt > openedAt && performance.now() - answeredAt < IN_USE_MS;
  }

  /** How many connections the server may have of this pool. */
  protected get size(): number {
    return this.live.size + this.orphans.size + this.#openings.size;
  }

  protected grow(wanted: number = this.#waiters.size): void {
    // In an outage one attempt tells as much as many.
    const most = this.#outage.refusal === undefined ? wanted : Math.min(wanted, 1);
    while (this.#openings.size < most && this.size < this.max) this.#openOne();
  }

  protected removeLive(session: Session): boolean {
    const live = this.live.get(session);
    if (live === undefined) return false;
    this.live.delete(session);
    this.removed(session, live);
    return true;
  }

  protected forget(session: Session): void {
    const live = this.live.get(session);
    if (!this.removeLive(session) && !this.orphans.delete(session)) return;
    const at = this.idle.indexOf(session);
    if (at >= 0) this.idle.splice(at, 1);
    if (this.isClosing) {
      this.#settleClose();
      return;
    }
    this.grow();
    // When the last session ends of a database in use, another attempt tells whether the database is lost.
    const isLast = this.live.size + this.#openings.size === 0;
    if (isLast && live !== undefined && this.wasInUse(live)) this.grow(1);
  }

  /** Short calls must not overtake one that waits for a session alone, which might then never get one. */
  #mayOvertake(share: CallerShare | undefined): boolean {
    if (this.#waiters.waiting(share) > 0) return false;
    return this.#waiters.find((waiter) => !this.isKeptBack(waiter.shortMs, waiter.share)) === undefined;
  }

  #waitForSession(limit: TimeLimit, shortMs: number | undefined): Promise<Session> {
    const since = performance.now();
    const session = joinWaitQueue(this.#waiters, limit, shortMs, () =>
      this.overdue(since, 'no database connection became free in time'),
    );
    // In a short outage the next attempt to connect is scheduled already.
    if (!this.#outage.isPausing || this.#outage.isHopeless) this.grow();
    return session;
  }

  #serveWaiters(): void {
    while (this.#waiters.size > 0) {
      let session: Session | undefined;
      const next = this.#waiters.find(({ shortMs, share }) => {
        session = this.assign(shortMs, share);
        return session !== undefined || !this.isKeptBack(shortMs, share);
      });
      if (session === undefined) return;
      next?.give(session);
    }
  }

  #openOne(): void {
    const opening = { since: performance.now(), giveUp: new AbortController() };
    this.#openings.add(opening);
    this.open(opening.giveUp.signal).then(
      (session) => {
        this.#openings.delete(opening);
        this.#opened(session);
      },
      (error: unknown) => {
        this.#openings.delete(opening);
        if (!opening.giveUp.signal.aborted || this.isClosing) {
          this.#openFailed(error);
          return;
        }
        this.grow();
        this.#retryLater();
      },
    );
  }

  #opened(session: Session): void {
    if (this.isClosing) {
      session.destroy();
      this.#settleClose();
      return;
    }
    const now = performance.now();
    const counts = { acquired: 0, expectedMs: 0, holder: undefined };
    this.live.set(session, { state: 'idle', ...counts, openedAt: now, answeredAt: now });
    this.added(session);
    this.idle.push(session);
    session.onEnd(() => this.forget(session));
    this.#outage.ended();
    this.#serveWaiters();
    this.grow();
  }

  #openFailed(error: unknown): void {
    this.refusedAt = performance.now();
    // If sessions are live, the waiting calls will get those; if none is, the calls would wait in vain.
    if (this.live.size + this.#openings.size === 0 && !this.isClosing) {
      const refusal = this.#rules.unavailable(error);
      this.#outage.refused(refusal);
      if (this.#outage.isHopeless) this.#refuseAll(refusal);
      this.#retryLater();
    }
    this.#settleClose();
  }

  /** In an outage: for the calls that wait, or else to see when the database is back. */
  #retryLater(): void {
    if (this.#openings.size > 0) return;
    this.#outage.tryLater(this.#waiters.size > 0, () => {
      this.grow(1);
      this.#retryLater();
    });
  }

  #refuseAll(error: DatabaseError): void {
    while (this.#waiters.size > 0) this.#waiters.find(() => true)?.refuse(copyOf(error));
  }

  #settleClose(): void {
    if (this.live.size + this.#openings.size === 0) this.#onClosed?.();
  }
}

function closing(): DatabaseError {
  return new DatabaseError('unavailable', 'cannot run: the database is being closed');
}
