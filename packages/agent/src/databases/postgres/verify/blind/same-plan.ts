/** What differs between two plans of the same statement: estimates, and what the server adds for its own statistics. */
const INCIDENTAL = new Set([
  'Startup Cost',
  'Total Cost',
  'Plan Rows',
  'Plan Width',
  'JIT',
  'Query Identifier',
]);

/** Whether two plans of EXPLAIN as JSON are the same, except for their estimates. */
export function isSamePlan(one: unknown, other: unknown): boolean {
  return withoutEstimates(one) === withoutEstimates(other);
}

function withoutEstimates(plan: unknown): string {
  return JSON.stringify(plan, (key: string, value: unknown) => (INCIDENTAL.has(key) ? undefined : value));
}
