import { startProcess } from '@svc/testkit';

export interface ProgramRun {
  /** Null when it was ended, because of the time or the signal. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** It ran longer than it may. */
  readonly late: boolean;
}

/** Runs a program to its end, or ends it after `withinMs` or when `signal` aborts. */
export async function runProgram(
  command: string,
  args: readonly string[],
  options: { readonly withinMs: number; readonly signal: AbortSignal; readonly home: string },
): Promise<ProgramRun> {
  const { withinMs, signal, home } = options;
  // The user's own settings and files are left alone.
  const running = await startProcess(command, args, { cwd: home, env: { HOME: home, NO_COLOR: '1' } });
  let late = false;
  const end = (): void => void running.stop(1000);
  const timer = setTimeout(() => {
    late = true;
    end();
  }, withinMs);
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  const { code } = await running.exited;
  clearTimeout(timer);
  signal.removeEventListener('abort', end);
  return { code, stdout: running.output('stdout'), stderr: running.output('stderr'), late };
}
