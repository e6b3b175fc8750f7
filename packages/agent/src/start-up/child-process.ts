import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type {
  AdditionOrder,
  AdditionReport,
  OffersOrder,
  OffersReport,
  ReverifyOrder,
  ReverifyReport,
  StartUpOrder,
  StartUpReport,
  WellFormed,
} from './report.ts';

/** The code of the child process, a text in this executable, so that one file is all there is to install. */
declare const SVC_HELPER: string;

/** How much of the end of the child's standard error is kept for the log file, in case it fails. */
const STDERR_MAX_CHARACTERS = 10_000;
/** Optimizing the SQL parser takes more time and memory than it saves in one start. */
const FLAGS = ['--input-type=commonjs', '--liftoff-only', '--max-semi-space-size=4'];

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
  const content = contentOf(order.file);
  return inChildProcess<StartUpReport, Exclude<StartUpReport, WellFormed>>(
    { content, ...order } satisfies StartUpOrder,
    (report) => {
      if (report.step !== 'well_formed') return report;
      onWellFormed(report);
      return undefined;
    },
    signal,
  );
}

/** Reads what capability files offer to callers, likewise in a child process; one answer for each file. */
export function readOffersInChildProcess(order: OffersOrder): Promise<OffersReport> {
  return inChildProcess<OffersReport, OffersReport>(order, (report) => report);
}

/** Adds a capability to the text of a file, likewise in a child process. */
export function proposeInChildProcess(order: AdditionOrder): Promise<AdditionReport> {
  return inChildProcess<AdditionReport, AdditionReport>(order, (report) => report);
}

/** Verifies again what has been verified before, likewise in a child process. */
export function reverifyInChildProcess(order: ReverifyOrder, signal: AbortSignal): Promise<ReverifyReport> {
  return inChildProcess<ReverifyReport, ReverifyReport>(order, (report) => report, signal);
}

/** `outcomeOf` gets each report of the child and gives undefined for those that are not the last. */
function inChildProcess<Report extends object, Outcome extends Report>(
  order: StartUpOrder | OffersOrder | AdditionOrder | ReverifyOrder,
  outcomeOf: (report: Report) => Outcome | undefined,
  signal?: AbortSignal,
): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const flags = process.execArgv.filter((flag) => !flag.startsWith('--inspect'));
    const child = spawn(process.execPath, [...flags, ...FLAGS, '-'], {
      stdio: ['pipe', 'ignore', 'pipe', 'ipc'],
      serialization: 'advanced',
      signal,
      killSignal: 'SIGKILL',
    });
    let outcome: Outcome | undefined;
    let stderr = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      stderr = `${stderr}${text}`.slice(-STDERR_MAX_CHARACTERS);
    });
    child.on('message', (report: Report) => {
      outcome = outcomeOf(report);
      if (outcome !== undefined) child.disconnect();
    });
    child.on('error', reject);
    // After the disconnect above 'close' never comes; without it 'close' comes once standard error has been read.
    child.on('exit', () => outcome !== undefined && resolve(outcome));
    child.on('close', (code, signal) => {
      if (outcome !== undefined) return;
      reject(
        new Error(`cannot check the capability file: the checks ended with ${signal ?? code}: ${stderr}`),
      );
    });
    // The child ended before it had read all of its code: 'close' gives the reason.
    child.stdin?.on('error', () => {});
    child.stdin?.end(SVC_HELPER);
    child.send(order, () => {});
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
