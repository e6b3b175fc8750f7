import { spawn, type ChildProcess } from 'node:child_process';

/** The code of the child process, a text in this executable, so that one file is all there is to install. */
declare const SVC_HELPER: string;

/** How much of the end of the child's standard error is kept for the log file, in case it fails. */
const STDERR_MAX_CHARACTERS = 10_000;
/** Optimizing the SQL parser takes more time and memory than it saves in one start. */
const FLAGS = ['--input-type=commonjs', '--liftoff-only', '--max-semi-space-size=4'];

export interface ChecksProcess {
  readonly child: ChildProcess;
  /** The end of what it wrote to standard error. */
  readonly complaints: () => string;
}

/** Starts the child process that checks. It ends when its channel is closed, which the end of this process does, too. */
export function spawnChecks(signal?: AbortSignal): ChecksProcess {
  const flags = process.execArgv.filter((flag) => !flag.startsWith('--inspect'));
  const child = spawn(process.execPath, [...flags, ...FLAGS, '-'], {
    stdio: ['pipe', 'ignore', 'pipe', 'ipc'],
    serialization: 'advanced',
    signal,
    killSignal: 'SIGKILL',
  });
  let stderr = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr = `${stderr}${text}`.slice(-STDERR_MAX_CHARACTERS);
  });
  // The child ended before it had read all of its code: its 'close' gives the reason.
  child.stdin?.on('error', () => {});
  child.stdin?.end(SVC_HELPER);
  return { child, complaints: () => stderr };
}
