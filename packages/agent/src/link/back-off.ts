/** How long to wait before dialling again: full jitter under a ceiling that doubles. */
export interface BackOff {
  readonly failures: number;
}

export const FRESH: BackOff = { failures: 0 };

const BASE_MS = 500;
const CEILING_MS = 30_000;
/** For refusals that only a change of configuration can mend. */
const REFUSED_CEILING_MS = 300_000;
/** A connection that held this long was good: the next failure starts from the bottom. */
const GOOD_AFTER_MS = 60_000;

/** `heldMs` is how long the last connection was up, 0 if it never was; `random` in [0, 1). */
export function afterLoss(
  state: BackOff,
  heldMs: number,
  refused: boolean,
  random: number,
): { readonly state: BackOff; readonly waitMs: number } {
  const failures = heldMs >= GOOD_AFTER_MS ? 0 : state.failures;
  const ceiling = Math.min(BASE_MS * 2 ** failures, refused ? REFUSED_CEILING_MS : CEILING_MS);
  return { state: { failures: Math.min(failures + 1, 20) }, waitMs: Math.round(random * ceiling) };
}
