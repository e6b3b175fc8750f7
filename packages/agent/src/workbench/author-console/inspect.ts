import { errorText } from '@svc/edge';
import type { VerifierDatabase } from '../../databases/driver.ts';
import { lintCapabilities } from '../../lint/lint-capabilities.ts';
import type { InspectOrder, InspectReport } from '../warm-report.ts';

/** What is longer nobody reads. */
const PLAN_LINES_MAX = 500;

/** In the warm process, whose connections are those of the checks. Never rejects. */
export async function inspect(
  order: InspectOrder,
  database: VerifierDatabase | undefined,
): Promise<InspectReport> {
  if (database === undefined) return { inspected: { problem: 'the database cannot be used' } };
  try {
    if (order.inspect === 'plan') {
      const plan = await database.plan(order.prepared);
      return { inspected: { plan: plan.slice(0, PLAN_LINES_MAX) } };
    }
    const { capabilities, warnings } = order;
    const unordered = await database.findUnordered(capabilities);
    return { inspected: { lint: lintCapabilities(capabilities, { warnings, unordered }) } };
  } catch (error) {
    return { inspected: { problem: errorText(error) } };
  }
}
