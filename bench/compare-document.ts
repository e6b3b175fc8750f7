import type { JudgedGoal } from './compare-goals.ts';
import type { MeasuredCase } from './compare-measure.ts';
import type { Contestant } from './contestants/contestant.ts';
import type { Machine } from './report/machine.ts';

/** All that a run has found out: docs/performance/bench.json, and what tables and charts are made from. */
export interface CompareDocument {
  readonly machine: Machine;
  readonly run: {
    /** Of this service, with the commit where that is known. */
    readonly version: string;
    readonly rounds: number;
    readonly seconds: number;
    readonly databaseConnections: number;
  };
  readonly contestants: readonly Pick<Contestant, 'name' | 'title' | 'settings'>[];
  readonly goals: readonly JudgedGoal[];
  readonly cases: readonly MeasuredCase[];
}

export function documentText(document: CompareDocument): string {
  const text = JSON.stringify(
    document,
    (_, value: unknown) => (typeof value === 'number' ? rounded(value) : value),
    2,
  );
  return `${text}\n`;
}

/** Six digits say more than any of these figures knows. */
function rounded(value: number): number | null {
  return Number.isFinite(value) ? Number(value.toPrecision(6)) : null;
}
