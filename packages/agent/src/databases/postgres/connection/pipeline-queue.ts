import type { Batch } from './pipeline.ts';

/**
 * Why a transaction is to be sent again: for what happened to another before it, or because it may itself be what made
 * its batch late or ended its connection. Then it has to be sent alone.
 */
export type MoveReason = 'behind' | 'suspected';

/** Callers who gave up have waited long; what is late may only share a stall with all others. */
export type CancelReason = 'unwanted' | 'late';

/** A transaction on its way over a session: from when it is sent until its result has come. */
export interface QueuedTransaction {
  /** The statements that it runs. */
  readonly texts: readonly string[];
  /** The batch in which it was sent. */
  readonly batch: Batch;
  /** Its caller shall send it again over another session. This one stays under way, and nobody waits for it. */
  readonly move: (reason: MoveReason) => void;
  /** Whether its caller still waits for its result. */
  readonly isWanted: () => boolean;
  /** Ends what the server runs: no caller waits for it, or for any of its batch. */
  readonly cancel: (why: CancelReason) => void;
  /** The results of all before it have come: now the server runs it. */
  readonly onFirst: () => void;
}

/**
 * - `open`: transactions are added. At the start, and by `reopen`, once the session is in order again or released.
 * - `closed`: none is added. From `open`, by `close`, when the first takes long and is in no batch.
 * - claimed: none is added, and one transaction, alone, resets or ends the session. From `open` and `closed`, by `claim`,
 *   or `claimLost`, when a transaction has failed or is to be cancelled, or a batch is late.
 */
type QueueState = 'open' | 'closed' | { readonly claimedBy: QueuedTransaction };

/** Less than this is never late; how often the pool looks is the same. */
export const LATE_MS = 10;
const LATE_TIMES = 4;
/** So that a query that was meant to take long does not make all behind it wait. */
const USUAL_MAX_MS = 20;
/** How much the last one counts in what is usual. */
const LAST_SHARE = 1 / 8;

/**
 * The transactions under way on one session, in the order in which they were sent. The server runs the first only, or one
 * of the first's batch, whose results come together.
 */
export class PipelineQueue {
  readonly #now: () => number;
  readonly #transactions: QueuedTransaction[] = [];
  /** When each of them was sent. */
  readonly #sentAt: number[] = [];
  #firstSince = 0;
  #networkMs: number;
  #usualMs = 0;
  #state: QueueState = 'open';
  /** Of the batch whose results come: what each of it took, if all took the same. */
  #shared: { readonly batch: Batch; readonly ms: number } | undefined;

  /** `roundTripMs` is what anything takes on this connection; what is quicker corrects it, and nothing raises it. */
  constructor(roundTripMs: number, now: () => number = () => performance.now()) {
    this.#networkMs = roundTripMs;
    this.#now = now;
  }

  /** Whether another may be sent behind those under way. */
  get isOpen(): boolean {
    return this.#state === 'open';
  }

  get length(): number {
    return this.#transactions.length;
  }

  /** The statements of all. */
  get texts(): readonly string[] {
    return this.#transactions.flatMap(({ texts }) => texts);
  }

  /**
   * Whether the first, or its batch, takes long at the server, the time on the network not counted: longer than
   * `LATE_MS`, and several times as long as what came before it on this connection. On a busy machine all take longer.
   */
  get isFirstLate(): boolean {
    return this.#ranMs() > Math.max(LATE_MS, LATE_TIMES * this.#usualMs);
  }

  /** Whether others of the first's batch are under way, so that nobody knows which of them the server runs. */
  get isBatchFirst(): boolean {
    const [first, second] = this.#transactions;
    return second !== undefined && first?.batch === second.batch;
  }

  /** Whether it is what the server runs. */
  isRunning(transaction: QueuedTransaction): boolean {
    return this.#transactions[0] === transaction && !this.isBatchFirst;
  }

  /** Throws if the queue is not open. */
  add(transaction: QueuedTransaction): void {
    if (!this.isOpen) throw new Error('added a transaction to a queue that is not open');
    const at = this.#now();
    if (this.length === 0) this.#firstSince = at;
    this.#transactions.push(transaction);
    this.#sentAt.push(at);
  }

  /** Cancels what the server runs if nobody waits for any of its batch. */
  cancelUnwanted(): void {
    const [first] = this.#transactions;
    const isWanted = this.#transactions.some((each) => each.batch === first?.batch && each.isWanted());
    if (!isWanted) first?.cancel('unwanted');
  }

  /** Returns how long it took at the server: what cannot be told from its batch is shared among it. */
  remove(transaction: QueuedTransaction): number {
    const at = this.#transactions.indexOf(transaction);
    if (at < 0) return 0;
    const endedAt = this.#now();
    const { batch } = transaction;
    const elapsed = at === 0 ? this.#ranMs() : 0;
    const isShared = this.#shared?.batch === batch;
    const ran = isShared ? Math.max(this.#shared?.ms ?? 0, elapsed) : elapsed / batch.size;
    if (at === 0 && !isShared) {
      this.#shared = { batch, ms: ran };
      this.#usualMs += (Math.min(elapsed, USUAL_MAX_MS) - this.#usualMs) * LAST_SHARE;
    }
    this.#networkMs = Math.min(this.#networkMs, endedAt - (this.#sentAt[at] ?? 0));
    this.#transactions.splice(at, 1);
    this.#sentAt.splice(at, 1);
    if (at === 0) {
      this.#firstSince = endedAt;
      this.#transactions[0]?.onFirst();
    }
    return ran;
  }

  /**
   * Lets no other in, and moves all away that wait behind the first. The first too, if it is in a batch, and then what the
   * server runs is cancelled: of a batch that is late nobody knows whose fault it is.
   */
  close(): void {
    if (!this.isOpen) throw new Error('closed a queue that is not open');
    this.#state = 'closed';
    const [first] = this.#transactions;
    if (first === undefined || !this.isBatchFirst) {
      this.#moveAllBut(first);
      return;
    }
    this.#moveAll(first.batch);
    first.cancel('late');
  }

  /**
   * As `close`, but moves all away except this one. True when this one is now the one to bring the session back in order,
   * false when another has claimed it before.
   */
  claim(transaction: QueuedTransaction): boolean {
    this.#moveAllBut(transaction);
    return this.#claimBy(transaction);
  }

  /** As `claim`, for one that was lost with its connection before its batch was heard of. */
  claimLost(transaction: QueuedTransaction): boolean {
    this.#moveAll(transaction.batch);
    return this.#claimBy(transaction);
  }

  reopen(): void {
    this.#state = 'open';
  }

  #moveAllBut(kept: QueuedTransaction | undefined): void {
    for (const transaction of this.#transactions) if (transaction !== kept) transaction.move('behind');
  }

  #moveAll(suspected: Batch): void {
    for (const { move, batch } of this.#transactions) move(batch === suspected ? 'suspected' : 'behind');
  }

  #ranMs(): number {
    const sentAt = this.#sentAt[0] ?? 0;
    return Math.max(0, this.#now() - Math.max(this.#firstSince, sentAt + this.#networkMs));
  }

  #claimBy(transaction: QueuedTransaction): boolean {
    if (typeof this.#state === 'string') this.#state = { claimedBy: transaction };
    return this.#state.claimedBy === transaction;
  }
}
