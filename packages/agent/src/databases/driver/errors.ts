import { isDatabasePath } from '../../capabilities/database-names.ts';
import type { Fault } from '../../capabilities/fault.ts';

export type DatabaseErrorKind =
  | 'unavailable'
  /** The capability has not been verified against the database. */
  | 'not_verified'
  | 'timeout'
  | 'cancelled'
  | 'too_large'
  | 'invalid_params'
  /** The database does not accept a value taken from the caller's identity. */
  | 'invalid_principal'
  /** The border of a page lies between rows that the database holds for equal: `message` has the fields. */
  | 'tied'
  | 'failed';

export interface DatabaseErrorOptions extends ErrorOptions {
  readonly advice?: string | undefined;
  readonly remedy?: string | undefined;
  readonly sqlState?: string | undefined;
  readonly database?: string | undefined;
}

/**
 * For the agent's log file only: `message` and `cause` may hold database text. What `Query.run` throws holds no value
 * of a parameter or row, only SQLSTATEs and names.
 */
export class DatabaseError extends Error {
  readonly kind: DatabaseErrorKind;
  /**
   * The only part that may be shown: what to check if no connection can be made, or for `invalid_params` the refused
   * parameters with the reasons, on one line.
   */
  readonly advice: string | undefined;
  /** The GRANT that helps, if it is known. */
  readonly remedy: string | undefined;
  readonly sqlState: string | undefined;
  /** The name of the database; undefined if the file has a single unnamed one. */
  readonly database: string | undefined;
  constructor(kind: DatabaseErrorKind, message: string, options: DatabaseErrorOptions = {}) {
    super(message, options);
    this.name = 'DatabaseError';
    this.kind = kind;
    this.advice = options.advice;
    this.remedy = options.remedy;
    this.sqlState = options.sqlState;
    this.database = options.database;
  }
}

/** `message` may go to standard error. The rest is database text for the log and the terminal. */
export interface VerificationFault extends Fault {
  readonly detail?: string;
  /** The line of the SQL, and what the database advises. */
  readonly hint?: string;
  /** The GRANT that helps, as SQL with names of the database. `detail` repeats it for the log. */
  readonly remedy?: string;
}

export function withRemedy<Told extends Pick<VerificationFault, 'detail'>>(
  fault: Told,
  remedy: string,
): Told & Required<Pick<VerificationFault, 'detail' | 'remedy'>> {
  const told = fault.detail === undefined ? '' : `${fault.detail}; `;
  return { ...fault, detail: `${told}to grant it: ${remedy}`, remedy };
}

/** What the database says of a fault beyond its message. */
export function wordsOf({ detail, hint }: Pick<VerificationFault, 'detail' | 'hint'>): string | undefined {
  const said = [detail, hint].filter((text) => text !== undefined && text !== '');
  return said.length === 0 ? undefined : said.join('; ');
}

/** The fault of a database that cannot be used. Rethrows anything but a `DatabaseError`. */
export function databaseFault(error: unknown): VerificationFault {
  if (!(error instanceof DatabaseError)) throw error;
  const advice = error.advice ?? 'it does not answer as it should';
  const message = `cannot use the database: ${advice}`;
  const fault = { path: pathOf(error.database), message, detail: error.message };
  return error.remedy === undefined ? fault : withRemedy(fault, error.remedy);
}

/** `Driver.loadExplain` of a driver that explains nothing. */
export function refuseExplain(): Promise<never> {
  const advice = '--explain is for PostgreSQL alone: call without it';
  return Promise.reject(new DatabaseError('failed', advice, { advice }));
}

/** The same error, of the database of that name. */
export function ofDatabase(database: string, error: DatabaseError): DatabaseError {
  const { kind, message, cause, advice, remedy, sqlState } = error;
  return new DatabaseError(kind, message, { cause, advice, remedy, sqlState, database });
}

/** Each call gets an error of its own: a shared one would carry the stack of another call. */
export function copyOf({ kind, message, cause, advice, remedy, sqlState }: DatabaseError): DatabaseError {
  return new DatabaseError(kind, message, { cause, advice, remedy, sqlState });
}

/** Whether the fault says that the database cannot be used, which may pass without a change of the file. */
export function isDatabaseAway({ path, position }: VerificationFault): boolean {
  // A fault of the file's text has a position.
  return position === undefined && isDatabasePath(path);
}

function pathOf(database: string | undefined): string {
  return database === undefined ? 'database' : `databases.${database}`;
}
