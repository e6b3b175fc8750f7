import { Failure, type EngineFailure } from '../../engine-process/engine-questions.ts';
import type { SqliteError } from './node-sqlite.ts';

/** The low byte of a result code is its family: the file is away, broken or read by nobody. */
const UNAVAILABLE = new Set([5, 6, 8, 10, 11, 14, 15, 26]);
const TOO_BIG = 18;
const MISMATCH = 20;
/** SQLite's own errors of functions have all the same code: they are told by their texts, which are not passed on. */
const MISTAKES: readonly (readonly [text: RegExp, mistake: string])[] = [
  [/^malformed JSON/, 'it is no valid JSON'],
  [/^integer overflow/, 'it is out of range'],
  [/^LIKE or GLOB pattern too complex/, 'its pattern is too long'],
  [/^ESCAPE expression must be a single character/, 'it is no single character'],
  [/^invalid Unicode escape/, 'it has an invalid Unicode escape'],
];

/** What is passed on of an error of a run: SQLite quotes values in its texts. */
export function failureOf(error: unknown): EngineFailure {
  if (error instanceof Failure) return error.failure;
  const { errcode = 1, errstr = 'unknown', message } = asSqliteError(error);
  const family = errcode & 0xff;
  const name = `error ${errcode}, ${errstr}`;
  if (UNAVAILABLE.has(family)) return { kind: 'unavailable', message: name, advice: 'it cannot be read' };
  const mistake =
    family === MISMATCH
      ? 'it is no value of the type that the query takes'
      : MISTAKES.find(([text]) => text.test(message))?.[1];
  if (family === TOO_BIG) return { kind: 'too_large', message: name };
  return { kind: 'failed', message: name, ...(mistake === undefined ? {} : { mistake }) };
}

export function asSqliteError(error: unknown): SqliteError {
  return error instanceof Error ? error : new Error(String(error));
}
