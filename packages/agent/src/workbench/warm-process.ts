import { startChecks, type ChecksProcess } from '../start-up/child-process.ts';
import type { InspectOrder, InspectReport, WarmOrder, WarmReport } from './warm-report.ts';

export interface WarmProcess {
  /** One at a time. Rejects if the process fails; the next check starts another. */
  check(order: Omit<WarmOrder, 'warm'>): Promise<WarmReport>;
  /** As `check`, and one at a time, whether or not there is a check. */
  inspect(order: InspectOrder): Promise<InspectReport['inspected']>;
  close(): void;
}

/** A child process that keeps the parsers and the verdicts. It ends with this process. */
export function startWarmProcess(): WarmProcess {
  let current: ChecksProcess = startChecks();

  /** Resolves with the first message that `take` finds an answer in. */
  function ask<Answer>(
    order: WarmOrder | InspectOrder,
    take: (message: WarmReport | InspectReport) => Answer | undefined,
  ): Promise<Answer> {
    if (!current.isRunning) current = startChecks();
    return current.ask(order, take);
  }

  return {
    check: (order) =>
      ask({ ...order, warm: true }, (message) => ('outcome' in message ? message : undefined)),
    inspect: (order) => ask(order, (message) => ('inspected' in message ? message.inspected : undefined)),
    close: () => void current.end(),
  };
}
