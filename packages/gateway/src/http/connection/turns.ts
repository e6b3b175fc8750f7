/** Begins work in small portions: between two of them the event loop serves other connections. */
export interface Turns {
  /** First come, first served; never runs `work` within the call. */
  readonly later: (work: () => void) => void;
}

const TURN_MS = 5;
const TURN_PIECES = 32;

export function createTurns(now: () => number): Turns {
  const waiting = new Set<() => void>();
  let isScheduled = false;
  /** Unset until the first piece has begun: time that other code takes before does not count. */
  let endsAt: number | undefined;

  function schedule(): void {
    if (isScheduled || waiting.size === 0) return;
    isScheduled = true;
    setImmediate(turn);
  }

  function turn(): void {
    endsAt = undefined;
    // Each in a callback of its own, so that the promises of a piece count as its time.
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
