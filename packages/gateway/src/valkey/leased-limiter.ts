import {
  PASSED,
  refusal,
  ROUNDING_MS,
  type Grant,
  type Rate,
  type RateDecision,
  type RateLimiter,
  type RequestLimiter,
} from '../access/rate-limit.ts';

/**
 * Asks for up to `most` tokens of the shared bucket, and for none rather than fewer than `least`. Undefined, at once or
 * within `withinMs`, if there is no answer. Never rejects.
 */
export type AskLease = (
  bucket: string,
  least: number,
  most: number,
  withinMs: number,
) => Promise<Grant | undefined> | undefined;

/** Whom a limit counts. The two kinds have separate buckets. */
export type LimitKind = 'source' | 'principal';

/** How long a request may wait for tokens. */
export const LEASE_WAIT_MS = 20;
/** How long a lease lasts. Tokens not taken by then are lost, so that no process hoards them. */
const LEASE_MS = 1000;
/** A lease has at most one such part of the tokens of a second. */
const LEASES_A_SECOND = 50;
const MAX_LEASES = 100_000;
/** Entries looked at when a new one is made. */
const SWEEP = 2;

interface Lease {
  /** Tokens that may still be taken until `endsAt`. */
  tokens: number;
  endsAt: number;
  /** When the shared bucket will be full at the earliest, according to its last answer. */
  fullAt: number;
  /** How many tokens are requested in advance. */
  size: number;
  /** Requests that wait for an answer, in their order; undefined while no question is open. */
  waiting: Waiting[] | undefined;
}

interface Waiting {
  readonly cost: number;
  readonly retryCost: number;
  readonly since: number;
  readonly decide: (decision: RateDecision) => void;
}

/**
 * A limit that several processes keep together. `local` refuses what one of them alone would refuse; what it lets pass
 * takes a token of a lease of the shared bucket. Leases grow while they are used up, to a fiftieth of a second's tokens: a
 * fast caller costs some fifty questions a second, and a slow one is counted exactly. If the shared bucket does not
 * answer, `local` alone decides.
 */
export function createLeasedLimiter(options: {
  readonly rate: Rate;
  readonly local: RateLimiter;
  readonly ask: AskLease;
  readonly now: () => number;
  readonly maxLeases?: number;
}): RequestLimiter {
  const { rate, local, ask, now, maxLeases = MAX_LEASES } = options;
  const tokenMs = 1000 / rate.requestsPerSecond;
  const depthMs = rate.burst * tokenMs;
  // Half a burst at most: a full bucket loses the tokens that accrue while the next question is on its way.
  const largest = Math.max(1, Math.floor(Math.min(rate.requestsPerSecond / LEASES_A_SECOND, rate.burst / 2)));
  const leases = new Map<string, Lease>();
  let hand = leases.entries();

  /** How long until the shared bucket may have so many tokens. */
  function missingMs(lease: Lease, tokens: number, at: number): number {
    return Math.max(lease.fullAt - at, 0) + tokens * tokenMs - depthMs;
  }

  function refuse(lease: Lease, bucket: string, at: number, cost: number, retryCost: number): RateDecision {
    local.giveBack(bucket, cost);
    return refusal(missingMs(lease, retryCost - lease.tokens, at));
  }

  function isForgettable({ waiting, endsAt, fullAt }: Lease, at: number): boolean {
    return waiting === undefined && endsAt <= at && fullAt <= at;
  }

  function makeSpace(at: number): void {
    for (let step = 0; step < SWEEP; step++) {
      let next = hand.next();
      if (next.done === true) {
        hand = leases.entries();
        next = hand.next();
        if (next.done === true) return;
      }
      const [bucket, lease] = next.value;
      const full = leases.size >= maxLeases;
      // A bucket that is forgotten loses at most one lease.
      if (isForgettable(lease, at) || (full && lease.waiting === undefined)) leases.delete(bucket);
    }
  }

  function leaseOf(bucket: string, at: number): Lease {
    const known = leases.get(bucket);
    if (known !== undefined) return known;
    makeSpace(at);
    const lease: Lease = { tokens: 0, endsAt: at, fullAt: at, size: 1, waiting: undefined };
    leases.set(bucket, lease);
    return lease;
  }

  /** False if there is nothing to ask. */
  function askFor(bucket: string, lease: Lease, waiting: readonly Waiting[], at: number): boolean {
    const since = waiting[0]?.since ?? at;
    const smallest = waiting.reduce((least, { cost }) => Math.min(least, cost), Number.POSITIVE_INFINITY);
    const all = waiting.reduce((sum, { cost }) => sum + cost, 0);
    const least = smallest - lease.tokens;
    const most = Math.max(all - lease.tokens, lease.size, least);
    const answer = ask(bucket, least, most, Math.max(0, since + LEASE_WAIT_MS - at));
    if (answer === undefined) return false;
    void answer.then((grant) => settle(bucket, lease, grant, most, at));
    return true;
  }

  function settle(
    bucket: string,
    lease: Lease,
    grant: Grant | undefined,
    most: number,
    askedAt: number,
  ): void {
    const waiting = lease.waiting ?? [];
    lease.waiting = undefined;
    if (grant === undefined) {
      for (const { decide } of waiting) decide(PASSED);
      return;
    }
    lease.tokens += grant.granted;
    lease.endsAt = askedAt + LEASE_MS;
    lease.fullAt = askedAt + grant.aheadMs;
    const at = now();
    while (waiting[0] !== undefined && waiting[0].cost <= lease.tokens) serve(lease, waiting.shift());
    if (waiting.length === 0) return;
    if (grant.granted === most) {
      // These requests came after the question.
      lease.waiting = waiting;
      if (!askFor(bucket, lease, waiting, at)) settle(bucket, lease, undefined, 0, at);
      return;
    }
    for (const each of waiting) {
      if (each.cost <= lease.tokens) serve(lease, each);
      else each.decide(refuse(lease, bucket, at, each.cost, each.retryCost));
    }
  }

  return {
    burst: rate.burst,
    take(bucket, cost = 1, retryCost = cost) {
      const decision = local.take(bucket, cost, retryCost);
      if (!decision.ok || cost === 0) return decision;
      const at = now();
      const lease = leaseOf(bucket, at);
      if (lease.waiting === undefined) {
        const ended = lease.endsAt <= at;
        if (ended) {
          lease.size = Math.max(1, lease.size - lease.tokens);
          lease.tokens = 0;
        } else if (lease.tokens >= cost) {
          lease.tokens -= cost;
          return PASSED;
        }
        // An empty bucket is asked again once it may have a whole lease, not for each token.
        if (missingMs(lease, Math.max(cost - lease.tokens, lease.size), at) > ROUNDING_MS) {
          return refuse(lease, bucket, at, cost, retryCost);
        }
        if (!ended) lease.size = Math.min(largest, lease.size * 2);
      }
      let decide = (_decision: RateDecision): void => undefined;
      const decided = new Promise<RateDecision>((resolve) => (decide = resolve));
      const one = { cost, retryCost, since: at, decide };
      if (lease.waiting !== undefined) lease.waiting.push(one);
      else if (askFor(bucket, lease, [one], at)) lease.waiting = [one];
      else return decision;
      return decided;
    },
  };
}

function serve(lease: Lease, waiting: Waiting | undefined): void {
  if (waiting === undefined) return;
  lease.tokens -= waiting.cost;
  waiting.decide(PASSED);
}
