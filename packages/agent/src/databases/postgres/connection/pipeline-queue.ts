/** A transaction on its way over a session: from when it is sent until its result has come. */
export interface QueuedTransaction {
  /** The statements that it runs. */
  readonly texts: readonly string[];
  /** Its caller shall send it again over another session. This one stays under way, without anybody waiting for it. */
  readonly move: () => void;
  /** The results of all before it have come: now the server runs it. */
  readonly onFirst: () => void;
}

/** The transactions under way on one session, in the order in which they were sent. The server runs the first only. */
export interface PipelineQueue {
  /** Whether another may be sent behind those under way. */
  readonly isOpen: boolean;
  readonly length: number;
  /** How long the first has taken at the server, in milliseconds: the time on the network is not counted. */
  readonly firstRanMs: number;
  /** The statements of all. */
  readonly texts: readonly string[];
  isFirst(transaction: QueuedTransaction): boolean;
  /** Throws where the queue is not open. */
  add(transaction: QueuedTransaction): void;
  remove(transaction: QueuedTransaction): void;
  /** Lets no other in, and moves all away that wait behind the first. */
  close(): void;
  /**
   * As `close`, but moves all away except this one. True when this one is now the one to bring the session back in order,
   * false when another has claimed it before.
   */
  claim(transaction: QueuedTransaction): boolean;
  reopen(): void;
}

/**
 * - `open`: transactions are added. At the start, and by `reopen`, once the session is in order again or released.
 * - `closed`: none is added. From `open`, by `close`, when the first takes long.
 * - claimed: none is added, and one transaction, alone, resets or ends the session. From `open` and `closed`, by `claim`,
 *   when a transaction has failed or is to be cancelled.
 */
type QueueState = 'open' | 'closed' | { readonly claimedBy: QueuedTransaction };

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
  let state: QueueState = 'open';

  function moveAllBut(kept: QueuedTransaction | undefined): void {
    for (const transaction of transactions) if (transaction !== kept) transaction.move();
  }

  return {
    get isOpen() {
      return state === 'open';
    },
    get length() {
      return transactions.length;
    },
    get firstRanMs() {
      return Math.max(0, now() - Math.max(firstSince, (sentAt[0] ?? 0) + networkMs));
    },
    get texts() {
      return transactions.flatMap(({ texts }) => texts);
    },
    isFirst: (transaction) => transactions[0] === transaction,
    add(transaction) {
      if (state !== 'open') throw new Error('added a transaction to a queue that is not open');
      const at = now();
      if (transactions.length === 0) firstSince = at;
      transactions.push(transaction);
      sentAt.push(at);
    },
    remove(transaction) {
      const at = transactions.indexOf(transaction);
      if (at < 0) return;
      const endedAt = now();
      networkMs = Math.min(networkMs, endedAt - (sentAt[at] ?? 0));
      transactions.splice(at, 1);
      sentAt.splice(at, 1);
      if (at > 0) return;
      firstSince = endedAt;
      transactions[0]?.onFirst();
    },
    close() {
      if (state !== 'open') throw new Error('closed a queue that is not open');
      state = 'closed';
      moveAllBut(transactions[0]);
    },
    claim(transaction) {
      if (typeof state === 'string') state = { claimedBy: transaction };
      moveAllBut(transaction);
      return state.claimedBy === transaction;
    },
    reopen() {
      state = 'open';
    },
  };
}
