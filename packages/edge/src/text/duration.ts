const UNITS = [
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
  ['ms', 1],
] as const;

/** Each unit occurs at most once, the largest first. */
export const DURATION_PATTERN =
  '^(?=[0-9])(?:([0-9]{1,9})h)?(?:([0-9]{1,9})m)?(?:([0-9]{1,9})s)?(?:([0-9]{1,9})ms)?$';

const DURATION = new RegExp(DURATION_PATTERN);

/** The milliseconds of a duration such as `500ms`, `30s` or `1m30s`; NaN when it is none. */
export function parseDuration(text: string): number {
  const match = DURATION.exec(text);
  if (match === null) return Number.NaN;
  return UNITS.reduce((sum, [, factor], index) => sum + Number(match[index + 1] ?? 0) * factor, 0);
}
