/** Predicts from the runs of a query whether the next one will be short. */
export interface LatencyTracker {
  /**
   * How many milliseconds it is expected to take; undefined unless it is expected to be over soon and to succeed. Only such
   * queries are sent behind one another: behind a long one they would wait, and one that fails makes those behind it fail.
   */
  readonly shortMs: number | undefined;
  /** `ms` is the time that it took at the server, without the wait behind other transactions. */
  record(ms: number, succeeded: boolean): void;
  /** How long the answer was. */
  recordSize(bytes: number): void;
  /** Another that has recorded the same. */
  copy(): LatencyTracker;
}

/** What takes longer is not short. */
export const SHORT_MS = 10;
const TRUSTED_FROM = 3;
/** Enough to stay trusted after one that took long, as when the machine was busy. */
const TRUST_MAX = 8;
const SETBACK = 4;
/**
 * What is expected goes down by the one after a quicker run, and up by the other after a slower one: that ends where one
 * run in ten is quicker. On a busy machine most take longer than the database works for them.
 */
const QUICKER = 0.9;
const SLOWER = 1.012;
/** Until it is known: so long that a batch has place for three. */
const FIRST_MS = 0.3;
/** What the server needs for the shortest; results that are read together seem to have taken less. */
const LEAST_MS = 0.025;
/** Long answers are as good as long queries: the server keeps no more than 8 KB back, and they cost most to send. */
const BYTES_PER_MS = 8192;
const LAST_SHARE = 1 / 8;

export function createLatencyTracker(
  from: { readonly trust: number; readonly expectedMs: number; readonly sizeMs: number } = {
    trust: 0,
    expectedMs: FIRST_MS,
    sizeMs: 0,
  },
): LatencyTracker {
  let { trust, expectedMs, sizeMs } = from;
  return {
    get shortMs() {
      return trust >= TRUSTED_FROM ? Math.max(expectedMs, sizeMs) : undefined;
    },
    record(ms, succeeded) {
      if (succeeded) expectedMs = Math.max(LEAST_MS, expectedMs * (ms < expectedMs ? QUICKER : SLOWER));
      trust = succeeded && ms <= SHORT_MS ? Math.min(trust + 1, TRUST_MAX) : Math.max(trust - SETBACK, 0);
    },
    recordSize(bytes) {
      sizeMs += (bytes / BYTES_PER_MS - sizeMs) * LAST_SHARE;
    },
    copy: () => createLatencyTracker({ trust, expectedMs, sizeMs }),
  };
}
