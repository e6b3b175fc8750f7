import type { AbortSignalLike } from '@svc/edge';
import type { CallerShare, DatabaseChange, SharingEnded } from '../../driver/driver.ts';
import { PoolBase, type LiveSession } from '../../sessions/pool-base.ts';
import type { TimeLimit } from '../../sessions/wait-queue.ts';
import type { DatabaseSession } from '../connection/database-session.ts';
import { LATE_MS } from '../connection/pipeline-queue.ts';
import { poolRules } from '../connection/server-errors.ts';
import { SharedCalls } from './shared-calls.ts';
import { OrphanedSessions, type CheckSession } from './orphaned-sessions.ts';

/** How long an idle session may take to close when another got no answer: one whose server still answers closes at once. */
const DOUBTFUL_CLOSE_MS = 250;

/** How many transactions may be under way over one session. */
const PIPELINE_MAX = 32;
/**
 * How long the short transactions under way over one session may be expected to take together, before another session is
 * woken: what takes longer runs beside others on a server with several processors.
 */
const JOIN_MS = 1;
/** How many sessions are compared to find the least busy. */
const COMPARED_MAX = 8;

/** How long after a refused connection none is opened that no call waits for. */
const GROW_AGAIN_MS = 1000;

/**
 * Hands out each session to one transaction, or to several short ones. A short one is sent behind others if it hardly waits
 * there: waking another session costs as much again as the transaction. Else an idle session is used. A short one moves to
 * another session when one before it takes long and another session is free or may be opened.
 */
export class SessionPool extends PoolBase<DatabaseSession> {
  readonly sharedCalls: SharedCalls;
  protected readonly orphans: OrphanedSessions;
  /** The live ones again, as a list for `#leastBusy` to go round. */
  readonly #sessions: DatabaseSession[] = [];
  #cursor = 0;
  /** How many are in the state `shared`. */
  #shared = 0;
  /** The one that was last given to a short transaction. */
  #lastShared: DatabaseSession | undefined;
  #lateTimer: NodeJS.Timeout | undefined;
  /** How many sessions each caller has for itself. */
  readonly #held = new Map<CallerShare, number>();

  constructor(
    open: (signal: AbortSignalLike) => Promise<DatabaseSession>,
    max: number,
    onChange?: (change: DatabaseChange | SharingEnded) => void,
  ) {
    super(open, max, poolRules, onChange);
    this.sharedCalls = new SharedCalls((sharingEnded) => onChange?.({ sharingEnded }));
    this.orphans = new OrphanedSessions(
      (limit) => this.#acquireForCheck(limit),
      (session) => this.discard(session),
    );
  }

  /**
   * Leaves a session whose query, with these statements, goes on though it was cancelled at `cancelledAt` by
   * `performance.now()`. What may be as silent is closed too.
   */
  orphan(session: DatabaseSession, texts: readonly string[], cancelledAt: number): void {
    if (this.removeLive(session)) {
      this.orphans.add(session, texts);
      session.orphan();
    }
    this.closeDoubtful(cancelledAt);
    if (this.isClosing) this.orphans.close();
  }

