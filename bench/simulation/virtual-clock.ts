/** Time that passes only from one thing that happens to the next. Milliseconds. */
export interface VirtualClock {
  readonly now: number;
  /** At most once for each call; `delayMs` of 0 comes behind what is due at this time already. */
  after(delayMs: number, run: () => void): void;
  /** Until nothing is left before that time. */
  runUntil(endMs: number): void;
}

interface Due {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

export function createVirtualClock(): VirtualClock {
  /** A binary heap: the earliest in front. */
  const heap: Due[] = [];
  let now = 0;
  let order = 0;

  const isBefore = (a: Due, b: Due): boolean => a.at < b.at || (a.at === b.at && a.order < b.order);

  function push(due: Due): void {
    let at = heap.length;
    heap.push(due);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || !isBefore(due, above)) break;
      heap[at] = above;
      at = parent;
    }
    heap[at] = due;
  }

  function pop(): Due | undefined {
    const [first] = heap;
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      const [a, b] = [heap[left], heap[left + 1]];
      if (a === undefined) break;
      const [child, next] =
        b !== undefined && isBefore(b, a) ? ([b, left + 1] as const) : ([a, left] as const);
      if (!isBefore(child, last)) break;
      heap[at] = child;
      at = next;
    }
    heap[at] = last;
    return first;
  }

  return {
    get now() {
      return now;
    },
    after(delayMs, run) {
      push({ at: now + Math.max(0, delayMs), order: order++, run });
    },
    runUntil(endMs) {
      for (let [next] = heap; next !== undefined && next.at <= endMs; [next] = heap) {
        pop();
        now = next.at;
        next.run();
      }
      now = endMs;
    },
  };
}
