import { spawnChecks, type ChecksProcess } from '../start-up/spawn-checks.ts';
import type { WarmOrder, WarmReport } from './warm-report.ts';

export interface WarmProcess {
  /** Rejects when the process fails; the next check then has another. One at a time. */
  check(order: Omit<WarmOrder, 'warm'>): Promise<WarmReport>;
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

  return {
    check(order) {
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
        child.once('close', onClose);
        child.once('message', (report: WarmReport) => {
          child.off('close', onClose);
          resolve(report);
        });
        child.send({ ...order, warm: true } satisfies WarmOrder, () => {});
      });
    },
    close() {
      const ended = current?.child;
      current = undefined;
      if (ended?.connected === true) ended.disconnect();
    },
  };
}
