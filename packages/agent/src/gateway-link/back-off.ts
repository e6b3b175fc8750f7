/** The state of the waits between dials: a random wait up to a ceiling that doubles with each failure. */
export interface BackOff {
  readonly failures: number;
  /** The last go-away was answered by dialling at once. The next one has to wait, unless a connection has held meanwhile. */
  readonly dialledAtOnce: boolean;
  /** When the link was lost, by a monotonic clock; undefined if no connection has failed since one that held. */
  readonly lostAt: number | undefined;
}

export const FRESH: BackOff = { failures: 0, dialledAtOnce: false, lostAt: undefined };

export interface Retry {
  readonly state: BackOff;
  readonly waitMs: number;
}

/** How a connection ended. */
export interface DialEnd {
  /** Milliseconds since `welcome`; 0 without one. */
  readonly heldMs: number;
  /** The gateway refused the key or the audience: only a change of configuration helps. */
  readonly refused: boolean;
  /** The worker of the gateway that the connection reached takes no more links. */
  readonly full: boolean;
  /** How long the gateway asked to wait before the next try; 0 when it did not. */
  readonly retryAfterMs: number;
}

/** `at`, when it ended, by a monotonic clock. */
export type Loss = Omit<DialEnd, 'full'> & { readonly at: number };

const BASE_MS = 500;
const CEILING_MS = 30_000;
/** Most losses are restarts of a gateway, which take less than a longer wait. */
const EARLY_CEILING_MS = 5000;
const EARLY_MS = 60_000;
const REFUSED_CEILING_MS = 300_000;
/** After a connection that held this long, failures are counted from zero. */
const GOOD_AFTER_MS = 60_000;
/** A connection that held this long proves a way to the gateway: some proxies end each after half a minute. */
const HELD_AFTER_MS = 10_000;
/** The most failures that count after such a connection, for a wait of at most 2 s. */
const FAILURES_AFTER_HELD = 2;

export function afterLoss(state: BackOff, loss: Loss, random: number): Retry {
  const { failures, dialledAtOnce, lostAt = loss.at } = credited(state, loss.heldMs);
  const most = longest(loss.refused, loss.at - lostAt);
  const ceilingMs = Math.min(BASE_MS * 2 ** failures, most);
  // Agents that were all told the same time must not all dial at that time.
  const leastMs = Math.min(loss.retryAfterMs, CEILING_MS);
  const spreadMs = leastMs === 0 ? ceilingMs : Math.max(ceilingMs - leastMs, BASE_MS);
  return {
    // Failures are not counted beyond the ceiling, so that waits grow from here under a higher ceiling.
    state: { failures: ceilingMs < most ? failures + 1 : failures, dialledAtOnce, lostAt },
    waitMs: Math.round(leastMs + random * spreadMs),
  };
}

/** The agent dials at once after one go-away, but not after each: a gateway may send one after every welcome. */
export function afterGoAway(state: BackOff, at: number, heldMs: number, random: number): Retry {
  const { failures, dialledAtOnce, lostAt } = credited(state, heldMs);
  if (dialledAtOnce) return afterLoss(state, { at, heldMs, refused: false, retryAfterMs: 0 }, random);
  return { state: { failures, dialledAtOnce: true, lostAt }, waitMs: Math.round(random * BASE_MS) };
}

function longest(refused: boolean, lostForMs: number): number {
  if (refused) return REFUSED_CEILING_MS;
  return lostForMs < EARLY_MS ? EARLY_CEILING_MS : CEILING_MS;
}

function credited(state: BackOff, heldMs: number): BackOff {
  if (heldMs >= GOOD_AFTER_MS) return FRESH;
  if (heldMs < HELD_AFTER_MS) return state;
  return { ...FRESH, failures: Math.min(state.failures, FAILURES_AFTER_HELD) };
}
