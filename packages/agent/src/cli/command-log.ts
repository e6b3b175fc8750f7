import { openSync } from 'node:fs';
import { printable, readProblem } from '@svc/edge';
import { wordsOf, type VerificationFault } from '../databases/driver/errors.ts';
import { createLog, type Log, type LogOptions } from '../telemetry/log.ts';
import { printFaults } from './print-faults.ts';

/** Where a command puts what the database says, which may contain values. The log of a running agent is not for commands. */
export interface WordsPlace {
  /** The file of `--log`; undefined if nothing is kept. */
  readonly file: string | undefined;
  /** Whether standard output is a terminal that gets lines for people, and so may show it. */
  readonly isShown: boolean;
}

export type CommandLog = WordsPlace & Log;

const NEW_FILE_MODE = 0o600;
const HOW = '`--log FILE` appends what the database says to FILE; a terminal shows it';

/** For a log without short lines. */
export const NOBODY: LogOptions['standardError'] = { write: () => {} };

export function openCommandLog(
  place: WordsPlace,
  standardError: LogOptions['standardError'] = process.stderr,
): CommandLog | { readonly problem: string } {
  const { file } = place;
  if (file === undefined) return Object.assign(logOfNothing(place), place);
  try {
    // Other commands may append to it at the same time.
    const descriptor = openSync(file, 'a', NEW_FILE_MODE);
    const destination = { descriptor, colour: false, name: file };
    // A copy of the log would count no lost record.
    return Object.assign(createLog({ destination, standardError }), place);
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    const reason = isMissing ? 'its folder does not exist' : readProblem(error);
    return { problem: `cannot open ${file}, which \`--log\` names: ${reason}` };
  }
}

/** Keeps nothing; only a crash is printed. */
function logOfNothing({ isShown }: WordsPlace): Log {
  return {
    recordsLost: 0,
    observe(event) {
      if (event.event !== 'crashed') return;
      const how = isShown ? '' : '; `--log FILE` appends the details to FILE';
      process.stderr.write(`svc-agent: internal error, ending${how}\n`);
      if (!isShown) return;
      for (const line of event.detail.split('\n')) process.stdout.write(`    ${printable(line)}\n`);
    },
    close: async () => {},
  };
}

type Words = Pick<VerificationFault, 'detail' | 'hint'>;

/** Where the database says more about these; undefined if it does not, or if the user has seen it. */
export function detailsOf(said: readonly Words[], { file, isShown }: WordsPlace): string | undefined {
  if (said.every((words) => wordsOf(words) === undefined)) return undefined;
  return file ?? (isShown ? undefined : HOW);
}

/** The same as fields of a JSON object. */
export function detailsFields(
  said: readonly Words[],
  place: WordsPlace,
): { readonly log?: string; readonly details?: string } {
  const details = detailsOf(said, place);
  if (details === undefined) return {};
  return place.file === undefined ? { details } : { log: details };
}

/** Prints faults on a terminal with what the database says; otherwise on standard error without it. */
export function showFaults(faults: readonly VerificationFault[], file: string, place: WordsPlace): void {
  const stream = place.isShown ? process.stdout : process.stderr;
  printFaults(faults, stream, file, { details: place.isShown });
  const details = detailsOf(faults, place);
  if (details !== undefined) stream.write(`Details: ${details}\n`);
}
