import { accessSync, constants, existsSync } from 'node:fs';
import { join } from 'node:path';
import { readProblem } from '@svc/edge';
import type { AgentConfig } from '../config/model.ts';
import type { LogDestination } from './log.ts';

export const LOG_FILE = 'svc-agent.log';
const STANDARD_OUTPUT = 1;
type LogSettings = AgentConfig['logging'];

/** For faults found before the file's own `logging` section is known. */
const LOG_DEFAULTS: LogSettings = { output: 'file', maxSizeBytes: 10 * 1024 * 1024, maxFiles: 5 };

/** The log file in the folder of the agent. */
export function logFile(
  home: string,
  { maxSizeBytes, maxFiles }: LogSettings = LOG_DEFAULTS,
): LogDestination {
  return { file: join(home, LOG_FILE), maxSizeBytes, maxFiles };
}

/** As `logging.output` says; standard output if there cannot be a file. */
export function logOfRunningAgent(
  logging: LogSettings | undefined,
  home: string,
  colour: boolean,
  warn: (line: string) => void,
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

/** Why the log file cannot be written or made; undefined if it can. */
export function writeProblem(home: string): string | undefined {
  const file = join(home, LOG_FILE);
  try {
    accessSync(existsSync(file) ? file : home, constants.W_OK);
    return undefined;
  } catch (error) {
    return readProblem(error);
  }
}
