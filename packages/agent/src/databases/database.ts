import type { AbortSignalLike } from '@svc/edge';
import type { Capability, Fault } from '../config/agent-config.ts';
import type { VerifiedQuery } from './postgres/run.ts';

/** What the rest of the agent knows of a database. One folder per driver implements it. */
export interface Database {
  /** Proves that the database answers; throws `DatabaseError` with kind `unavailable`. */
  ping(): Promise<void>;
  /** Proves that each capability only reads and yields what it declares. All faults at once. */
  verify(capabilities: readonly Capability[]): Promise<Verification>;
  /** What the account may do beyond reading, each with the statement that mends it. */
  auditAccount(): Promise<readonly AccountFinding[]>;
  readonly connections: DatabaseConnections;
  /** Ends idle connections at once and the others when their call ends. */
  close(): Promise<void>;
}

/** How many there are of each now, and how many calls wait for one. */
export interface DatabaseConnections {
  readonly idle: number;
  readonly busy: number;
  readonly opening: number;
  readonly waiting: number;
}

/** A database whose capabilities have been verified. */
export interface RunningDatabase extends Omit<Database, 'verify' | 'auditAccount'> {
  /** False while the database is lost: see `DatabaseChange`. */
  readonly isUp: boolean;
}

/** A database that could be reached is lost when no connection is left and none can be made, until one can be made. */
export type DatabaseChange =
  | {
      readonly isUp: false;
      /** What to check. */
      readonly advice: string;
      /** Database text, for the log file only. */
      readonly detail: string;
    }
  | { readonly isUp: true; readonly awayMs: number };

interface Verification {
  readonly queries: ReadonlyMap<string, Query>;
  /** What the queries are made of: plain data, with which they run on another connection as well. */
  readonly verified: readonly VerifiedQuery[];
  /** Those that passed, in their order; parameters are narrowed where the database takes less than was declared. */
  readonly capabilities: readonly Capability[];
  readonly faults: readonly VerificationFault[];
}

/** `message` is fit for standard error; `detail` (database text, SQL) belongs in the log file only. */
export interface VerificationFault extends Fault {
  readonly detail?: string;
}

export interface AccountFinding {
  readonly problem: string;
  /** The GRANT, REVOKE or ALTER that removes the problem. */
  readonly remedy: string;
}

/** A verified capability, ready to run. */
export interface Query {
  /** Runs in a READ ONLY transaction of its own that is always rolled back; throws `DatabaseError`. */
  run(call: QueryCall): Promise<QueryResult>;
}

export interface QueryCall {
  /** Validated parameter values by name; absent and null both bind SQL NULL. */
  readonly values: Readonly<Record<string, unknown>>;
  readonly apiKeyName: string;
  readonly requestId: string;
  /** What is left for the whole run, waiting for a connection included. */
  readonly timeoutMs: number;
  /** Aborting cancels the query in the database. */
  readonly signal: AbortSignalLike;
}

export interface QueryResult {
  /** The JSON array of rows, as sent. */
  readonly rows: Uint8Array;
  readonly count: number;
  readonly truncated: boolean;
}

export type DatabaseErrorKind =
  | 'unavailable'
  | 'timeout'
  | 'cancelled'
  | 'too_large'
  | 'invalid_params'
  | 'failed';

export interface DatabaseErrorOptions extends ErrorOptions {
  readonly advice?: string | undefined;
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
  constructor(kind: DatabaseErrorKind, message: string, options: DatabaseErrorOptions = {}) {
    super(message, options);
    this.name = 'DatabaseError';
    this.kind = kind;
    this.advice = options.advice;
  }
}
