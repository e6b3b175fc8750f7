/** Of an even number of values, the mean of the two in the middle; NaN of none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const below = sorted[Math.ceil(sorted.length / 2) - 1] ?? Number.NaN;
  const above = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  return (below + above) / 2;
}

/** The value below which `share` of the values lie; NaN of none. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export interface Spread {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

/** Undefined of no values. */
function spread(values: readonly number[]): Spread | undefined {
  if (values.length === 0) return undefined;
  return { median: median(values), least: Math.min(...values), most: Math.max(...values) };
}

/**
 * How many times `base` each of `values` is, taken within each round: the machine's speed differs from minute
 * to minute. Undefined when no round has both.
 */
export function spreadOfRatios(values: readonly number[], base: readonly number[]): Spread | undefined {
  return spread(
    values.flatMap((value, round) => {
      const other = base[round];
      return other === undefined || other === 0 ? [] : [value / other];
    }),
  );
}

/** A median, and bounds that enclose the median of what the values are drawn from in 95 of 100 runs or more. */
export interface Estimate {
  readonly median: number;
  /** NaN, as `high`, where the values are too few to tell: fewer than six. */
  readonly low: number;
  readonly high: number;
}

/** Undefined of no values. */
export function estimate(values: readonly number[]): Estimate | undefined {
  if (values.length === 0) return undefined;
  const sorted = values.toSorted((a, b) => a - b);
  const rank = intervalRank(values.length);
  return {
    median: median(values),
    low: sorted[rank - 1] ?? Number.NaN,
    high: sorted[values.length - rank] ?? Number.NaN,
  };
}

/**
 * Which values from either end of so many, when they are sorted, are the narrowest such bounds: the 6th and the 15th of
 * 20. The true median lies below the k-th smallest exactly when fewer than k of the values fall below it, as when fewer
 * than k of so many tossed coins show heads; on either side that may happen in 2.5 of 100 runs. 0 if there are none.
 */
export function intervalRank(count: number): number {
  let rank = 0;
  let exactly = 2 ** -count;
  for (let fewer = exactly; fewer <= 0.025; fewer += exactly) {
    rank++;
    exactly *= (count - rank + 1) / rank;
  }
  return rank;
}

export type Bound = { readonly least: number } | { readonly most: number };
export type Verdict = 'met' | 'missed' | 'open';

/** Open unless all of the interval lies on one side of the bound. */
export function verdict({ low, high }: Pick<Estimate, 'low' | 'high'>, bound: Bound): Verdict {
  const [isMet, isMissed] =
    'least' in bound ? [low >= bound.least, high < bound.least] : [high <= bound.most, low > bound.most];
  return isMet ? 'met' : isMissed ? 'missed' : 'open';
}

/** The same values in an order that `random` draws. */
export function shuffled<T>(values: readonly T[], random: () => number): readonly T[] {
  return values
    .map((value) => ({ value, at: random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ value }) => value);
}

/** The same values, begun by another one for each `by`: whoever comes after a dearer one finds a warmer processor. */
export function rotated<T>(values: readonly T[], by: number): readonly T[] {
  const start = by % values.length;
  return [...values.slice(start), ...values.slice(0, start)];
}

/** With so many digits behind the point; `-` for what is not known. */
export function fixed(value: number, digits: number): string {
  return Number.isNaN(value) ? '-' : value.toFixed(digits);
}

/** Thousands apart; digits behind the point only where they matter. */
export function readable(value: number): string {
  const size = Math.abs(value);
  const maximumFractionDigits = size < 10 ? 2 : size < 100 ? 1 : 0;
  return value.toLocaleString('en-US', { maximumFractionDigits });
}
