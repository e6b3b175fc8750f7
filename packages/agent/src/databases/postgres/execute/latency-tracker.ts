import type { CallerShare } from '../../driver/driver.ts';

/** What takes longer is not short. */
const SHORT_MS = 10;
const TRUSTED_FROM = 3;
/** Enough to stay trusted after one that took long, as when the machine was busy. */
const TRUST_MAX = 8;
const SETBACK = 4;
/**
 * What is expected goes down by the one after a quicker run, and up by the other after a slower one: that ends when one run
 * in ten is quicker. On a busy machine most take longer than the database works for them.
 */
const QUICKER = 0.9;
const SLOWER = 1.012;
/** Until it is known: so long that a batch has place for six. */
const FIRST_MS = 0.3;
/** What the server needs for the shortest; results that are read together seem to have taken less. */
const LEAST_MS = 0.025;
/** Long answers are as good as long queries: the server keeps no more than 8 KB back, and they cost most to send. */
const BYTES_PER_MS = 8192;
const LAST_SHARE = 1 / 8;

/** Predicts from the runs of a query whether the next one will be short. */
export class LatencyTracker {
  #trust = 0;
  #expectedMs = FIRST_MS;
  #sizeMs = 0;

  /**
   * How many milliseconds it is expected to take; undefined unless it is expected to be over soon and to succeed. Only such
   * queries are sent behind one another: behind a long one they would wait, and one that fails makes those behind it fail.
   */
  get shortMs(): number | undefined {
    return this.#trust >= TRUSTED_FROM ? Math.max(this.#expectedMs, this.#sizeMs) : undefined;
  }

  /** `ms` is the time that it took at the server, without the wait behind other transactions. */
  record(ms: number, succeeded: boolean): void {
    const factor = ms < this.#expectedMs ? QUICKER : SLOWER;
    if (succeeded) this.#expectedMs = Math.max(LEAST_MS, this.#expectedMs * factor);
    const isShort = succeeded && ms <= SHORT_MS;
    this.#trust = isShort ? Math.min(this.#trust + 1, TRUST_MAX) : Math.max(this.#trust - SETBACK, 0);
  }

  /** How long the answer was. */
  recordSize(bytes: number): void {
    this.#sizeMs += (bytes / BYTES_PER_MS - this.#sizeMs) * LAST_SHARE;
  }

  /** Another that has recorded the same. */
  copy(): LatencyTracker {
    const copy = new LatencyTracker();
    copy.#trust = this.#trust;
    copy.#expectedMs = this.#expectedMs;
    copy.#sizeMs = this.#sizeMs;
    return copy;
  }
}

/**
 * All callers share what is known of a query until, beside others, a run of one takes long: from then on that one has its
 * own, for values that only it sends may be why. Otherwise its slow runs would be sent in front of the quick ones of
 * others, or have those wait for a session alone.
 */
export class LatencyByCaller {
  readonly #common = new LatencyTracker();
  /** Undefined while nobody has its own. */
  #own: WeakMap<CallerShare, LatencyTracker> | undefined;

  of(share: CallerShare | undefined): LatencyTracker {
    if (this.#own === undefined || share === undefined || share.isAlone) return this.#common;
    return this.#own.get(share) ?? this.#common;
  }

  /** See `LatencyTracker`. */
  record(share: CallerShare | undefined, ms: number, succeeded: boolean): void {
    if (ms > SHORT_MS && share !== undefined && !share.isAlone && this.of(share) === this.#common) {
      this.#own ??= new WeakMap();
      this.#own.set(share, this.#common.copy());
    }
    this.of(share).record(ms, succeeded);
  }
}
