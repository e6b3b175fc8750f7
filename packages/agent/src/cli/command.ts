import type { Given } from '@svc/edge';
import type { CommandLog } from './command-log.ts';

/** The exit codes of `svc-agent`, as its help lists them. */
export const EXIT = { fine: 0, failure: 1, usage: 2, no: 3 } as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** What each command is given; its own flags and operands are in `given`. */
export interface CommandInput {
  readonly given: Given;
  /** The capability file. */
  readonly file: string;
  /** The folder of the executables, and of the log file of a running agent. */
  readonly home: string;
  readonly version: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly json: boolean;
  readonly log: CommandLog;
}

/** Tells on standard error why the command ends, and returns its exit code. */
export function complain(problem: string, exitCode: ExitCode = EXIT.usage): ExitCode {
  process.stderr.write(`svc-agent: ${problem}\n`);
  return exitCode;
}

/** For the log only: a stack trace may quote the database. */
export function crashDetail(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
