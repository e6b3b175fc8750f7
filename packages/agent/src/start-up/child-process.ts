import { readFileSync } from 'node:fs';
import { readRegularFile } from './read-regular-file.ts';
import type {
  AdditionOrder,
  AdditionReport,
  ArrivalOrder,
  ArrivalReport,
  OffersOrder,
  OffersReport,
  ReverifyOrder,
  ReverifyReport,
  StartUpOrder,
  StartUpReport,
  WellFormed,
} from './report.ts';
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
  const whole: StartUpOrder = { content: contentOf(order), ...order };
  return runInChildProcess(whole, signal, (report: StartUpReport) => {
    if (report.step !== 'well_formed') return report;
    onWellFormed(report);
    return undefined;
  });
}

/** Likewise for what has been verified before. */
export function reverifyInChildProcess(order: ReverifyOrder, signal: AbortSignal): Promise<ReverifyReport> {
  return runInChildProcess(order, signal, (report: ReverifyReport) => report);
}

/** Verifies, in such a process, databases that answer now and did not when the file was loaded. */
export function verifyArrivedInChildProcess(
  order: ArrivalOrder,
  signal: AbortSignal,
): Promise<ArrivalReport> {
  return runInChildProcess(order, signal, (report: ArrivalReport) => report);
}

/** Reads what capability files offer to callers, likewise in a child process; one answer for each file. */
export function readOffersInChildProcess(order: OffersOrder): Promise<OffersReport> {
  return runInChildProcess(order, undefined, (report: OffersReport) => report);
}

/** Adds a capability to the text of a file, likewise in a child process. */
export function proposeInChildProcess(order: AdditionOrder): Promise<AdditionReport> {
  return runInChildProcess(order, undefined, (report: AdditionReport) => report);
}

/** `read` returns the outcome, undefined for a message that comes before it. */
function runInChildProcess<Message, Outcome>(
  order: StartUpOrder | ReverifyOrder | ArrivalOrder | OffersOrder | AdditionOrder,
  signal: AbortSignal | undefined,
  read: (message: Message) => Outcome | undefined,
): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const { child, complaints } = spawnChecks(signal);
    let outcome: Outcome | undefined;
    child.on('message', (message: Message) => {
      outcome = read(message);
      if (outcome !== undefined) child.disconnect();
    });
    child.on('error', reject);
    // After the disconnect above 'close' never comes; without it 'close' comes once standard error has been read.
    child.on('exit', () => outcome !== undefined && resolve(outcome));
    child.on('close', (code, signalled) => {
      if (outcome !== undefined) return;
      reject(
        new Error(
          `cannot check the capability file: the checks ended with ${signalled ?? code}: ${complaints()}`,
        ),
      );
    });
    child.send(order, () => {});
  });
}

/** Undefined where the file cannot be read: the checks then fail to read it, too, and report that. */
function contentOf({
  file,
  isRunning = false,
}: Pick<StartUpOrder, 'file' | 'isRunning'>): Uint8Array | undefined {
  try {
    return isRunning ? readRegularFile(file) : readFileSync(file);
  } catch {
    return undefined;
  }
}
