/** How long to wait before dialling again: full jitter under a ceiling that doubles. */
export interface BackOff {
  readonly failures: number;
  /** A gateway that left was dialled anew at once, and no connection has held since. */
  readonly hurried: boolean;
  /** When the link was lost, by a monotonic clock; undefined while no connection has failed since one that held. */
  readonly lostAt: number | undefined;
}

export const FRESH: BackOff = { failures: 0, hurried: false, lostAt: undefined };

export interface Wait {
  readonly state: BackOff;
  readonly waitMs: number;
}

/** How the last connection ended. */
export interface Loss {
  /** By a monotonic clock. */
  readonly at: number;
  /** How long it was up, 0 if it never was. */
  readonly heldMs: number;
  /** Only a change of configuration can mend it. */
  readonly refused: boolean;
  /** How long the gateway asked to wait; 0 when it did not. */
  readonly retryAfterMs: number;
}

const BASE_MS = 500;
const CEILING_MS = 30_000;
/** Most losses are restarts: an agent that waits longer is missed for longer than its gateway was away. */
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
export function afterLoss(state: BackOff, loss: Loss, random: number): Wait {
  const { failures, hurried, lostAt = loss.at } = credited(state, loss.heldMs);
  const most = longest(loss.refused, loss.at - lostAt);
  const ceilingMs = Math.min(BASE_MS * 2 ** failures, most);
  // Whoever is told the same time to come back must not come back together.
  const leastMs = Math.min(loss.retryAfterMs, CEILING_MS);
  const spreadMs = leastMs === 0 ? ceilingMs : Math.max(ceilingMs - leastMs, BASE_MS);
  return {
    // A ceiling that is reached counts no further: a later one begins where this one stood.
    state: { failures: ceilingMs < most ? failures + 1 : failures, hurried, lostAt },
    waitMs: Math.round(leastMs + random * spreadMs),
  };
}

/**
 * The gateway has said that it leaves: one dial at once, but gateways that welcome only to leave are
 * backed off from like any other. `at` and `heldMs` as in `Loss`.
 */
export function afterGoAway(state: BackOff, at: number, heldMs: number, random: number): Wait {
  const { failures, hurried, lostAt } = credited(state, heldMs);
  if (hurried) return afterLoss(state, { at, heldMs, refused: false, retryAfterMs: 0 }, random);
  return { state: { failures, hurried: true, lostAt }, waitMs: Math.round(random * BASE_MS) };
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
