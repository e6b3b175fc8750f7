import type { AbortSignalLike } from '@svc/edge';

/**
 * Bounds what runs at once (`runtime.max_concurrent_requests`) and what waits for it
 * (`runtime.queue_size`), first come first served.
 */
export interface ConcurrencyLimit {
  /**
   * Takes a slot: returns its release, or why there is none; a promise, which never rejects, where the slot has to be
   * waited for. `waitMs` is how long waiting makes sense.
   */
  acquire(waitMs: number, signal: AbortSignalLike): Acquired | Promise<Acquired>;
  /** Slots taken. */
  readonly running: number;
  /** Calls that wait for a slot. */
  readonly queued: number;
}

type Acquired = (() => void) | 'full' | 'late' | 'aborted';

export function createConcurrencyLimit(maxRunning: number, maxQueued: number): ConcurrencyLimit {
  const queue = new Set<() => void>();
  let running = 0;

  function release(): void {
    const [next] = queue;
    if (next === undefined) {
      running--;
      return;
    }
    queue.delete(next);
    next();
  }

  /** A slot can be given back only once. */
  function slot(): () => void {
    let held = true;
    return () => {
      if (held) release();
      held = false;
    };
  }

  return {
    acquire(waitMs, signal) {
      if (signal.aborted) return 'aborted';
      if (running < maxRunning) {
        running++;
        return slot();
      }
      if (queue.size >= maxQueued) return 'full';
      return new Promise<Acquired>((resolve) => {
        const leave = (outcome: Acquired): void => {
          clearTimeout(timer);
          signal.removeEventListener('abort', onAbort);
          queue.delete(onTurn);
          resolve(outcome);
        };
        const onTurn = (): void => leave(slot());
        const onAbort = (): void => leave('aborted');
        const timer = setTimeout(() => leave('late'), waitMs);
        signal.addEventListener('abort', onAbort);
        queue.add(onTurn);
      });
    },
    get running() {
      return running;
    },
    get queued() {
      return queue.size;
    },
  };
}
