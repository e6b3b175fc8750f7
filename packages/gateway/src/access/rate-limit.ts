/** `retryAfterSeconds` is a whole number, at least 1. */
export type RateDecision = { readonly ok: true } | { readonly ok: false; readonly retryAfterSeconds: number };

export interface Rate {
  readonly requestsPerSecond: number;
  readonly burst: number;
}

/** A limit of requests. One that several processes share may have to ask another process first. */
export interface RequestLimiter {
  readonly burst: number;
  /** Takes `cost` tokens, or none when fewer are left: then the wait is for `retryCost` tokens. Never rejects. */
  take(bucket: string, cost?: number, retryCost?: number): RateDecision | Promise<RateDecision>;
}

/** Tokens handed to another process. `aheadMs`: how long the bucket then needs to be full again. */
export interface Grant {
  readonly granted: number;
  readonly aheadMs: number;
}

/** A limit that this process keeps alone. */
export interface RateLimiter extends RequestLimiter {
  take(bucket: string, cost?: number, retryCost?: number): RateDecision;
  /** Hands out up to `most` tokens, or none when fewer than `least` are left. */
  grant(bucket: string, least: number, most: number): Grant;
  /** Takes `cost` tokens even if the bucket has fewer; later requests wait for the debt. */
  spend(bucket: string, cost: number): void;
  giveBack(bucket: string, tokens: number): void;
}

const MAX_SOURCES = 100_000;
/** Entries looked at when a new source arrives: some always, more when the table is full. */
const SWEEP = 2;
const SWEEP_WHEN_FULL = 64;
/** Rounding of repeated additions must not refuse the last token of a burst. */
export const ROUNDING_MS = 1e-3;
export const PASSED: RateDecision = { ok: true };

/**
 * A token bucket per source: `burst` tokens at most, refilled at `requestsPerSecond`. `now` is a monotonic
 * clock in milliseconds.
 *
 * The table is bounded. A full bucket is worth as much as no entry, so entries are removed once they have
 * refilled; a table with no such entry gives up the fullest bucket found. A source that has no token left
 * is never forgotten: when only such sources are found, the newcomer is refused instead.
 */
export function createRateLimiter(
  options: Rate & { readonly now: () => number; readonly maxSources?: number },
): RateLimiter {
  const { requestsPerSecond, burst, now, maxSources = MAX_SOURCES } = options;
  const tokenMs = 1000 / requestsPerSecond;
  const depthMs = burst * tokenMs;
  /** When each bucket will be full again; one number says all about a bucket. */
  const fullAt = new Map<string, number>();
  let hand = fullAt.entries();

  /** Removes refilled buckets among the next few; the fullest of the others, when it has a token left. */
  function sweep(
    steps: number,
    at: number,
  ): { readonly spare: string | undefined; readonly freeInMs: number } {
    let spare: string | undefined;
    let earliest = Number.POSITIVE_INFINITY;
    for (let step = 0; step < Math.min(steps, maxSources); step++) {
      let next = hand.next();
      if (next.done === true) {
        hand = fullAt.entries();
        next = hand.next();
        if (next.done === true) break;
      }
      const [source, full] = next.value;
      if (full <= at) {
        fullAt.delete(source);
      } else if (full < earliest) {
        earliest = full;
        spare = source;
      }
    }
    const freeInMs = earliest + tokenMs - depthMs - at;
    return { spare: freeInMs <= ROUNDING_MS ? spare : undefined, freeInMs };
  }

  /** Whether the table can take one more source, or how long until it may. */
  function makeSpace(at: number): RateDecision {
    if (fullAt.size < maxSources) {
      sweep(SWEEP, at);
      return PASSED;
    }
    const { spare, freeInMs } = sweep(SWEEP_WHEN_FULL, at);
    if (fullAt.size < maxSources) return PASSED;
    if (spare === undefined) return refusal(freeInMs);
    fullAt.delete(spare);
    return PASSED;
  }

  return {
    burst,
    take(bucket, cost = 1, retryCost = cost) {
      const at = now();
      const full = fullAt.get(bucket);
      if (full === undefined) {
        const space = makeSpace(at);
        if (!space.ok) return space;
      }
      const afterwards = Math.max(full ?? at, at) + cost * tokenMs;
      const missingMs = afterwards - at - depthMs;
      if (missingMs > ROUNDING_MS) return refusal(missingMs + (retryCost - cost) * tokenMs);
      fullAt.set(bucket, afterwards);
      return PASSED;
    },
    grant(bucket, least, most) {
      const at = now();
      const full = fullAt.get(bucket);
      if (full === undefined && !makeSpace(at).ok) return { granted: 0, aheadMs: depthMs };
      const aheadMs = Math.max((full ?? at) - at, 0);
      const free = Math.min(burst, Math.floor((depthMs - aheadMs + ROUNDING_MS) / tokenMs));
      if (free < least) return { granted: 0, aheadMs };
      const granted = Math.min(free, most);
      fullAt.set(bucket, at + aheadMs + granted * tokenMs);
      return { granted, aheadMs: aheadMs + granted * tokenMs };
    },
    spend(bucket, cost) {
      const at = now();
      const full = fullAt.get(bucket);
      if (full === undefined && !makeSpace(at).ok) return;
      fullAt.set(bucket, Math.max(full ?? at, at) + cost * tokenMs);
    },
    giveBack(bucket, tokens) {
      const full = fullAt.get(bucket);
      if (full !== undefined) fullAt.set(bucket, full - tokens * tokenMs);
    },
  };
}

export function refusal(waitMs: number): RateDecision {
  return { ok: false, retryAfterSeconds: Math.max(1, Math.ceil((waitMs - ROUNDING_MS) / 1000)) };
}
