/**
 * What the database tells of a run of a query. A database that a driver opens for explaining runs each query in the same
 * kind of transaction, and gives this, as JSON, where rows would be.
 */
export interface QueryPlan {
  /** What planning and the run took together. */
  readonly ms: number;
  readonly findings: readonly PlanFinding[];
  /** The plan for people, the first step last to run, each indented below the one that takes its rows. Database text. */
  readonly steps: readonly string[];
}

export interface PlanFinding {
  readonly kind: 'filtered_scan' | 'estimate' | 'spill';
  /** What is slow and what to do, without a name of the database: it may go where only a pipe reads. */
  readonly message: string;
  /** The table, the index, the filter: database text. */
  readonly detail?: string;
}
