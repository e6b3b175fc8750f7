import type { AbortSignalLike } from '@svc/edge';
import { DatabaseError } from '../../errors.ts';
import type { DatabaseConnections, DatabaseChange } from '../../driver.ts';
import { unavailable, copyOf } from '../connection/server-errors.ts';
import { endLost } from './lost-backends.ts';
import { createOutage, type Outage } from './outage.ts';
import { abandon, destroy, farewell, type Backend, type Session } from '../connection/session.ts';
import { waitInLine, type Wait, type Waiter } from './wait-in-line.ts';

/** What is lent of a session. */
interface Loan {
  borrowers: number;
  /** Whether they are all such that another may be sent behind them. */
  isBrief: boolean;
  /** When the server last answered, by `performance.now()`. */
  heardAt: number;
}

/** What is known of a session whose query went on when it was given up. */
interface Lost {
  readonly session: Session;
  readonly backend: Backend | undefined;
  readonly texts: readonly string[];
  /** By `performance.now()`. */
  readonly since: number;
}

interface Opening {
  /** By `performance.now()`. */
  readonly since: number;
  readonly giveUp: AbortController;
}

/** What a watched server needs to see by itself that a session was given up, and some more. */
const LOOK_MS = 1500;
/** Then what cannot be looked after, being a pooler's, is the pooler's to bound. */
const FORGET_POOLED_MS = 5000;
/** For neighbours of a silent session: one that is heard of ends at once. */
const DOUBTFUL_MS = 250;
/** How long looking after lost backends may wait for a session; then it is tried again. */
const LOOK_WAIT_MS = 1000;

/** As many may be on their way over one session. */
const BORROWERS_MAX = 16;
/** As many sessions are looked at to find the least busy. */
const LOOKS = 8;
/** When what is first on a session has taken this long, those behind it had better wait elsewhere. */
const LATE_MS = 10;

/** A database used so lately that ends the last session is asked whether it is lost; one long unused may want to sleep. */
const IN_USE_MS = 60_000;

/** How long a server that refused a connection is not asked for one that nobody waits for. */
const GROW_AGAIN_MS = 1000;

/**
 * Lends each session to one borrower, or to several brief ones; first come, first served. Who asks for a session gets
 * an idle one if there is one; only else a brief borrower is sent behind other brief ones, and away again when the one
 * before it takes long while another connection may be had. Connections are made when they are needed, up to `max`,
 * kept while idle, and forgotten when they break. One whose query does not end is left, but counts until the server is
 * known to have ended it.
 */
export class SessionPool {
  readonly #open: (signal: AbortSignalLike) => Promise<Session>;
  readonly #max: number;
  readonly #live = new Map<Session, Loan>();
  /** The live ones again, to go round. */
  readonly #sessions: Session[] = [];
  #cursor = 0;
  readonly #idle: Session[] = [];
  #lateness: NodeJS.Timeout | undefined;
  /** When a connection could not be made, by `performance.now()`. */
  #refusedAt = Number.NEGATIVE_INFINITY;
  readonly #openings = new Set<Opening>();
  readonly #outage: Outage;
  readonly #giveUpLooking = new AbortController();
  readonly #waiters = new Set<Waiter>();
  readonly #lost = new Map<Session, Lost>();
  #look: NodeJS.Timeout | undefined;
  #closing = false;
  #closed: (() => void) | undefined;

  /** Aborting the signal that `open` gets makes it reject soon. */
  constructor(
    open: (signal: AbortSignalLike) => Promise<Session>,
    max: number,
    onChange: (change: DatabaseChange) => void = () => {},
  ) {
    this.#open = open;
    this.#max = max;
    this.#outage = createOutage(onChange);
  }

  /** False from when a connection cannot be made and none is left until one can be made again. */
  get isUp(): boolean {
    return !this.#outage.isLost;
  }

