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
export function spread(values: readonly number[]): Spread | undefined {
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
