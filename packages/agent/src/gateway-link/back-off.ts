/** How long to wait before dialling again: full jitter under a ceiling that doubles. */
export interface BackOff {
  readonly failures: number;
  /** True after a go-away that was answered by dialling at once, until a connection has held: a second go-away has to wait. */
  readonly dialledAtOnce: boolean;
  /** When the link was lost, by a monotonic clock; undefined while no connection has failed since one that held. */
  readonly lostAt: number | undefined;
}

export const FRESH: BackOff = { failures: 0, dialledAtOnce: false, lostAt: undefined };

/** When to dial next, and the state after that. */
export interface Retry {
  readonly state: BackOff;
  readonly waitMs: number;
}

/** How the last connection ended. */
export interface Loss {
  /** By a monotonic clock. */
  readonly at: number;
  /** How long it was up, 0 if it never was. */
  readonly heldMs: number;
  /** The gateway refused the key or the audience: dialling again helps only after a change of configuration. */
  readonly refused: boolean;
  /** How long the gateway asked to wait; 0 when it did not. */
  readonly retryAfterMs: number;
}

const BASE_MS = 500;
const CEILING_MS = 30_000;
/** Most losses are restarts of a gateway: an agent that waited longer would be away for longer than its gateway was. */
const EARLY_CEILING_MS = 5000;
const EARLY_MS = 60_000;
const REFUSED_CEILING_MS = 300_000;
/** A connection that held this long was good: the next failure starts from the bottom. */
const GOOD_AFTER_MS = 60_000;
/** A connection that held this long shows a way to the gateway; some proxies end every one after half a minute. */
const HELD_AFTER_MS = 10_000;
/** The failures that count after such a connection: a wait of 2 s at most. */
const FAILURES_AFTER_HELD = 2;

/** `random` in [0, 1). */
export function afterLoss(state: BackOff, loss: Loss, random: number): Retry {
  const { failures, dialledAtOnce, lostAt = loss.at } = credited(state, loss.heldMs);
  const most = longest(loss.refused, loss.at - lostAt);
  const ceilingMs = Math.min(BASE_MS * 2 ** failures, most);
  // Agents that were all told the same time to come back must not dial all at that time.
  const leastMs = Math.min(loss.retryAfterMs, CEILING_MS);
  const spreadMs = leastMs === 0 ? ceilingMs : Math.max(ceilingMs - leastMs, BASE_MS);
  return {
    // Once the ceiling is reached failures are no longer counted, so that a higher ceiling later begins from here.
    state: { failures: ceilingMs < most ? failures + 1 : failures, dialledAtOnce, lostAt },
    waitMs: Math.round(leastMs + random * spreadMs),
  };
}

/**
 * After a go-away of the gateway the agent dials at once, but only once: a gateway that sends one after each welcome
 * must not be dialled without a pause. `at` and `heldMs` as in `Loss`.
 */
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
