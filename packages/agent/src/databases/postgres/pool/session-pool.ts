import { createTurnQueue, type AbortSignalLike } from '@svc/edge';
import { copyOf, DatabaseError } from '../../driver/errors.ts';
import type { CallerShare, DatabaseConnections, DatabaseChange } from '../../driver/driver.ts';
import { unavailable, refusalRules } from '../connection/server-errors.ts';
import { closeGracefully, destroy, orphan, type DatabaseSession } from '../connection/database-session.ts';
import { LATE_MS } from '../connection/pipeline-queue.ts';
import { createExclusiveHolders } from './exclusive-holders.ts';
import { createOrphanedSessions, type CheckSession, type OrphanedSessions } from './orphaned-sessions.ts';
import type { LiveSession, Opening } from './live-session.ts';
import { createOutage, IN_USE_MS, type Outage } from '../../sessions/outage.ts';
import { joinWaitQueue, type TimeLimit, type WaitQueue } from '../../sessions/wait-queue.ts';

/** How long an idle session may take to close when another got no answer: one whose server still answers closes at once. */
const DOUBTFUL_CLOSE_MS = 250;

/** How many transactions may be under way over one session. */
const PIPELINE_MAX = 16;
/** Over so many sessions short transactions are spread, where there are so many: few calls at once wait for none. */
const SPREAD = 3;
/** How long a short transaction may then be expected to wait behind others before another session is woken for it. */
const JOIN_MS = 0.2;
/** How many sessions are compared to find the least busy. */
const COMPARED_MAX = 8;

/** How long after a refused connection none is opened that no call waits for. */
const GROW_AGAIN_MS = 1000;

/**
 * Hands out each session to one transaction, or to several short ones, callers in turn and each caller's in their order.
 * An idle session goes first, but while several serve short ones, a short one is sent behind others where it hardly waits:
 * each session that is woken costs as much again as the transaction. It is moved to another session when one before it
 * takes long while another session may be had. Connections are made when they are needed, up to `max`, kept while idle,
 * and forgotten when they break.
 */
export class SessionPool {
  readonly #open: (signal: AbortSignalLike) => Promise<DatabaseSession>;
  readonly #max: number;
  readonly #live = new Map<DatabaseSession, LiveSession>();
  /** The live ones again, as a list for `#leastBusy` to go round. */
  readonly #sessions: DatabaseSession[] = [];
  #cursor = 0;
  /** How many are in the state `shared`. */
  #shared = 0;
  /** The one that was last given to a short transaction. */
  #lastShared: DatabaseSession | undefined;
  /** Those in the state `idle`; the last one was used last. */
  readonly #idle: DatabaseSession[] = [];
  readonly #orphans: OrphanedSessions;
  #lateTimer: NodeJS.Timeout | undefined;
  /** When a connection could not be made, by `performance.now()`. */
  #refusedAt = Number.NEGATIVE_INFINITY;
  readonly #openings = new Set<Opening>();
  readonly #outage: Outage;
  readonly #waiters: WaitQueue<DatabaseSession> = createTurnQueue();
  readonly #holders = createExclusiveHolders();
  #closing = false;
  #onClosed: (() => void) | undefined;

