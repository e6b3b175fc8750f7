import { readFileSync } from 'node:fs';
import type { StartUpOrder, StartUpReport, WellFormed } from './report.ts';
import { spawnChecks } from './spawn-checks.ts';

/**
 * Runs the start-up checks in a child process that ends with them: in this one, or in a thread of it, the parsers and
 * what they made would stay in memory for as long as the agent runs. When this process ends the child ends, too.
 * `onWellFormed` is called before the database is asked. Rejects when the child fails, or is ended by `signal`.
 */
export function checkInChildProcess(
  order: Omit<StartUpOrder, 'content'>,
  onWellFormed: (report: WellFormed) => void,
  signal?: AbortSignal,
): Promise<Exclude<StartUpReport, WellFormed>> {
  return new Promise((resolve, reject) => {
    const { child, complaints } = spawnChecks(signal);
    let outcome: Exclude<StartUpReport, WellFormed> | undefined;
    child.on('message', (report: StartUpReport) => {
      if (report.step === 'well_formed') {
        onWellFormed(report);
        return;
      }
      outcome = report;
      child.disconnect();
    });
    child.on('error', reject);
    // After the disconnect above 'close' never comes; without it 'close' comes once standard error has been read.
    child.on('exit', () => outcome !== undefined && resolve(outcome));
    child.on('close', (code, signal) => {
      if (outcome !== undefined) return;
      reject(
        new Error(
          `cannot check the capability file: the checks ended with ${signal ?? code}: ${complaints()}`,
        ),
      );
    });
    const content = contentOf(order.file);
    child.send({ content, ...order } satisfies StartUpOrder, () => {});
  });
}

/** Undefined where the file cannot be read: the checks then fail to read it, too, and report that. */
function contentOf(file: string): Uint8Array | undefined {
  try {
    return readFileSync(file);
  } catch {
    return undefined;
  }
}
