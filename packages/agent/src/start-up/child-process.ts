import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { StartUpOrder, StartUpReport, WellFormed } from './report.ts';

/** The code of the process, so that one executable is all there is to copy. */
declare const SVC_HELPER: string;

/** Of what the process says when it fails; it goes to the log file. */
const LAST_WORDS_CHARACTERS = 10_000;
/** Optimizing the SQL parser takes more time and memory than it saves in one start. */
const FLAGS = ['--input-type=commonjs', '--liftoff-only', '--max-semi-space-size=4'];

/**
 * Runs the start-up checks in a process of their own that is gone when they are over: the parsers and what they made
 * would stay in memory for as long as the agent runs, even those of a thread. The process ends with this one.
 * `onWellFormed` is called before the database is asked. Rejects when the process fails.
 */
export function startUpProcess(
  order: Omit<StartUpOrder, 'content'>,
  onWellFormed: (report: WellFormed) => void,
): Promise<Exclude<StartUpReport, WellFormed>> {
  return new Promise((resolve, reject) => {
    const flags = process.execArgv.filter((flag) => !flag.startsWith('--inspect'));
    const child = spawn(process.execPath, [...flags, ...FLAGS, '-'], {
      stdio: ['pipe', 'ignore', 'pipe', 'ipc'],
      serialization: 'advanced',
    });
    let outcome: Exclude<StartUpReport, WellFormed> | undefined;
    let lastWords = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      lastWords = `${lastWords}${text}`.slice(-LAST_WORDS_CHARACTERS);
    });
    child.on('message', (report: StartUpReport) => {
      if (report.step === 'well_formed') {
        onWellFormed(report);
        return;
      }
      outcome = report;
      child.disconnect();
    });
    child.on('error', reject);
    // After a disconnect of ours there is no 'close'; without one it comes when all that was said has been read.
    child.on('exit', () => outcome !== undefined && resolve(outcome));
    child.on('close', (code, signal) => {
      if (outcome !== undefined) return;
      reject(
        new Error(`cannot check the capability file: the checks ended with ${signal ?? code}: ${lastWords}`),
      );
    });
    // It has ended before it has read everything: then 'close' tells why.
    child.stdin?.on('error', () => {});
    child.stdin?.end(SVC_HELPER);
    const content = contentOf(order.file);
    child.send({ content, ...order } satisfies StartUpOrder, () => {});
  });
}

/** Undefined where it cannot be read: then the checks find the same, and say so. */
function contentOf(file: string): Uint8Array | undefined {
  try {
    return readFileSync(file);
  } catch {
    return undefined;
  }
}
