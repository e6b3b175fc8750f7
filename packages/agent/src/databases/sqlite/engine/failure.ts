import { Failure, type EngineFailure } from '../../engine-process/engine-questions.ts';
import type { SqliteError } from './node-sqlite.ts';

/** The low byte of a result code is its family. These say that the file is missing, broken or unreadable. */
const UNAVAILABLE = new Set([5, 6, 8, 10, 11, 14, 15, 26]);
const TOO_BIG = 18;
const MISMATCH = 20;
/** The code of errors of functions. */
const ERROR = 1;
/** An overflow is the query's fault, except the one with which a negative row count fails. */
const OVERFLOW = /^integer overflow/;
const COUNTING_PROBE = 'select 1 limit ';
/** All errors of SQLite's functions have the same code. Their texts tell them apart, but are not passed on. */
const MISTAKES: readonly (readonly [text: RegExp, mistake: string])[] = [
  [/^malformed JSON/, 'it is no valid JSON'],
  [/JSON path/, 'it is no valid JSON path'],
  [/^LIKE or GLOB pattern too complex/, 'its pattern is too long'],
  [/^ESCAPE expression must be a single character/, 'it is no single character'],
  [/^invalid Unicode escape/, 'it has an invalid Unicode escape'],
];

/** The part of a run's error that is passed on: SQLite quotes values in its texts. */
export function failureOf(error: unknown): EngineFailure {
  if (error instanceof Failure) return error.failure;
  const { errcode = 1, errstr = 'unknown' } = asSqliteError(error);
  const family = errcode & 0xff;
  const name = `error ${errcode}, ${errstr}`;
  if (UNAVAILABLE.has(family)) return { kind: 'unavailable', message: name, advice: 'it cannot be read' };
  return { kind: family === TOO_BIG ? 'too_large' : 'failed', message: name };
}

/**
 * What is wrong with a value, where a value is what the error is about; undefined for other errors. `probe` is the statement
 * of values alone that has failed, if it is one.
 */
export function mistakeOf(error: unknown, probe?: string): string | undefined {
  const { errcode = 0, message } = asSqliteError(error);
  if (errcode === MISMATCH) return 'it is no value of the type that the query takes';
  if (errcode !== ERROR) return undefined;
  if (OVERFLOW.test(message)) {
    return probe === undefined || probe.startsWith(COUNTING_PROBE) ? 'it is out of range' : undefined;
  }
  return MISTAKES.find(([text]) => text.test(message))?.[1] ?? 'it is no value that the query takes';
}

export function asSqliteError(error: unknown): SqliteError {
  return error instanceof Error ? error : new Error(String(error));
}
