/**
 * One bound on the memory of all large results: room for a whole result is reserved before more
 * than its first window may travel, first come first served, so that results half arrived can
 * never block each other.
 */
export interface ResultBudget {
  /** Calls `granted` at once or when others have released enough; returns the release, safe to call at any time. */
  reserve(bytes: number, granted: () => void): () => void;
  readonly reservedBytes: number;
}

interface Waiting {
  readonly bytes: number;
  readonly granted: () => void;
  state: 'waiting' | 'held' | 'released';
}

/** `totalBytes` must be at least the largest result. */
export function createResultBudget(totalBytes: number): ResultBudget {
  const queue: Waiting[] = [];
  let reserved = 0;

  function admit(): void {
    for (let next = queue[0]; next !== undefined; next = queue[0]) {
      if (next.state === 'waiting' && reserved + next.bytes > totalBytes) return;
      queue.shift();
      if (next.state === 'released') continue;
      next.state = 'held';
      reserved += next.bytes;
      next.granted();
    }
  }

  return {
    reserve(bytes, granted) {
      const waiting: Waiting = { bytes, granted, state: 'waiting' };
      queue.push(waiting);
      admit();
      return () => {
        if (waiting.state === 'held') reserved -= bytes;
        waiting.state = 'released';
        admit();
      };
    },
    get reservedBytes() {
      return reserved;
    },
  };
}
