const LEAST_MS = 100;
const MOST_MS = 5000;
/** A process that lived this long did not end because of how it started. */
const STABLE_MS = 10_000;

/** How long to wait before replacing a process that lived for `livedMs` and was itself started after a wait of `lastMs`. */
export function restartDelay(livedMs: number, lastMs: number): number {
  return livedMs >= STABLE_MS ? LEAST_MS : Math.min(MOST_MS, Math.max(LEAST_MS, 2 * lastMs));
}
