import { spawnChecks, type ChecksProcess } from '../start-up/spawn-checks.ts';
import type { InspectOrder, InspectReport, WarmOrder, WarmReport } from './warm-report.ts';

export interface WarmProcess {
  /** One at a time. Rejects if the process fails; the next check starts another. */
  check(order: Omit<WarmOrder, 'warm'>): Promise<WarmReport>;
  /** As `check`; one at a time too, also during a check. */
  inspect(order: InspectOrder): Promise<InspectReport['inspected']>;
  close(): void;
}

/** A child process that keeps the parsers and the verdicts. It ends with this process. */
export function startWarmProcess(): WarmProcess {
  let current: ChecksProcess | undefined = start();

  function start(): ChecksProcess {
    const started = spawnChecks();
    started.child.once('close', () => {
      if (current === started) current = undefined;
    });
    // 'close' follows.
    started.child.on('error', () => {});
    return started;
  }

  /** Sends `order`; resolves to the first answer that `take` finds in a message. */
  function ask<Answer>(
    order: WarmOrder | InspectOrder,
    take: (message: WarmReport | InspectReport) => Answer | undefined,
  ): Promise<Answer> {
    current ??= start();
    const { child, complaints } = current;
    return new Promise((resolve, reject) => {
      const onClose = (code: number | null, signal: string | null): void => {
        reject(
          new Error(
            `cannot check the capability file: the checks ended with ${signal ?? code}: ${complaints()}`,
          ),
        );
      };
      const onMessage = (message: WarmReport | InspectReport): void => {
        const answer = take(message);
        if (answer === undefined) return;
        child.off('close', onClose);
        child.off('message', onMessage);
        resolve(answer);
      };
      child.once('close', onClose);
      child.on('message', onMessage);
      child.send(order, () => {});
    });
  }

  return {
    check: (order) =>
      ask({ ...order, warm: true }, (message) => ('outcome' in message ? message : undefined)),
    inspect: (order) => ask(order, (message) => ('inspected' in message ? message.inspected : undefined)),
    close() {
      const ended = current?.child;
      current = undefined;
      if (ended?.connected === true) ended.disconnect();
    },
  };
}
