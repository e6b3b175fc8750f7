import { isDatabasePath } from '../../capabilities/database-names.ts';
import type { Fault } from '../../capabilities/fault.ts';

export type DatabaseErrorKind =
  | 'unavailable'
  /** It has not been verified that the capability is what the file says. */
  | 'not_verified'
  | 'timeout'
  | 'cancelled'
  | 'too_large'
  | 'invalid_params'
  /** The database does not take a value that is taken from who calls. */
  | 'invalid_principal'
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
   * The only part that may be shown: what to check, for one who cannot connect; for `invalid_params` each parameter
   * whose value the database does not take, and why, on one line.
   */
  readonly advice: string | undefined;
  /** The GRANT that helps, if that is known: see `VerificationFault`. */
  readonly remedy: string | undefined;
  /** What the database calls the error; undefined where it did not say. */
  readonly sqlState: string | undefined;
  /** Which one it comes from; undefined where the file has only one, unnamed. */
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

/** `message` is fit for standard error; the rest is database text, for a log and for a terminal. */
export interface VerificationFault extends Fault {
  readonly detail?: string;
  /** Which line of the SQL it is, and what the database advises. */
  readonly hint?: string;
  /** The GRANT that helps: SQL with names of the database, for who asks, and in `detail` for the log. */
  readonly remedy?: string;
}

export function withRemedy<Told extends Pick<VerificationFault, 'detail'>>(
  fault: Told,
  remedy: string,
): Told & Required<Pick<VerificationFault, 'detail' | 'remedy'>> {
  const told = fault.detail === undefined ? '' : `${fault.detail}; `;
  return { ...fault, detail: `${told}to grant it: ${remedy}`, remedy };
}

/** What the database says of a fault; undefined where it says no more than the message. */
export function wordsOf({ detail, hint }: Pick<VerificationFault, 'detail' | 'hint'>): string | undefined {
  const said = [detail, hint].filter((text) => text !== undefined && text !== '');
  return said.length === 0 ? undefined : said.join('; ');
}

/** What to say of a database that cannot be used; rethrows what is no `DatabaseError`. */
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

/** For each call one of its own: a shared one would carry the stack of another. */
export function copyOf({ kind, message, cause, advice, remedy, sqlState }: DatabaseError): DatabaseError {
  return new DatabaseError(kind, message, { cause, advice, remedy, sqlState });
}

/** Whether it is that the database cannot be used, which may pass without a change of the file. */
export function isDatabaseAway({ path, position }: VerificationFault): boolean {
  // What is wrong with the text of the file has a place in it.
  return position === undefined && isDatabasePath(path);
}

function pathOf(database: string | undefined): string {
  return database === undefined ? 'database' : `databases.${database}`;
}
