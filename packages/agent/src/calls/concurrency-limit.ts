import { createTurnQueue, type AbortSignalLike } from '@svc/edge';
import type { CallerLoad } from './caller-loads.ts';
import { waitFor } from './wait-for.ts';

/**
 * Bounds running calls (`runtime.max_concurrent_requests`) and waiting calls (`runtime.queue_size`). Callers take turns, the
 * calls of each keep their order, and each caller's running calls are bounded by its share: see `CallerLoads`.
 */
export interface ConcurrencyLimit {
  /**
   * Takes a slot: returns its release, or why there is none; a promise, which never rejects, if the call has to wait.
   * `waitMs` is how long waiting makes sense. When the queue is full, the newest call of the caller with most waiting
   * calls leaves it, unless this caller has as many.
   */
  acquire(waitMs: number, signal: AbortSignalLike, load: CallerLoad): Acquired | Promise<Acquired>;
  /** Changes the bounds; running and waiting calls stay. */
  resize(running: number, queued: number): void;
  /** Slots taken. */
  readonly running: number;
  /** Calls that wait for a slot. */
  readonly queued: number;
}

type Acquired = (() => void) | 'full' | 'late' | 'aborted';

interface Waiter {
  readonly load: CallerLoad;
  readonly leave: (outcome: Acquired) => void;
}

export function createConcurrencyLimit(atStart: number, queuedAtStart: number): ConcurrencyLimit {
  let [maxRunning, maxQueued] = [atStart, queuedAtStart];
  const queue = createTurnQueue<CallerLoad, Waiter>();
  let running = 0;

  /** For a call that has arrived. Its slot can be given back only once. */
  function slotOf(load: CallerLoad): () => void {
    running += 1;
    const startedAt = load.started();
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      running -= 1;
      load.ended(startedAt);
      if (queue.size > 0) serve();
    };
  }

  function mayRun(load: CallerLoad): boolean {
    return running < maxRunning && load.running < load.most(maxRunning);
  }

  function serve(): void {
    for (let next = nextWaiter(); next !== undefined; next = nextWaiter()) {
      queue.served(next.load);
      next.leave(slotOf(next.load));
    }
  }

  function nextWaiter(): Waiter | undefined {
    return running < maxRunning ? queue.find(({ load }) => mayRun(load)) : undefined;
  }

  return {
    acquire(waitMs, signal, load) {
      if (signal.aborted) return 'aborted';
      load.arrived();
      if (mayRun(load) && (queue.size === 0 || queue.waiting(load) === 0)) return slotOf(load);
      if (queue.size >= maxQueued) {
        const newest = queue.newestOfMost(load);
        if (newest === undefined) {
          load.left();
          return 'full';
        }
        newest.leave('full');
      }
      return waitFor<Acquired>(waitMs, signal, (leave) => {
        const waiter: Waiter = { load, leave };
        queue.add(load, waiter);
        return (outcome) => {
          queue.delete(load, waiter);
          if (typeof outcome === 'string') load.left();
        };
      });
    },
    resize(changedRunning, changedQueued) {
      [maxRunning, maxQueued] = [changedRunning, changedQueued];
      if (queue.size > 0) serve();
    },
    get running() {
      return running;
    },
    get queued() {
      return queue.size;
    },
  };
}
