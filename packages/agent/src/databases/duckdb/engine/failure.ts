import { Failure, type EngineFailure } from '../../engine-process/engine-questions.ts';

/** DuckDB's texts begin with the kind of the error and then may quote values. */
const KIND = /^([A-Z][A-Za-z]*(?: [A-Za-z]+)*) Error:/;
/** The kind of the error of a query whose call was stopped. */
export const INTERRUPTED = 'INTERRUPT';
const NO_VALUE = 'it is no value that the query takes';
/** The kinds of errors that values may cause. An overflow is the query's fault. */
const MISTAKES: Readonly<Record<string, string>> = {
  Conversion: 'it is no value of the type that the query takes',
  'Invalid Input': NO_VALUE,
  // DuckDB gives these kinds for JSON paths, patterns and time zones.
  Binder: NO_VALUE,
  Syntax: NO_VALUE,
  'Not implemented': NO_VALUE,
};

export function kindOfError(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return KIND.exec(text)?.[1] ?? 'Unknown';
}

/** The part of a run's error that is passed on. */
export function failureOf(error: unknown): EngineFailure {
  if (error instanceof Failure) return error.failure;
  const kind = kindOfError(error);
  const message = `DuckDB: ${kind} Error`;
  // The engine no longer serves, or its state is in doubt.
  if (kind === 'FATAL' || kind === 'INTERNAL') return { kind: 'unavailable', message };
  if (kind === 'INTERRUPT') return { kind: 'cancelled', message };
  if (kind === 'Out of Memory') {
    return { kind: 'failed', message, advice: 'the engine needs more memory than it may have: raise memory' };
  }
  return { kind: 'failed', message };
}

/** What may be wrong with a value; undefined if no value can have caused the error. */
export function mistakeOf(error: unknown): string | undefined {
  return error instanceof Failure ? undefined : MISTAKES[kindOfError(error)];
}
