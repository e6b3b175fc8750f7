import pg from 'pg';
import { DatabaseError, type DatabaseErrorKind } from '../database.ts';

/** SQLSTATE 57014: statement_timeout and a cancel request look alike here. */
export const QUERY_CANCELED = '57014';
/** SQLSTATE 55P03: lock_timeout, which every call sets to its own time. */
export const LOCK_NOT_AVAILABLE = '55P03';
/** SQLSTATE 26000: the server behind a pooler does not know the prepared statement. */
export const UNKNOWN_STATEMENT = '26000';

/** The SQLSTATE that the server sent; undefined for faults of the connection itself. */
export function sqlStateOf(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined;
}

// Connection exceptions, insufficient resources, operator intervention, and the server's own idle time-outs.
const UNAVAILABLE = /^(?:08|53|57P0|57P1|25P03$)/;

/** The kind of an error that neither a deadline nor an abort explains. */
export function kindOf(error: unknown): DatabaseErrorKind {
  if (error instanceof DatabaseError) return error.kind;
  const state = sqlStateOf(error);
  return state === undefined || UNAVAILABLE.test(state) ? 'unavailable' : 'failed';
}

export function unavailable(cause: unknown): DatabaseError {
  return new DatabaseError('unavailable', `cannot reach the database: ${textOf(cause)}`, { cause });
}

export function textOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(textOf).join('; ');
  return error instanceof Error ? error.message : String(error);
}