  /** A server out of reach delays it by a second at most. */
  override async close(): Promise<void> {
    clearTimeout(this.#lateTimer);
    const closed = super.close();
    this.orphans.close();
    await closed;
  }

  /** Of a caller with its share; its short calls may still be sent behind others, if any are under way. */
  protected override isKeptBack(shortMs: number | undefined, share: CallerShare | undefined): boolean {
    if (share === undefined) return false;
    if (shortMs === undefined) return (this.#held.get(share) ?? 0) >= share.most(this.max);
    const spare = share.spare(this.max);
    return spare > 0 && this.#shared > 0 && this.live.size - this.idle.length >= this.max - spare;
  }

  protected assign(shortMs: number | undefined, share: CallerShare | undefined): DatabaseSession | undefined {
    const mayShare = shortMs !== undefined;
    const joined = mayShare && this.#shared > 0 ? this.#joinable(shortMs) : undefined;
    // The most recently used one first: its caches are warm, and a pooler may let go the server connections of the others.
    const idle = joined === undefined && !this.isKeptBack(shortMs, share) ? this.idle.pop() : undefined;
    const session = joined ?? idle ?? (mayShare ? this.#leastBusy() : undefined);
    const live = session && this.live.get(session);
    if (session === undefined || live === undefined) return undefined;
    if (live.state !== 'idle' && live.state !== 'shared') {
      throw new Error(`assigned a session that is ${live.state}`);
    }
    // A pooler that mistakes whose answers are under way would give those of one caller to another: there a call is alone.
    if (!mayShare || session.facts.backend === undefined) this.#giveAlone(live, share);
    else this.#giveShared(session, live, shortMs, joined !== undefined);
    return session;
  }

  #giveAlone(live: LiveSession, share: CallerShare | undefined): void {
    live.state = 'exclusive';
    live.acquired += 1;
    live.holder = share;
    if (share !== undefined) this.#held.set(share, (this.#held.get(share) ?? 0) + 1);
  }

  #giveShared(session: DatabaseSession, live: LiveSession, shortMs: number, isJoined: boolean): void {
    if (live.state === 'idle') this.#shared += 1;
    live.state = 'shared';
    live.acquired += 1;
    live.expectedMs += shortMs;
    this.#lastShared = session;
    if (live.acquired === 1) return;
    if (!isJoined && live.answeredAt > this.refusedAt + GROW_AGAIN_MS) this.grow(1);
    this.#watchForLate();
  }

  protected override added(session: DatabaseSession): void {
    this.#sessions.push(session);
  }

  protected override freed(session: DatabaseSession, live: LiveSession): void {
    this.#countNoMore(live);
    session.queue.reopen();
  }

  protected override removed(session: DatabaseSession, live: LiveSession): void {
    const at = this.#sessions.indexOf(session);
    if (at >= 0) this.#sessions.splice(at, 1);
    this.#countNoMore(live);
  }

  #countNoMore(live: LiveSession): void {
    if (live.state === 'shared') this.#shared -= 1;
    const { holder } = live;
    if (holder === undefined) return;
    live.holder = undefined;
    const left = (this.#held.get(holder) ?? 1) - 1;
    if (left === 0) this.#held.delete(holder);
    else this.#held.set(holder, left);
  }

  protected endDoubtful(session: DatabaseSession): void {
    this.idle.splice(this.idle.indexOf(session), 1);
    this.endGracefully(session, DOUBTFUL_CLOSE_MS);
  }

  /** The one that was last given to a short transaction, so that many leave in a batch; else the least busy. */
  #joinable(shortMs: number): DatabaseSession | undefined {
    const session = this.#isJoinable(this.#lastShared, shortMs) ? this.#lastShared : this.#leastBusy();
    return this.#isJoinable(session, shortMs) ? session : undefined;
  }

  #isJoinable(session: DatabaseSession | undefined, shortMs: number): boolean {
    const live = session && this.live.get(session);
    if (live?.state !== 'shared' || session?.queue.isOpen !== true) return false;
    return live.expectedMs + shortMs <= JOIN_MS && live.acquired < PIPELINE_MAX;
  }

  /** Among some of the shared ones. */
  #leastBusy(): DatabaseSession | undefined {
    let found: DatabaseSession | undefined;
    let least = PIPELINE_MAX;
    for (let left = Math.min(COMPARED_MAX, this.#sessions.length); left > 0; left -= 1) {
      this.#cursor = (this.#cursor + 1) % this.#sessions.length;
      const session = this.#sessions[this.#cursor];
      const live = session && this.live.get(session);
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
    if (this.isClosing) return;
    for (const { queue } of this.#sessions) {
      if (queue.length < 2 || !queue.isOpen) continue;
      // All of a batch wait for its slowest, so they are moved even if they then wait for a session.
      const mayMove = queue.isBatchFirst || this.idle.length > 0 || this.size < this.max;
      if (mayMove && queue.isFirstLate) queue.close();
      else this.#watchForLate();
    }
  }

  async #acquireForCheck(limit: TimeLimit): Promise<CheckSession> {
    if (this.orphans.size < this.max) {
      const session = await this.acquire(limit);
      return { session, giveBack: () => this.release(session) };
    }
    // All are orphaned: without one beyond `max` no call would be served while a network drops what is sent.
    const session = await this.open(limit.signal);
    return { session, giveBack: () => session.close() };
  }
}
