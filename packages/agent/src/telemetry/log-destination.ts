import { accessSync, constants, existsSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import { join } from 'node:path';
import { readProblem } from '@svc/edge';
import type { LogDestination } from './log.ts';

export const LOG_FILE = 'svc-agent.log';
const STANDARD_OUTPUT = 1;
/** What the capability file says of the log. */
interface LogSettings {
  readonly output: 'file' | 'stdout';
  readonly maxSizeBytes: number;
  readonly maxFiles: number;
}

/** For faults found before the file's own `logging` section is known. */
const LOG_DEFAULTS: LogSettings = {
  output: 'file',
  maxSizeBytes: 10 * 1024 * 1024,
  maxFiles: 5,
};

/** The log file in the folder of the agent. */
function logFile(home: string, { maxSizeBytes, maxFiles }: LogSettings = LOG_DEFAULTS): LogDestination {
  return { file: join(home, LOG_FILE), maxSizeBytes, maxFiles };
}

/** Of a command, whose standard output has what was asked for. Where there cannot be a file nothing is kept. */
export function logOfCommand(home: string, logging?: LogSettings): LogDestination {
  if (writeProblem(home) === undefined) return logFile(home, logging);
  return { descriptor: openSync(devNull, 'w'), colour: false };
}

export interface RunningAgentLog {
  /** The folder of the log file. */
  readonly home: string;
  readonly colour: boolean;
  readonly warn: (line: string) => void;
}

/** As `logging.output` says; standard output, too, where there cannot be a file. */
export function logOfRunningAgent(
  logging: LogSettings | undefined,
  { home, colour, warn }: RunningAgentLog,
): LogDestination {
  const standardOutput = { descriptor: STANDARD_OUTPUT, colour };
  if (logging?.output === 'stdout') return standardOutput;
  const problem = writeProblem(home);
  if (problem === undefined) return logFile(home, logging);
  warn(
    `cannot write ${LOG_FILE} in ${home} (${problem}): the log goes to standard output; logging.output: stdout asks for that`,
  );
  return standardOutput;
}

/** Why the log file cannot be written, or a new one made; undefined where it can. */
export function writeProblem(home: string): string | undefined {
  const file = join(home, LOG_FILE);
  try {
    accessSync(existsSync(file) ? file : home, constants.W_OK);
    return undefined;
  } catch (error) {
    return readProblem(error);
  }
}

/** For a command whose faults have more than it shows, and whose log file cannot be written for `problem`. */
export function notKept(home: string, problem: string): string {
  return `cannot write ${LOG_FILE} in ${home} (${problem}): what the database says is not kept`;
}
