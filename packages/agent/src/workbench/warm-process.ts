import { spawnChecks, type ChecksProcess } from '../start-up/spawn-checks.ts';
import type { InspectOrder, InspectReport, WarmOrder, WarmReport } from './warm-report.ts';

export interface WarmProcess {
  /** Rejects when the process fails; the next check then has another. One at a time. */
  check(order: Omit<WarmOrder, 'warm'>): Promise<WarmReport>;
  /** Likewise, and one at a time, whether or not there is a check. */
  inspect(order: InspectOrder): Promise<InspectReport['inspected']>;
  close(): void;
}

/** A child process that stays, with the parsers and what has been verified. It ends when this process does. */
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

  /** Sends `order`; resolves to the first message that `take` finds an answer in. */
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
