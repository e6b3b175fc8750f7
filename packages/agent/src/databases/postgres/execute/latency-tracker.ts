/** Predicts from the runs of a query whether the next one will be short. */
export interface LatencyTracker {
  /**
   * How many milliseconds it is expected to take; undefined unless it is expected to be over soon and to succeed. Only such
   * queries are sent behind one another: behind a long one they would wait, and one that fails makes those behind it fail.
   */
  readonly shortMs: number | undefined;
  /** `ms` is the time that it took at the server, without the wait behind other transactions. */
  record(ms: number, succeeded: boolean): void;
}

const SHORT_MS = 10;
const TRUSTED_FROM = 3;
/** Enough to stay trusted after one that took long, as when the machine was busy. */
const TRUST_MAX = 8;
const SETBACK = 4;
/** How much the last run counts in what is expected. */
const LAST_SHARE = 1 / 4;

export function createLatencyTracker(): LatencyTracker {
  let trust = 0;
  let expectedMs: number | undefined;
  return {
    get shortMs() {
      return trust >= TRUSTED_FROM ? expectedMs : undefined;
    },
    record(ms, succeeded) {
      if (succeeded) expectedMs = expectedMs === undefined ? ms : expectedMs + (ms - expectedMs) * LAST_SHARE;
      trust = succeeded && ms <= SHORT_MS ? Math.min(trust + 1, TRUST_MAX) : Math.max(trust - SETBACK, 0);
    },
  };
}
