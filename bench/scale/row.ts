import type { Postgres, Releasers } from '@svc/testkit';
import { median, spreadOfRatios, type Spread } from '../report/statistics.ts';

/** What a row measures with. Everything that it starts is given to `releasers`, which end with the row. */
export interface Scale {
  readonly rounds: number;
  readonly seconds: number;
  readonly postgres: Postgres;
  readonly releasers: Releasers;
  say(text: string): void;
}

export interface Figure {
  readonly what: string;
  readonly size: string;
  /** The size as a number, for the chart. */
  readonly at?: number | undefined;
  /** Median of the rounds, unless `what` says otherwise. */
  readonly value: number;
  readonly unit: string;
  /** To the smallest size, or to the same without the disturbance: taken within each round. */
  readonly ratio?: Spread | undefined;
  readonly goal?: Goal | undefined;
}

/** The median of `values`; with `base`, also how many times those of the same round they are. */
export function figure(
  what: string,
  size: string,
  unit: string,
  values: readonly number[],
  { base, at, goal }: Pick<Figure, 'at' | 'goal'> & { readonly base?: readonly number[] } = {},
): Figure {
  const ratio = base && spreadOfRatios(values, base);
  return { what, size, at, value: median(values), unit, ratio, goal };
}

/** A figure for each size: with the ratio to the first, and the goal for the last. */
export function figuresOfSizes(
  what: string,
  unit: string,
  sizes: readonly { readonly size: string; readonly at: number; readonly values: readonly number[] }[],
  goal?: Goal,
): readonly Figure[] {
  const base = sizes[0]?.values ?? [];
  return sizes.map(({ size, at, values }) =>
    figure(what, size, unit, values, { at, base, goal: at === sizes.at(-1)?.at ? goal : undefined }),
  );
}

interface Goal {
  readonly of: 'value' | 'ratio';
  readonly bound: 'at most' | 'at least';
  readonly limit: number;
}

export interface Measurement {
  readonly figures: readonly Figure[];
  readonly notes: readonly string[];
  /** False when this machine does not allow a part of it, and a note says which; default true. */
  readonly isComplete?: boolean;
}

export interface Row {
  /** For `--only`, and in the name of its chart. */
  readonly name: string;
  readonly title: string;
  readonly chart?: {
    readonly xAxis: string;
    readonly yAxis: string;
    /** The `what` of the figures that are drawn. */
    readonly lines: readonly string[];
  };
  measure(scale: Scale): Promise<Measurement>;
}

/** Undefined without a goal. */
export function isMet({ value, ratio, goal }: Figure): boolean | undefined {
  if (goal === undefined) return undefined;
  const judged = goal.of === 'value' ? value : (ratio?.median ?? Number.NaN);
  return goal.bound === 'at most' ? judged <= goal.limit : judged >= goal.limit;
}

export function atMost(of: Goal['of'], limit: number): Goal {
  return { of, bound: 'at most', limit };
}

export function atLeast(of: Goal['of'], limit: number): Goal {
  return { of, bound: 'at least', limit };
}

export function grouped(count: number): string {
  return count.toLocaleString('en-US');
}
