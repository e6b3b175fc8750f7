const LEAST_MS = 100;
const MOST_MS = 5000;
/** What has lived as long did not end of what it met at its start. */
const STABLE_MS = 10_000;

/** How long to wait before another process takes the place of one that lived for so long; `lastMs` was its own wait. */
export function restartDelay(livedMs: number, lastMs: number): number {
  return livedMs >= STABLE_MS ? LEAST_MS : Math.min(MOST_MS, Math.max(LEAST_MS, 2 * lastMs));
}
