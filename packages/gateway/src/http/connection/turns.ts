/** Begins work in small portions: between two of them the event loop serves other connections. */
export interface Turns {
  /** First come, first served, and never within the call. */
  readonly later: (work: () => void) => void;
}

/** How much is begun in one portion. */
const TURN_MS = 5;
const TURN_PIECES = 32;

export function createTurns(now: () => number): Turns {
  const waiting = new Set<() => void>();
  let isScheduled = false;
  /** Unknown until the first has begun: the time that others take until then does not count. */
  let endsAt: number | undefined;

  function schedule(): void {
    if (isScheduled || waiting.size === 0) return;
    isScheduled = true;
    setImmediate(turn);
  }

  function turn(): void {
    endsAt = undefined;
    // Each by itself, so that what the one before it does in promises counts as its time.
    for (let pieces = Math.min(TURN_PIECES, waiting.size); pieces > 0; pieces -= 1) setImmediate(begin);
    setImmediate(() => {
      isScheduled = false;
      schedule();
    });
  }

  function begin(): void {
    const [work] = waiting;
    endsAt ??= now() + TURN_MS;
    if (work === undefined || now() >= endsAt) return;
    waiting.delete(work);
    work();
  }

  return {
    later(work) {
      waiting.add(work);
      schedule();
    },
  };
}
