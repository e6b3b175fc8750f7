/**
 * What the database tells about a run of a query. A database opened for explaining returns this as JSON in place of
 * rows.
 */
export interface QueryPlan {
  /** The time of planning and running together. */
  readonly ms: number;
  readonly findings: readonly PlanFinding[];
  /** The plan for people, the first step last to run, each indented below the one that takes its rows. Database text. */
  readonly steps: readonly string[];
}

export interface PlanFinding {
  readonly kind: 'filtered_scan' | 'estimate' | 'spill';
  /** What is slow and what to do, without names of the database. */
  readonly message: string;
  /** The table, the index, the filter: database text. */
  readonly detail?: string;
}
