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
  /** What it was sent in. */
  readonly batch: Batch;
  /** Its caller shall send it again over another session. This one stays under way, without anybody waiting for it. */
  readonly move: (reason: MoveReason) => void;
  /** Whether its caller still waits for its result. */
  readonly isWanted: () => boolean;
  /** Ends what the server runs: no caller waits for it, or for any of its batch. */
  readonly cancel: (why: CancelReason) => void;
  /** The results of all before it have come: now the server runs it. */
  readonly onFirst: () => void;
}

/**
 * The transactions under way on one session, in the order in which they were sent. The server runs the first only, or one
 * of the first's batch, whose results come together.
 */
export interface PipelineQueue {
  /** Whether another may be sent behind those under way. */
  readonly isOpen: boolean;
  readonly length: number;
  /**
   * Whether the first, or its batch, takes long at the server, the time on the network not counted: longer than
   * `LATE_MS`, and several times as long as what came before it on this connection: on a busy machine all take longer.
   */
  readonly isFirstLate: boolean;
  /** Whether others of the first's batch are under way, so that nobody knows which of them the server runs. */
  readonly isBatchFirst: boolean;
  /** The statements of all. */
  readonly texts: readonly string[];
  /** Whether it is what the server runs. */
  isRunning(transaction: QueuedTransaction): boolean;
  /** Throws where the queue is not open. */
  add(transaction: QueuedTransaction): void;
  /** Cancels what the server runs where nobody waits for any of its batch. */
  cancelUnwanted(): void;
  /** Returns how long it took at the server: what cannot be told from its batch is shared among it. */
  remove(transaction: QueuedTransaction): number;
  /**
   * Lets no other in, and moves all away that wait behind the first. The first too, where it is in a batch, and then
   * what the server runs is cancelled: of a batch that is late nobody knows whose fault it is.
   */
  close(): void;
  /**
   * As `close`, but moves all away except this one. True when this one is now the one to bring the session back in order,
   * false when another has claimed it before.
   */
  claim(transaction: QueuedTransaction): boolean;
  /** As `claim`, for one that was lost with its connection before its batch was heard of. */
  claimLost(transaction: QueuedTransaction): boolean;
  reopen(): void;
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

/** `roundTripMs` is what anything takes on this connection; what is quicker corrects it, and nothing raises it. */
export function createPipelineQueue(
  roundTripMs: number,
  now: () => number = () => performance.now(),
): PipelineQueue {
  const transactions: QueuedTransaction[] = [];
  /** When each of them was sent. */
  const sentAt: number[] = [];
  let firstSince = 0;
  let networkMs = roundTripMs;
  let usualMs = 0;
  let state: QueueState = 'open';
  /** Of the batch whose results come: what each of it took, if all took the same. */
  let shared: { readonly batch: Batch; readonly ms: number } | undefined;

  function moveAllBut(kept: QueuedTransaction | undefined): void {
    for (const transaction of transactions) if (transaction !== kept) transaction.move('behind');
  }

  function moveAll(suspected: Batch): void {
    for (const { move, batch } of transactions) move(batch === suspected ? 'suspected' : 'behind');
  }

  function ranMs(): number {
    return Math.max(0, now() - Math.max(firstSince, (sentAt[0] ?? 0) + networkMs));
  }

  function isBatchFirst(): boolean {
    return transactions.length > 1 && transactions[0]?.batch === transactions[1]?.batch;
  }

  function claimBy(transaction: QueuedTransaction): boolean {
    if (typeof state === 'string') state = { claimedBy: transaction };
    return state.claimedBy === transaction;
  }

  return {
    get isOpen() {
      return state === 'open';
    },
    get length() {
      return transactions.length;
    },
    get isFirstLate() {
      return ranMs() > Math.max(LATE_MS, LATE_TIMES * usualMs);
    },
    get isBatchFirst() {
      return isBatchFirst();
    },
    get texts() {
      return transactions.flatMap(({ texts }) => texts);
    },
    isRunning: (transaction) => transactions[0] === transaction && !isBatchFirst(),
    add(transaction) {
      if (state !== 'open') throw new Error('added a transaction to a queue that is not open');
      const at = now();
      if (transactions.length === 0) firstSince = at;
      transactions.push(transaction);
      sentAt.push(at);
    },
    remove(transaction) {
      const at = transactions.indexOf(transaction);
      if (at < 0) return 0;
      const endedAt = now();
      const { batch } = transaction;
      const elapsed = at === 0 ? ranMs() : 0;
      const ran = shared?.batch === batch ? Math.max(shared.ms, elapsed) : elapsed / batch.size;
      if (at === 0 && shared?.batch !== batch) {
        shared = { batch, ms: ran };
        usualMs += (Math.min(elapsed, USUAL_MAX_MS) - usualMs) * LAST_SHARE;
      }
      networkMs = Math.min(networkMs, endedAt - (sentAt[at] ?? 0));
      transactions.splice(at, 1);
      sentAt.splice(at, 1);
      if (at === 0) {
        firstSince = endedAt;
        transactions[0]?.onFirst();
      }
      return ran;
    },
    cancelUnwanted() {
      const [first] = transactions;
      const isWanted = transactions.some((each) => each.batch === first?.batch && each.isWanted());
      if (!isWanted) first?.cancel('unwanted');
    },
    close() {
      if (state !== 'open') throw new Error('closed a queue that is not open');
      state = 'closed';
      const [first] = transactions;
      if (first === undefined || !isBatchFirst()) {
        moveAllBut(first);
        return;
      }
      moveAll(first.batch);
      first.cancel('late');
    },
    claim(transaction) {
      moveAllBut(transaction);
      return claimBy(transaction);
    },
    claimLost(transaction) {
      moveAll(transaction.batch);
      return claimBy(transaction);
    },
    reopen() {
      state = 'open';
    },
  };
}
