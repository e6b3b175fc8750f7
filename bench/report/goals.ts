import { table } from '../../scripts/docs/markdown.ts';
import { fixed, verdict, type Bound, type Estimate, type Verdict } from './statistics.ts';

export interface Goal {
  readonly title: string;
  readonly unit: 'x' | 'a call' | 'MB' | 'processes';
  readonly bound: Bound;
}

export interface Judged {
  /** Low and high are the median where it was counted once. Undefined when it was not measured. */
  readonly measured: Estimate | undefined;
  readonly verdict: Verdict | 'not measured';
}

export function judged<G extends Goal>(goal: G, measured: Estimate | undefined): G & Judged {
  return {
    ...goal,
    measured,
    verdict: measured === undefined ? 'not measured' : verdict(measured, goal.bound),
  };
}

/** What was counted once. */
export function exactly(value: number | undefined): Estimate | undefined {
  return value === undefined ? undefined : { median: value, low: value, high: value };
}

export function goalsTable(goals: readonly (Goal & Judged)[]): string {
  const rows = goals.map((goal) => [goal.title, wanted(goal), measuredOf(goal), goal.verdict]);
  return table(['', 'wanted', 'measured', ''], rows);
}

export function wanted({ bound, unit }: Goal): string {
  return 'least' in bound ? `>= ${bound.least} ${unit}` : `<= ${bound.most} ${unit}`;
}

export function measuredOf({ measured, unit }: Pick<Goal, 'unit'> & Judged): string {
  if (measured === undefined) return '';
  if (unit === 'x') return times(measured);
  const { median, low, high } = measured;
  // Memory of many MB is known less exactly than the size of a small file.
  const digits = unit === 'processes' || (unit === 'MB' && median >= 10) ? 0 : 2;
  const interval = low === high ? '' : ` (${fixed(low, digits)} to ${fixed(high, digits)})`;
  return `${fixed(median, digits)} ${unit}${interval}`;
}

export function times({ median, low, high }: Estimate): string {
  return `${fixed(median, 2)} x (${fixed(low, 2)} to ${fixed(high, 2)})`;
}
