import { createByteBudget, type AbortSignalLike } from '@svc/edge';

/**
 * Bounds the memory of results from before their query runs until the gateway has taken them. Those that may be
 * large reserve their most and wait their turn, before they take a slot; those that cannot be wait only while small
 * results fill the room of their own. So neither keeps the other out.
 */
export interface ResultRoom {
  /** Undefined where the result cannot be large: see `enterSmall`. Never rejects; `waitMs` is how long waiting makes sense. */
  reserveLarge(
    maxBytes: number,
    waitMs: number,
    signal: AbortSignalLike,
  ): Promise<Place | 'late' | 'aborted'> | undefined;
  /** To be called last before the query runs; undefined where there is room at once. */
  enterSmall(waitMs: number, signal: AbortSignalLike): Promise<'late' | 'aborted' | undefined> | undefined;
  /** Counts a small result; returns its release, which may be called once. */
  holdSmall(bytes: number): () => void;
  readonly heldBytes: number;
}

interface Place {
  /** The result is there, and is that long. */
  shrink(bytes: number): void;
  /** Safe to call more than once. */
  readonly release: () => void;
}

/** What the default policy allows: as many as run at once may have it besides the room itself. */
const SMALL_MAX_BYTES = 1_048_576;

/** `roomBytes` is for large results, and again for small ones; at least the largest result. */
export function createResultRoom(roomBytes: number): ResultRoom {
  const large = createByteBudget(roomBytes);
  const waiting = new Set<() => void>();
  let small = 0;

  function wake(): void {
    for (const enter of waiting) {
      if (small >= roomBytes) return;
      enter();
    }
  }

  return {
    reserveLarge(maxBytes, waitMs, signal) {
      if (maxBytes <= SMALL_MAX_BYTES) return undefined;
      return new Promise((resolve) => {
        if (signal.aborted) {
          resolve('aborted');
          return;
        }
        const leave = (outcome: Place | 'late' | 'aborted'): void => {
          clearTimeout(timer);
          signal.removeEventListener('abort', onAbort);
          if (typeof outcome === 'string') place.release();
          resolve(outcome);
        };
        const onAbort = (): void => leave('aborted');
        const timer = setTimeout(() => leave('late'), waitMs);
        signal.addEventListener('abort', onAbort);
        // Granted within the call as well, when `place` is not there yet.
        const place = large.reserve(Math.min(maxBytes, roomBytes), () => queueMicrotask(() => leave(place)));
      });
    },
    enterSmall(waitMs, signal) {
      if (small < roomBytes) return undefined;
      return new Promise((resolve) => {
        const leave = (outcome: 'late' | 'aborted' | undefined): void => {
          clearTimeout(timer);
          signal.removeEventListener('abort', onAbort);
          waiting.delete(enter);
          resolve(outcome);
        };
        const enter = (): void => leave(undefined);
        const onAbort = (): void => leave('aborted');
        const timer = setTimeout(() => leave('late'), waitMs);
        signal.addEventListener('abort', onAbort);
        waiting.add(enter);
        if (signal.aborted) onAbort();
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