  get connections(): DatabaseConnections {
    const idle = this.#idle.length;
    const busy = this.#live.size - idle + this.#lost.size;
    return { idle, busy, opening: this.#openings.size, waiting: this.#waiters.size };
  }

  /**
   * A session for one borrower alone, or for a brief one: see `Pace`. Throws `DatabaseError`: `cancelled` by the signal,
   * `timeout`, or `unavailable` when no connection can be made.
   */
  async acquire(wait: Wait, isBrief: boolean = false): Promise<Session> {
    if (this.#closing) throw new DatabaseError('unavailable', 'cannot run: the database is being closed');
    if (wait.signal.aborted) throw new DatabaseError('cancelled', 'cancelled before it began');
    return this.take(isBrief) ?? this.#queue(wait, isBrief);
  }

  /** For one whose time is up: where the database was away for some of it, that is the reason. */
  overdue(since: number, message: string): DatabaseError {
    const refusal = this.#outage.refusalSince(since);
    return refusal === undefined ? new DatabaseError('timeout', message) : copyOf(refusal);
  }

  /** As `acquire`, where that is possible at once. */
  take(isBrief: boolean): Session | undefined {
    // Nobody is overtaken: who needs a session alone gets it when those on their way have landed.
    return this.#closing || this.#waiters.size > 0 ? undefined : this.#lend(isBrief);
  }

  /** Gives back a session that is fit for the next borrower. */
  release(session: Session): void {
    const loan = this.#live.get(session);
    if (loan === undefined) return;
    loan.heardAt = performance.now();
    loan.borrowers -= 1;
    if (loan.borrowers === 0) {
      session.lane.reopen();
      if (this.#closing) {
        farewell(session);
        return;
      }
      this.#idle.push(session);
    }
    this.#handOut();
  }

  /** Ends a session whose state is in doubt. */
  discard(session: Session): void {
    this.#forget(session);
    destroy(session);
  }

  /**
   * Leaves a session whose query, with these statements, goes on though it was cancelled at `cancelledAt` by
   * `performance.now()`, and ends the idle ones not heard of since then and those still being made: what took its
   * connection, a network that drops packets or a server that hangs, may well have taken theirs.
   */
  abandon(session: Session, texts: readonly string[], cancelledAt: number): void {
    if (this.#leave(session)) {
      const { backend } = session.facts;
      this.#lost.set(session, { session, backend, texts, since: performance.now() });
      abandon(session);
      this.#scheduleLook();
    }
    const doubtful = this.#idle.filter((idle) => (this.#live.get(idle)?.heardAt ?? 0) < cancelledAt);
    for (const idle of doubtful) {
      this.#idle.splice(this.#idle.indexOf(idle), 1);
      farewell(idle, DOUBTFUL_MS);
    }
    for (const { since, giveUp } of this.#openings) if (since < cancelledAt) giveUp.abort();
    if (this.#closing) this.#leaveLost();
  }

  /**
   * Ends idle sessions now and the others when they come back; resolves when none is left, which a server out of
   * reach delays by a second at most.
   */
  async close(): Promise<void> {
    this.#closing = true;
    this.#refuseAll(new DatabaseError('unavailable', 'cannot run: the database is being closed'));
    this.#giveUpLooking.abort();
    clearTimeout(this.#lateness);
    this.#outage.stopTrying();
    for (const { giveUp } of this.#openings) giveUp.abort();
    for (const session of this.#idle.splice(0)) farewell(session);
    this.#leaveLost();
    if (this.#live.size + this.#openings.size === 0) return;
    await new Promise<void>((resolve) => {
      this.#closed = resolve;
    });
  }

  #lend(isBrief: boolean): Session | undefined {
    // The most recently used one first: its caches are warm, and the others may be let go by a pooler.
    const session = this.#idle.pop() ?? (isBrief ? this.#leastBusy() : undefined);
    const loan = session && this.#live.get(session);
    if (loan === undefined) return undefined;
    loan.isBrief = isBrief;
    loan.borrowers += 1;
    if (loan.borrowers > 1) {
      if (loan.heardAt > this.#refusedAt + GROW_AGAIN_MS) this.#grow(1);
      this.#watchLateness();
    }
    return session;
  }

  /** Among some of those that only brief borrowers have. */
  #leastBusy(): Session | undefined {
    let found: Session | undefined;
    let least = BORROWERS_MAX;
    for (let looks = Math.min(LOOKS, this.#sessions.length); looks > 0; looks -= 1) {
      this.#cursor = (this.#cursor + 1) % this.#sessions.length;
      const session = this.#sessions[this.#cursor];
      const loan = session && this.#live.get(session);
      // One without a borrower that is not idle is about to leave.
      if (loan === undefined || loan.borrowers === 0 || loan.borrowers >= least) continue;
      if (!loan.isBrief || session?.lane.isOpen !== true) continue;
      found = session;
      least = loan.borrowers;
    }
    return found;
  }

  #watchLateness(): void {
    this.#lateness ??= setTimeout(() => {
      this.#lateness = undefined;
      for (const { lane } of this.#sessions) {
        if (lane.length < 2 || !lane.isOpen) continue;
        const isFree = this.#idle.length > 0 || this.#size < this.#max;
        if (isFree && lane.firstRanMs > LATE_MS) lane.shut();
        else this.#watchLateness();
      }
    }, LATE_MS);
  }

  #queue(wait: Wait, isBrief: boolean): Promise<Session> {
    const since = performance.now();
    const turn = waitInLine(this.#waiters, wait, isBrief, () =>
      this.overdue(since, 'no database connection became free in time'),
    );
    // While a brief outage is waited for, the next attempt to connect has its time.
    if (!this.#outage.isPausing || this.#outage.isHopeless) this.#grow(this.#waiters.size);
    return turn;
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
          this.#adopt(session);
        },
        (error: unknown) => {
          this.#openings.delete(opening);
          if (!opening.giveUp.signal.aborted || this.#closing) {
            this.#refused(error);
            return;
          }
          this.#grow(this.#waiters.size);
          this.#tryLater();
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
    this.#live.set(session, { borrowers: 0, isBrief: false, heardAt: session.madeAt });
    this.#sessions.push(session);
    // The end comes some time after what announces it, and whoever was lent the session meanwhile would pay for it.
    session.client.once('error', () => this.discard(session));
    session.client.once('end', () => this.#forget(session));
    this.#idle.push(session);
    this.#outage.ended();
    this.#handOut();
    this.#grow(this.#waiters.size);
  }

  #handOut(): void {
    for (const waiter of this.#waiters) {
      const session = this.#lend(waiter.isBrief);
      if (session === undefined) return;
      waiter.give(session);
    }
  }

  /** False where it was not live. */
  #leave(session: Session): boolean {
    const at = this.#sessions.indexOf(session);
    if (at >= 0) this.#sessions.splice(at, 1);
    return this.#live.delete(session);
  }

  #refused(error: unknown): void {
    this.#refusedAt = performance.now();
    // Sessions that still live will come back to those who wait; without any, nobody should wait in vain.
    if (this.#live.size + this.#openings.size === 0 && !this.#closing) {
      const refusal = unavailable(error);
      this.#outage.refused(refusal);
      if (this.#outage.isHopeless) this.#refuseAll(refusal);
      this.#tryLater();
    }
    this.#settleClose();
  }

  /** In an outage: for those who wait, and else to see when the database is back. */
  #tryLater(): void {
    if (this.#openings.size > 0) return;
    this.#outage.tryLater(this.#waiters.size > 0, () => {
      this.#grow(1);
      this.#tryLater();
    });
  }

  #refuseAll(error: DatabaseError): void {
    for (const waiter of this.#waiters) waiter.refuse(copyOf(error));
  }

  #forget(session: Session): void {
    const heardAt = this.#live.get(session)?.heardAt ?? 0;
    if (!this.#leave(session) && !this.#lost.delete(session)) return;
    const index = this.#idle.indexOf(session);
    if (index !== -1) this.#idle.splice(index, 1);
    if (this.#closing) {
      this.#settleClose();
      return;
    }
    this.#grow(this.#waiters.size);
    const wasInUse = heardAt > session.madeAt && performance.now() - heardAt < IN_USE_MS;
    if (wasInUse && this.#live.size + this.#openings.size === 0) this.#grow(1);
  }

  /** All that the server may have of ours. */
  get #size(): number {
    return this.#live.size + this.#lost.size + this.#openings.size;
  }

  #scheduleLook(): void {
    if (this.#look !== undefined || this.#lost.size === 0 || this.#closing) return;
    this.#look = setTimeout(() => {
      void this.#lookAfterLost().finally(() => {
        this.#look = undefined;
        this.#scheduleLook();
      });
    }, LOOK_MS);
  }

  async #lookAfterLost(): Promise<void> {
    const lost = [...this.#lost.values()];
    const pooledUntil = performance.now() - FORGET_POOLED_MS;
    for (const { session, backend, since } of lost) {
      if (backend === undefined && since < pooledUntil) this.discard(session);
    }
    const known = lost.flatMap(({ session, backend, texts }) =>
      backend === undefined ? [] : [{ ...backend, texts, session }],
    );
    const guard = known.length === 0 ? undefined : await this.#borrowToLook();
    if (guard === undefined) return;
    const gone = await endLost(guard.session, known);
    if (gone === 'unknown') {
      this.discard(guard.session);
      return;
    }
    guard.giveBack();
    for (const { session } of gone) this.discard(session);
  }

  /** Undefined while there is none to be had. */
  async #borrowToLook(): Promise<{ readonly session: Session; readonly giveBack: () => void } | undefined> {
    const wait = { signal: this.#giveUpLooking.signal, timeoutMs: LOOK_WAIT_MS };
    try {
      if (this.#lost.size < this.#max) {
        const session = await this.acquire(wait);
        return { session, giveBack: () => this.release(session) };
      }
      // All are lost: one beyond the most allowed, or nobody would be served while a network swallows them.
      const session = await this.#open(this.#giveUpLooking.signal);
      return { session, giveBack: () => farewell(session) };
    } catch (error) {
      if (error instanceof DatabaseError) return undefined;
      throw error;
    }
  }

  /** The server ends them, or their queries do. */
  #leaveLost(): void {
    clearTimeout(this.#look);
    for (const session of this.#lost.keys()) this.discard(session);
  }

  #settleClose(): void {
    if (this.#live.size + this.#openings.size === 0) this.#closed?.();
  }
}
