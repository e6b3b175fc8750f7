/** Predicts from the runs of a query whether the next one will be short. */
export interface LatencyTracker {
  /**
   * Whether it is expected to be over soon and to succeed. Only such queries are sent behind one another: behind a long
   * one they would wait, and one that fails makes those behind it fail.
   */
  readonly isShort: boolean;
  /** `ms` is the time that it took at the server, without the wait behind other transactions. */
  record(ms: number, succeeded: boolean): void;
}

const SHORT_MS = 10;
const TRUSTED_FROM = 3;
/** Enough to stay trusted after one that took long, as when the machine was busy. */
const TRUST_MAX = 8;
const SETBACK = 4;

export function createLatencyTracker(): LatencyTracker {
  let trust = 0;
  return {
    get isShort() {
      return trust >= TRUSTED_FROM;
    },
    record(ms, succeeded) {
      trust = succeeded && ms <= SHORT_MS ? Math.min(trust + 1, TRUST_MAX) : Math.max(trust - SETBACK, 0);
    },
  };
}