  /** Aborting the signal that `open` gets makes it reject soon. */
  constructor(
    open: (signal: AbortSignalLike) => Promise<DatabaseSession>,
    max: number,
    onChange: (change: DatabaseChange) => void = () => {},
  ) {
    this.#open = open;
    this.#max = max;
    this.#outage = createOutage(refusalRules, onChange);
    this.#orphans = createOrphanedSessions(
      (limit) => this.#acquireForCheck(limit),
      (session) => this.discard(session),
    );
  }

  /** False from when a connection cannot be made and none is left until one can be made again. */
  get isUp(): boolean {
    return !this.#outage.isLost;
  }

  get connections(): DatabaseConnections {
    const idle = this.#idle.length;
    const busy = this.#live.size - idle + this.#orphans.size;
    return { idle, busy, opening: this.#openings.size, waiting: this.#waiters.size };
  }

  /**
   * A session for one transaction alone, or for a short one: see `LatencyTracker`. Throws `DatabaseError`: `cancelled` by
   * the signal, `timeout`, or `unavailable` when no connection can be made.
   */
  async acquire(limit: TimeLimit, shortMs?: number): Promise<DatabaseSession> {
    if (this.#closing) throw new DatabaseError('unavailable', 'cannot run: the database is being closed');
    if (limit.signal.aborted) throw new DatabaseError('cancelled', 'cancelled before it began');
    return this.tryAcquire(shortMs, limit.share) ?? this.#waitForSession(limit, shortMs);
  }

  /** For a call whose time is up: where the database was away for some of it, that is the reason. */
  overdue(since: number, message: string): DatabaseError {
    const refusal = this.#outage.refusalSince(since);
    return refusal === undefined ? new DatabaseError('timeout', message) : copyOf(refusal);
  }

  /** As `acquire`, where that is possible at once. */
  tryAcquire(shortMs: number | undefined, share?: CallerShare): DatabaseSession | undefined {
    const isTurn = this.#waiters.size === 0 || this.#mayOvertake(share);
    return this.#closing || !isTurn ? undefined : this.#assign(shortMs, share);
  }

  /** Gives back a session that is fit for the next transaction; without effect on one that has ended meanwhile. */
  release(session: DatabaseSession): void {
    const live = this.#live.get(session);
    if (live === undefined) return;
    if (live.acquired === 0) throw new Error(`released a session that is ${live.state}`);
    live.answeredAt = performance.now();
    live.expectedMs -= live.expectedMs / live.acquired;
    live.acquired -= 1;
    if (live.state === 'exclusive') this.#holders.gaveBack(session);
    if (live.acquired === 0) {
      if (live.state === 'shared') this.#shared -= 1;
      session.queue.reopen();
      if (this.#closing) {
        live.state = 'closing';
        closeGracefully(session);
        return;
      }
      live.state = 'idle';
      this.#idle.push(session);
    }
    this.#serveWaiters();
  }

  /** Ends a session whose state is in doubt. */
  discard(session: DatabaseSession): void {
    this.#forget(session);
    destroy(session);
  }

  /**
   * Leaves a session whose query, with these statements, goes on though it was cancelled at `cancelledAt` by
   * `performance.now()`. Idle sessions that the server has not answered on since then, and connections being made, are
   * closed too: what took the one, a network that drops packets or a server that hangs, may well have taken them.
   */
  orphan(session: DatabaseSession, texts: readonly string[], cancelledAt: number): void {
    if (this.#removeLive(session)) {
      this.#orphans.add(session, texts);
      orphan(session);
    }
    const doubtful = this.#idle.filter((idle) => (this.#live.get(idle)?.answeredAt ?? 0) < cancelledAt);
    for (const idle of doubtful) {
      this.#idle.splice(this.#idle.indexOf(idle), 1);
      this.#closeIdle(idle, DOUBTFUL_CLOSE_MS);
    }
    for (const { since, giveUp } of this.#openings) if (since < cancelledAt) giveUp.abort();
    if (this.#closing) this.#orphans.close();
  }

  /**
   * Ends idle sessions now and the others when they come back; resolves when none is left, which a server out of
   * reach delays by a second at most.
   */
  async close(): Promise<void> {
    this.#closing = true;
    this.#refuseAll(new DatabaseError('unavailable', 'cannot run: the database is being closed'));
    clearTimeout(this.#lateTimer);
    this.#outage.stopTrying();
    for (const { giveUp } of this.#openings) giveUp.abort();
    for (const session of this.#idle.splice(0)) this.#closeIdle(session);
    this.#orphans.close();
    if (this.#live.size + this.#openings.size === 0) return;
    await new Promise<void>((resolve) => {
      this.#onClosed = resolve;
    });
  }

  /** Short calls must not overtake one that waits for a session alone, which might then never get one. */
  #mayOvertake(share: CallerShare | undefined): boolean {
    if (this.#waiters.waiting(share) > 0) return false;
    return this.#waiters.find((waiter) => !this.#isKeptBack(waiter.shortMs, waiter.share)) === undefined;
  }

  /** Whether a caller is to leave to others what is idle; its short calls may still be sent behind others, where any are. */
  #isKeptBack(shortMs: number | undefined, share: CallerShare | undefined): boolean {
    if (shortMs === undefined) return !this.#holders.mayTake(share, this.#max);
    const spare = share?.spare(this.#max) ?? 0;
    return spare > 0 && this.#shared > 0 && this.#live.size - this.#idle.length >= this.#max - spare;
  }

  #assign(shortMs: number | undefined, share: CallerShare | undefined): DatabaseSession | undefined {
    const mayShare = shortMs !== undefined;
    const joined = mayShare && this.#shared >= SPREAD ? this.#joinable() : undefined;
    // The most recently used one first: its caches are warm, and a pooler may let go the server connections of the others.
    const idle = joined === undefined && !this.#isKeptBack(shortMs, share) ? this.#idle.pop() : undefined;
    const session = joined ?? idle ?? (mayShare ? this.#leastBusy() : undefined);
    const live = session && this.#live.get(session);
    if (session === undefined || live === undefined) return undefined;
    if (live.state !== 'idle' && live.state !== 'shared') {
      throw new Error(`assigned a session that is ${live.state}`);
    }
    // A pooler that mistakes whose answers are under way would give those of one caller to another: there a call is alone.
    const isShort = mayShare && session.facts.backend !== undefined;
    if (isShort && live.state === 'idle') this.#shared += 1;
    live.state = isShort ? 'shared' : 'exclusive';
    live.acquired += 1;
    if (!isShort) this.#holders.took(session, share);
    if (!isShort) return session;
    live.expectedMs += shortMs;
    this.#lastShared = session;
    if (live.acquired > 1) {
      if (joined === undefined && live.answeredAt > this.#refusedAt + GROW_AGAIN_MS) this.#grow(1);
      this.#watchForLate();
    }
    return session;
  }

  /** The one that was last given to a short transaction, so that many leave in a batch; else the least busy. */
  #joinable(): DatabaseSession | undefined {
    const session = this.#isJoinable(this.#lastShared) ? this.#lastShared : this.#leastBusy();
    return this.#isJoinable(session) ? session : undefined;
  }

  #isJoinable(session: DatabaseSession | undefined): boolean {
    const live = session && this.#live.get(session);
    if (live?.state !== 'shared' || session?.queue.isOpen !== true) return false;
    return live.expectedMs <= JOIN_MS && live.acquired < PIPELINE_MAX;
  }

  /** Among some of the shared ones. */
  #leastBusy(): DatabaseSession | undefined {
    let found: DatabaseSession | undefined;
    let least = PIPELINE_MAX;
    for (let left = Math.min(COMPARED_MAX, this.#sessions.length); left > 0; left -= 1) {
      this.#cursor = (this.#cursor + 1) % this.#sessions.length;
      const session = this.#sessions[this.#cursor];
      const live = session && this.#live.get(session);
      if (live?.state !== 'shared' || live.acquired >= least || session?.queue.isOpen !== true) continue;
      found = session;
      least = live.acquired;
    }
    return found;
  }

  #watchForLate(): void {
    // What came while this process was busy is read before it is judged.
    this.#lateTimer ??= setTimeout(() => setImmediate(() => this.#moveLate()), LATE_MS);
  }

  #moveLate(): void {
    this.#lateTimer = undefined;
    if (this.#closing) return;
    for (const { queue } of this.#sessions) {
      if (queue.length < 2 || !queue.isOpen) continue;
      // Of a batch those that the server has answered wait too, so they are moved even if they then wait for a session.
      const mayMove = queue.isBatchFirst || this.#idle.length > 0 || this.#size < this.#max;
      if (mayMove && queue.isFirstLate) queue.close();
      else this.#watchForLate();
    }
  }

  #waitForSession(limit: TimeLimit, shortMs: number | undefined): Promise<DatabaseSession> {
    const since = performance.now();
    const session = joinWaitQueue(this.#waiters, limit, shortMs, () =>
      this.overdue(since, 'no database connection became free in time'),
    );
    // In a short outage the next attempt to connect is scheduled already.
    if (!this.#outage.isPausing || this.#outage.isHopeless) this.#grow(this.#waiters.size);
    return session;
  }

  #grow(wanted: number): void {
    // In an outage one attempt tells as much as many.
    const most = this.#outage.refusal === undefined ? wanted : Math.min(wanted, 1);
    while (this.#openings.size < most && this.#size < this.#max) {
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
          this.#grow(this.#waiters.size);
          this.#retryLater();
        },
      );
    }
  }

  #opened(session: DatabaseSession): void {
    if (this.#closing) {
      destroy(session);
      this.#settleClose();
      return;
    }
    this.#live.set(session, { state: 'idle', acquired: 0, expectedMs: 0, answeredAt: session.madeAt });
    this.#sessions.push(session);
    // The end comes some time after what announces it: a call that was handed the session meanwhile would fail.
    session.client.once('error', () => this.discard(session));
    session.client.once('end', () => this.#forget(session));
    this.#idle.push(session);
    this.#outage.ended();
    this.#serveWaiters();
    this.#grow(this.#waiters.size);
  }

  #serveWaiters(): void {
    while (this.#waiters.size > 0 && this.#serveNext());
  }

  #serveNext(): boolean {
    let session: DatabaseSession | undefined;
    const next = this.#waiters.find(({ shortMs, share }) => {
      session = this.#assign(shortMs, share);
      return session !== undefined || !this.#isKeptBack(shortMs, share);
    });
    if (session === undefined) return false;
    next?.give(session);
    return true;
  }

  /** The session has been taken out of `#idle`. */
  #closeIdle(session: DatabaseSession, timeoutMs?: number): void {
    const live = this.#live.get(session);
    if (live?.state !== 'idle') throw new Error(`closed a session that is ${live?.state ?? 'not live'}`);
    live.state = 'closing';
    closeGracefully(session, timeoutMs);
  }

  /** False where it was not live. */
  #removeLive(session: DatabaseSession): boolean {
    const at = this.#sessions.indexOf(session);
    if (at >= 0) this.#sessions.splice(at, 1);
    if (this.#live.get(session)?.state === 'shared') this.#shared -= 1;
    this.#holders.gaveBack(session);
    return this.#live.delete(session);
  }

  #openFailed(error: unknown): void {
    this.#refusedAt = performance.now();
    // Live sessions will be released to those who wait; without any, those who wait would wait in vain.
    if (this.#live.size + this.#openings.size === 0 && !this.#closing) {
      const refusal = unavailable(error);
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
      this.#grow(1);
      this.#retryLater();
    });
  }

  #refuseAll(error: DatabaseError): void {
    while (this.#waiters.size > 0) this.#waiters.find(() => true)?.refuse(copyOf(error));
  }

  #forget(session: DatabaseSession): void {
    const answeredAt = this.#live.get(session)?.answeredAt ?? 0;
    if (!this.#removeLive(session) && !this.#orphans.delete(session)) return;
    const index = this.#idle.indexOf(session);
    if (index !== -1) this.#idle.splice(index, 1);
    if (this.#closing) {
      this.#settleClose();
      return;
    }
    this.#grow(this.#waiters.size);
    const wasInUse = answeredAt > session.madeAt && performance.now() - answeredAt < IN_USE_MS;
    if (wasInUse && this.#live.size + this.#openings.size === 0) this.#grow(1);
  }

  /** How many connections the server may have of this pool. */
  get #size(): number {
    return this.#live.size + this.#orphans.size + this.#openings.size;
  }

  async #acquireForCheck(limit: TimeLimit): Promise<CheckSession> {
    if (this.#orphans.size < this.#max) {
      const session = await this.acquire(limit);
      return { session, giveBack: () => this.release(session) };
    }
    // All are orphaned: one beyond `max`, or no call would be served while a network drops what is sent.
    const session = await this.#open(limit.signal);
    return { session, giveBack: () => closeGracefully(session) };
  }

  #settleClose(): void {
    if (this.#live.size + this.#openings.size === 0) this.#onClosed?.();
  }
}
