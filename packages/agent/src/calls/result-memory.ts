import { createByteBudget, type AbortSignalLike, type Reservation } from '@svc/edge';
import type { CallerLoad } from './caller-loads.ts';
import { waitFor } from './wait-for.ts';

/**
 * Bounds the memory of results, from before their query runs until the gateway has taken them. A result that may be large
 * reserves its maximum, before its call takes a slot. Small results have as much memory of their own, and wait only while
 * other small results fill it, so neither kind waits for the other. Callers take turns for large results. If there are
 * several callers, none holds more than half of their memory, or one result.
 */
export interface ResultMemory {
  /** Undefined if the result cannot be large: see `waitForSmall`. Never rejects. `waitMs` is how long waiting makes sense. */
  reserveLarge(
    maxBytes: number,
    waitMs: number,
    signal: AbortSignalLike,
    load: CallerLoad,
  ): Promise<Reservation | 'late' | 'aborted'> | undefined;
  /** To be called last before the query runs; undefined if small results have memory left. */
  waitForSmall(waitMs: number, signal: AbortSignalLike): Promise<'late' | 'aborted' | undefined> | undefined;
  /** Counts a small result; returns its release, which may be called once. */
  holdSmall(bytes: number): () => void;
  readonly heldBytes: number;
}

/** The default of `max_bytes`. Small results reserve nothing: those that run may exceed their memory by this much each. */
const SMALL_MAX_BYTES = 1_048_576;

/** Large results may hold `limitBytes` together, and small ones as much; no result may be larger than that. */
export function createResultMemory(limitBytes: number): ResultMemory {
  const large = createByteBudget<CallerLoad>(limitBytes, ({ isAlone }) =>
    isAlone ? limitBytes : limitBytes / 2,
  );
  const waiting = new Set<() => void>();
  let small = 0;

  function wake(): void {
    for (const proceed of waiting) {
      if (small >= limitBytes) return;
      proceed();
    }
  }

  return {
    reserveLarge(maxBytes, waitMs, signal, load) {
      if (maxBytes <= SMALL_MAX_BYTES) return undefined;
      return waitFor<Reservation>(waitMs, signal, (settle) => {
        const reservation = large.reserve(
          Math.min(maxBytes, limitBytes),
          // It may be granted before `reserve` returns, when `reservation` is not assigned yet.
          () => queueMicrotask(() => settle(reservation)),
          load,
        );
        return (outcome) => {
          if (typeof outcome === 'string') reservation.release();
        };
      });
    },
    waitForSmall(waitMs, signal) {
      if (small < limitBytes) return undefined;
      return waitFor<undefined>(waitMs, signal, (settle) => {
        const proceed = (): void => settle(undefined);
        waiting.add(proceed);
        return () => waiting.delete(proceed);
      });
    },
    holdSmall(bytes) {
      small += bytes;
      return () => {
        small -= bytes;
        if (waiting.size > 0) wake();
      };
    },
    get heldBytes() {
      return large.reservedBytes + small;
    },
  };
}
