import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { basename } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { createLineLog, type LineLog, type Stream } from './line-log.ts';
import { watchdog } from './watchdog.ts';

export interface ProcessOptions {
  /** Laid over PATH, HOME and TMPDIR; nothing else of this process's environment is passed on. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** The start of a command line that ends by becoming the program, such as `nsenter` with its options. */
  readonly within?: readonly string[] | undefined;
  /** Whether its standard input is a pipe, `input`; default: it is empty. */
  readonly hasInput?: boolean;
  readonly uid?: number;
  readonly gid?: number;
  /** What asks the process to end; default SIGTERM. */
  readonly stopSignal?: NodeJS.Signals;
  /** What ends it when this process dies without warning; default `stopSignal`. */
  readonly orphanSignal?: NodeJS.Signals;
}

export interface ProcessExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface RunningProcess {
  readonly pid: number;
  /** Never rejects. */
  readonly exited: Promise<ProcessExit>;
  /**
   * The first line, already written or still to come, that `matches`. Rejects, with the end of the output in
   * the message, after `withinMs` (default 30 000) or when the process ends without it.
   */
  waitForLine(matches: (line: string, stream: Stream) => boolean, withinMs?: number): Promise<string>;
  /** Undefined without `hasInput`. */
  readonly input: Writable | undefined;
  /** What it wrote, of one stream or of both in the order of arrival; at most the last 10 000 lines. */
  output(stream?: Stream): string;
  signal(signal: NodeJS.Signals): void;
  /** Asks the process to end, and ends it and its children by force after `withinMs` (default 10 000). */
  stop(withinMs?: number): Promise<ProcessExit>;
}

const inherited = ['PATH', 'HOME', 'TMPDIR', 'TEMP', 'SystemRoot'];

const BUSY_MS = 1000;
const BUSY_RETRY_MS = 5;

/**
 * Another process of this one that is being started holds, until it runs its program, each file that is being written
 * here: an executable just copied cannot be run meanwhile.
 */
async function spawnWritten(
  program: string,
  words: readonly string[],
  options: SpawnOptions,
): Promise<ChildProcess> {
  const until = performance.now() + BUSY_MS;
  for (;;) {
    try {
      return spawn(program, words, options);
    } catch (error) {
      const isBusy = error instanceof Error && 'code' in error && error.code === 'ETXTBSY';
      if (!isBusy || performance.now() > until) throw error;
      await pause(BUSY_RETRY_MS);
    }
  }
}

/** Starts a program in a process group of its own. Rejects when it cannot be started. */
export async function startProcess(
  command: string,
  args: readonly string[],
  options: ProcessOptions = {},
): Promise<RunningProcess> {
  const {
    cwd,
    within = [],
    hasInput = false,
    uid,
    gid,
    stopSignal = 'SIGTERM',
    orphanSignal = stopSignal,
  } = options;
  const name = basename(command);
  const base = Object.fromEntries(inherited.map((key) => [key, process.env[key]]));
  const guardian = await watchdog();
  const [program = command, ...words] = [...within, command, ...args];
  const child = await spawnWritten(program, words, {
    cwd,
    env: { ...base, ...options.env },
    detached: true,
    stdio: [hasInput ? 'pipe' : 'ignore', 'pipe', 'pipe'],
    windowsHide: true,
    ...(uid === undefined ? {} : { uid }),
    ...(gid === undefined ? {} : { gid }),
  });
  const log = createLineLog();
  const ended = Promise.all([feed(child.stdout, 'stdout', log), feed(child.stderr, 'stderr', log)]);
  // It may end before it has read all.
  child.stdin?.on('error', () => {});
  const { pid } = child;
  if (pid !== undefined) guardian.guard(pid, orphanSignal);
  const exited = new Promise<ProcessExit>((resolve) => {
    child.once('exit', (code, signal) => {
      if (pid !== undefined) guardian.release(pid);
      // The last of its output may still be in the pipes; a grandchild that holds them open is not waited for.
      const enough = setTimeout(() => finish(), 1000);
      const finish = (): void => {
        clearTimeout(enough);
        log.end();
        resolve({ code, signal });
      };
      void ended.then(finish);
    });
  });
  try {
    await once(child, 'spawn');
  } catch (error) {
    throw new Error(`cannot start ${program}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
  if (pid === undefined) throw new Error(`cannot start ${command}: it has no process id`);

  return {
    pid,
    exited,
    input: child.stdin ?? undefined,
    waitForLine: (matches, withinMs = 30_000) => log.waitFor(matches, withinMs, name),
    output: (stream) => log.text(stream),
    signal: (signal) => void child.kill(signal),
    stop: async (withinMs = 10_000) => {
      if (child.exitCode === null && child.signalCode === null) child.kill(stopSignal);
      const timer = setTimeout(() => killGroup(pid), withinMs);
      const exit = await exited;
      clearTimeout(timer);
      return exit;
    },
  };
}

/** Runs a program to its end, which must come within `withinMs` (default 60 000). Any exit code is fine. */
export async function runProcess(
  command: string,
  args: readonly string[],
  options: ProcessOptions & { readonly withinMs?: number } = {},
): Promise<ProcessExit & { readonly stdout: string; readonly stderr: string }> {
  const { withinMs = 60_000, ...processOptions } = options;
  const running = await startProcess(command, args, processOptions);
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    killGroup(running.pid);
  }, withinMs);
  const exit = await running.exited;
  clearTimeout(timer);
  if (late) {
    throw new Error(
      `cannot wait for ${basename(command)}: still running after ${withinMs} ms\n${running.output()}`,
    );
  }
  return { ...exit, stdout: running.output('stdout'), stderr: running.output('stderr') };
}

async function feed(source: Readable | null, stream: Stream, log: LineLog): Promise<void> {
  if (source === null) throw new Error('a process has no output');
  source.setEncoding('utf8');
  source.on('data', (text: string) => log.add(stream, text));
  await new Promise((resolve) => source.once('close', resolve));
}

function killGroup(pid: number): void {
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL');
  } catch {
    // It ended in the meantime.
  }
}
