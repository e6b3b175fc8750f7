import type { ChildProcess } from 'node:child_process';
import { spawnOwnCode, type OwnCode } from '@svc/edge';

/** The code of the child process, a text in this executable, so that one file is all there is to install. */
declare const SVC_HELPER: string;

/** How much of the end of the child's standard error is kept for the log file, in case it fails. */
const STDERR_MAX_CHARACTERS = 10_000;
/** Optimizing the SQL parser takes more time and memory than it saves in one start. */
const FLAGS = ['--liftoff-only', '--max-semi-space-size=4'];

export interface ChecksProcess {
  readonly child: ChildProcess;
  /** The end of what it wrote to standard error. */
  readonly complaints: () => string;
}

export function checksCode(): OwnCode {
  return { command: 'internal-checks', text: SVC_HELPER, flags: FLAGS };
}

/** Starts the child process that checks. It ends when its channel is closed, which the end of this process does, too. */
export function spawnChecks(signal?: AbortSignal): ChecksProcess {
  const child = spawnOwnCode(checksCode(), {
    stdio: ['pipe', 'ignore', 'pipe', 'ipc'],
    serialization: 'advanced',
    signal,
    killSignal: 'SIGKILL',
  });
  let stderr = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr = `${stderr}${text}`.slice(-STDERR_MAX_CHARACTERS);
  });
  return { child, complaints: () => stderr };
}
