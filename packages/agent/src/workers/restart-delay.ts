const FIRST_MS = 100;
const LONGEST_MS = 5000;
/** One that ended sooner ended at once. */
const LASTING_MS = 10_000;

/** How long to wait before a worker is started again: longer each time while it ends at once. */
export function createRestartDelay(): (livedMs: number) => number {
  let next = FIRST_MS;
  return (livedMs) => {
    const delay = livedMs >= LASTING_MS ? FIRST_MS : next;
    next = Math.min(2 * delay, LONGEST_MS);
    return delay;
  };
}
