import { errorText } from '@svc/edge';
import { lintCapabilities } from '../../lint/lint-capabilities.ts';
import type { FileDatabases } from '../../start-up/file-verifier.ts';
import type { InspectOrder, InspectReport } from '../warm-report.ts';

/** What is longer nobody reads. */
const PLAN_LINES_MAX = 500;

/** In the warm process, whose connections are those of the checks. Never rejects. */
export async function inspect(
  order: InspectOrder,
  databases: FileDatabases | undefined,
): Promise<InspectReport> {
  if (databases === undefined) return { inspected: { problem: 'the database cannot be used' } };
  try {
    if (order.inspect === 'plan') {
      const plan = await databases.plan(order.database, order.prepared);
      return { inspected: { plan: plan.slice(0, PLAN_LINES_MAX) } };
    }
    const { capabilities, warnings } = order;
    const unordered = await databases.findUnordered(capabilities);
    return { inspected: { lint: lintCapabilities(capabilities, { warnings, unordered }) } };
  } catch (error) {
    return { inspected: { problem: errorText(error) } };
  }
}
