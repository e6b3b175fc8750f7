/** One bound on the bytes that many reservations hold together: first come, first served. */
export interface ByteBudget {
  /** Calls `granted` as soon as there is enough left: within this call, or when others have given back. */
  reserve(bytes: number, granted: () => void): Reservation;
  readonly reservedBytes: number;
}

export interface Reservation {
  /** Gives back all beyond `bytes`; only once granted. */
  shrink(bytes: number): void;
  /** Gives back what is left, or leaves the queue; safe to call at any time. */
  readonly release: () => void;
}

interface Waiting {
  bytes: number;
  readonly granted: () => void;
  state: 'waiting' | 'held' | 'released';
}

/** `totalBytes` must be at least the largest reservation. */
export function createByteBudget(totalBytes: number): ByteBudget {
  const queue: Waiting[] = [];
  let reserved = 0;

  function grantNext(): void {
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
      grantNext();
      return {
        shrink(left) {
          if (waiting.state !== 'held' || left >= waiting.bytes) return;
          reserved -= waiting.bytes - left;
          waiting.bytes = left;
          grantNext();
        },
        release() {
          if (waiting.state === 'held') reserved -= waiting.bytes;
          waiting.state = 'released';
          grantNext();
        },
      };
    },
    get reservedBytes() {
      return reserved;
    },
  };
}
