import { Failure, type EngineFailure } from '../../engine-process/engine-questions.ts';

/** DuckDB's texts begin with the kind of the error, and quote values behind it. */
const KIND = /^([A-Z][A-Za-z]*(?: [A-Za-z]+)*) Error:/;
const MISTAKES: Readonly<Record<string, string>> = {
  Conversion: 'it is no value of the type that the query takes',
  'Out of Range': 'it is out of range',
  'Invalid Input': 'it is no value that the query takes',
};

export function kindOfError(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return KIND.exec(text)?.[1] ?? 'Unknown';
}

/** What is passed on of an error of a run. */
export function failureOf(error: unknown): EngineFailure {
  if (error instanceof Failure) return error.failure;
  const kind = kindOfError(error);
  const message = `DuckDB: ${kind} Error`;
  // The engine serves nothing more, or is in doubt.
  if (kind === 'FATAL' || kind === 'INTERNAL') return { kind: 'unavailable', message };
  if (kind === 'INTERRUPT') return { kind: 'cancelled', message };
  if (kind === 'Out of Memory') {
    return { kind: 'failed', message, advice: 'the engine needs more memory than it may have: raise memory' };
  }
  const mistake = MISTAKES[kind];
  return { kind: 'failed', message, ...(mistake === undefined ? {} : { mistake }) };
}
