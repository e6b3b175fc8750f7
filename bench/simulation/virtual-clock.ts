/** Time that passes only from one thing that happens to the next. Milliseconds. */
export interface VirtualClock {
  readonly now: number;
  /** Runs once; a `delayMs` of 0 runs after all that is due at this time already. */
  after(delayMs: number, run: () => void): void;
  /** Until nothing is left before that time. */
  runUntil(endMs: number): void;
}

export function createVirtualClock(): VirtualClock {
  /** The next one is the last. */
  const queue: { readonly at: number; readonly run: () => void }[] = [];
  let now = 0;

  return {
    get now() {
      return now;
    },
    after(delayMs, run) {
      const at = now + Math.max(0, delayMs);
      let [place, end] = [0, queue.length];
      while (place < end) {
        const middle = (place + end) >> 1;
        if ((queue[middle]?.at ?? 0) > at) place = middle + 1;
        else end = middle;
      }
      queue.splice(place, 0, { at, run });
    },
    runUntil(endMs) {
      for (let next = queue.at(-1); next !== undefined && next.at <= endMs; next = queue.at(-1)) {
        queue.pop();
        now = next.at;
        next.run();
      }
      now = endMs;
    },
  };
}
