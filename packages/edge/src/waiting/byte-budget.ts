import { createTurnQueue } from './turn-queue.ts';

/** One bound on the bytes that many reservations hold together: first come, first served, and keys in turn. */
export interface ByteBudget<K> {
  /** Calls `granted` as soon as there is enough left: within this call, or when others have given back. */
  reserve(bytes: number, granted: () => void, key: K): Reservation;
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

/**
 * `totalBytes` must be at least the largest reservation. `mostOf` says what all reservations of a key may hold together;
 * one alone is granted whatever it says.
 */
export function createByteBudget<K>(
  totalBytes: number,
  mostOf: (key: K) => number = () => totalBytes,
): ByteBudget<K> {
  const queue = createTurnQueue<K, Waiting & { readonly key: K }>();
  const heldBy = new Map<K, number>();
  let reserved = 0;

  function change(key: K, bytes: number): void {
    reserved += bytes;
    const held = (heldBy.get(key) ?? 0) + bytes;
    if (held === 0) heldBy.delete(key);
    else heldBy.set(key, held);
  }

  function hasShare({ key, bytes }: Waiting & { readonly key: K }): boolean {
    const held = heldBy.get(key) ?? 0;
    return held === 0 || held + bytes <= mostOf(key);
  }

  function grantNext(): void {
    while (queue.size > 0 && grantOne());
  }

  function grantOne(): boolean {
    const next = queue.find(hasShare);
    // Not even smaller ones go past it, or it might wait for ever.
    if (next === undefined || reserved + next.bytes > totalBytes) return false;
    queue.served(next.key);
    queue.delete(next.key, next);
    next.state = 'held';
    change(next.key, next.bytes);
    next.granted();
    return true;
  }

  return {
    reserve(bytes, granted, key) {
      const waiting = { bytes, granted, key, state: 'waiting' as Waiting['state'] };
      queue.add(key, waiting);
      grantNext();
      return {
        shrink(left) {
          if (waiting.state !== 'held' || left >= waiting.bytes) return;
          change(key, left - waiting.bytes);
          waiting.bytes = left;
          grantNext();
        },
        release() {
          if (waiting.state === 'held') change(key, -waiting.bytes);
          else queue.delete(key, waiting);
          waiting.state = 'released';
          waiting.bytes = 0;
          grantNext();
        },
      };
    },
    get reservedBytes() {
      return reserved;
    },
  };
}
