import { DatabaseError, type VerificationFault } from './database.ts';

/** What to say of a database that cannot be used; rethrows what is no `DatabaseError`. */
export function databaseFault(error: unknown): VerificationFault {
  if (!(error instanceof DatabaseError)) throw error;
  const advice = error.advice ?? 'it does not answer as it should';
  const message = `cannot use the database: ${advice} (the log file has the details)`;
  return { path: 'database', message, detail: error.message };
}
