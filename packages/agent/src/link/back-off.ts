/** How long to wait before dialling again: full jitter under a ceiling that doubles. */
export interface BackOff {
  readonly failures: number;
  /** A gateway that left was dialled anew at once, and no connection has held since. */
  readonly hurried: boolean;
}

export const FRESH: BackOff = { failures: 0, hurried: false };

export interface Wait {
  readonly state: BackOff;
  readonly waitMs: number;
}

const BASE_MS = 500;
const CEILING_MS = 30_000;
/** For refusals that only a change of configuration can mend. */
const REFUSED_CEILING_MS = 300_000;
/** A connection that held this long was good: the next failure starts from the bottom. */
const GOOD_AFTER_MS = 60_000;
/** A connection that held this long shows a way to the gateway; some proxies end every one after half a minute. */
const HELD_AFTER_MS = 10_000;
/** The failures that count after such a connection: a wait of 2 s at most. */
const FAILURES_AFTER_HELD = 2;

/** `heldMs` is how long the last connection was up, 0 if it never was; `random` in [0, 1). */
export function afterLoss(state: BackOff, heldMs: number, refused: boolean, random: number): Wait {
  const { failures, hurried } = credited(state, heldMs);
  const ceiling = Math.min(BASE_MS * 2 ** failures, refused ? REFUSED_CEILING_MS : CEILING_MS);
  return {
    state: { failures: Math.min(failures + 1, 20), hurried },
    waitMs: Math.round(random * ceiling),
  };
}

/**
 * The gateway has said that it leaves: one dial at once, but gateways that welcome only to leave are
 * backed off from like any other. Parameters as for `afterLoss`.
 */
export function afterGoAway(state: BackOff, heldMs: number, random: number): Wait {
  const { failures, hurried } = credited(state, heldMs);
  if (hurried) return afterLoss(state, heldMs, false, random);
  return { state: { failures, hurried: true }, waitMs: Math.round(random * BASE_MS) };
}

function credited({ failures, hurried }: BackOff, heldMs: number): BackOff {
  if (heldMs >= GOOD_AFTER_MS) return FRESH;
  if (heldMs >= HELD_AFTER_MS) return { failures: Math.min(failures, FAILURES_AFTER_HELD), hurried: false };
  return { failures, hurried };
}
