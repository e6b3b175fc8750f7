import type { AbortSignalLike } from '@svc/edge';

/**
 * Bounds what runs at once (`runtime.max_concurrent_requests`) and what waits for it
 * (`runtime.queue_size`), first come first served.
 */
export interface Admission {
  /**
   * The release of a slot, or why there is none: a promise, which never rejects, where that is to be waited for.
   * `deadlineMs` is how long waiting makes sense.
   */
  enter(deadlineMs: number, signal: AbortSignalLike): Admitted | Promise<Admitted>;
  readonly running: number;
  readonly queued: number;
}

type Admitted = (() => void) | 'full' | 'late' | 'aborted';

export function createAdmission(maxRunning: number, maxQueued: number): Admission {
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
    enter(deadlineMs, signal) {
      if (signal.aborted) return 'aborted';
      if (running < maxRunning) {
        running++;
        return slot();
      }
      if (queue.size >= maxQueued) return 'full';
      return new Promise<Admitted>((resolve) => {
        const leave = (outcome: Admitted): void => {
          clearTimeout(timer);
          signal.removeEventListener('abort', onAbort);
          queue.delete(onTurn);
          resolve(outcome);
        };
        const onTurn = (): void => leave(slot());
        const onAbort = (): void => leave('aborted');
        const timer = setTimeout(() => leave('late'), deadlineMs);
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
