/** Memory is lent for large results, and for request bodies that are still arriving. */
export type Pool = 'results' | 'bodies';

/** A worker asks for more memory. */
export interface LoanQuestion {
  readonly pool: Pool;
  readonly steps: number;
  /** Steps that it gives back first. */
  readonly back: number;
  /** Whether the answer may wait until there is enough memory; otherwise it comes at once, and may be false. */
  readonly wait: boolean;
}

export const LOAN_STEP_BYTES: number = 8 * 1024 * 1024;

/** How long a worker keeps a loan that it does not use. */
export const UNUSED_MS = 100;

export function stepsOf(bytes: number): number {
  return Math.ceil(bytes / LOAN_STEP_BYTES);
}
