import type { Position } from '../capabilities/fault.ts';

/** What one example showed. */
export interface ExampleResult {
  readonly capability: string;
  /** Which of the capability's, from 1. */
  readonly number: number;
  readonly position: Position;
  /** Whether it says who calls, which nothing has verified. */
  readonly hasPrincipal: boolean;
  readonly ms: number;
  /** None where all is as expected. */
  readonly problems: readonly string[];
}

/** A whole run. */
export interface ExamplesReport {
  /** The capability file. */
  readonly file: string;
  readonly results: readonly ExampleResult[];
  readonly ms: number;
}

export function failures({ results }: ExamplesReport): readonly ExampleResult[] {
  return results.filter(({ problems }) => problems.length > 0);
}
