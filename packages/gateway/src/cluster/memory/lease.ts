/** What is lent: memory for large results, and for request bodies that are still arriving. */
export type Pool = 'results' | 'bodies';

/** A worker's question for memory beyond what it uses. */
export interface LeaseQuestion {
  readonly pool: Pool;
  readonly steps: number;
  /** Steps that it gives back first. */
  readonly back: number;
  /** Whether the answer comes when there is enough; otherwise at once, and may be no. */
  readonly wait: boolean;
}

export const LEASE_STEP_BYTES: number = 8 * 1024 * 1024;

/** What is lent and not used goes back after so long. */
export const UNUSED_MS = 100;

export function stepsOf(bytes: number): number {
  return Math.ceil(bytes / LEASE_STEP_BYTES);
}
