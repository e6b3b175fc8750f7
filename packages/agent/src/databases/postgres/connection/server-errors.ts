import pg from 'pg';
import { DatabaseError, type DatabaseErrorKind } from '../../driver/errors.ts';
import type { QueryCall } from '../../driver/driver.ts';
import { quoteIdentifier } from '../dialect/quote-identifier.ts';
import type { PoolRules } from '../../sessions/pool-base.ts';

/** statement_timeout and a cancel request look alike here. */
export const QUERY_CANCELED = '57014';
/** lock_timeout, which behind a pooler every call sets to its own time. */
export const LOCK_NOT_AVAILABLE = '55P03';
/** The server behind a pooler does not know the prepared statement. */
export const UNKNOWN_STATEMENT = '26000';
/** A statement of that name exists, and takes other parameters. */
export const OTHER_STATEMENT = '08P01';
/** What was verified only reads, so another statement has its name, or a function writes. */
export const READ_ONLY_VIOLATED = '25006';
/** A transaction has failed and not been ended. */
export const ABORTED_TRANSACTION = '25P02';
export const INSUFFICIENT_PRIVILEGE = '42501';
const ADMIN_SHUTDOWN = '57P01';
/** The class by which the server ends a session, for an administrator or at a time-out. */
export const OPERATOR_INTERVENTION = '57P';
const TOO_MANY_CONNECTIONS = '53300';
/** A text has a character that the database's encoding does not have. */
const NOT_IN_ENCODING = /^22(?:P05|021)$/;

/** Undefined for faults of the connection itself. */
export function sqlStateOf(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined;
}

// Connection exceptions, operator intervention, and time-outs of the server by which it ends a session.
const LOSS = /^(?:08|57P0|57P1|25P0[34]$)/;

/** Conditions that a verified query can still meet, by their names in PostgreSQL's manual. */
const CONDITIONS: Readonly<Record<string, string>> = {
  '22001': 'string_data_right_truncation',
  '22003': 'numeric_value_out_of_range',
  '22007': 'invalid_datetime_format',
  '22008': 'datetime_field_overflow',
  '22012': 'division_by_zero',
  '22021': 'character_not_in_repertoire',
  '22023': 'invalid_parameter_value',
  '22025': 'invalid_escape_sequence',
  '2201B': 'invalid_regular_expression',
  '2201W': 'invalid_row_count_in_limit_clause',
  '2201X': 'invalid_row_count_in_result_offset_clause',
  '22P02': 'invalid_text_representation',
  '22P05': 'untranslatable_character',
  '21000': 'cardinality_violation',
  '23502': 'not_null_violation',
  '23514': 'check_violation',
  '25006': 'read_only_sql_transaction',
  [UNKNOWN_STATEMENT]: 'invalid_sql_statement_name',
  [INSUFFICIENT_PRIVILEGE]: 'insufficient_privilege',
  '42703': 'undefined_column',
  '42883': 'undefined_function',
  '42P01': 'undefined_table',
  '53200': 'out_of_memory',
  [TOO_MANY_CONNECTIONS]: 'too_many_connections',
  '54000': 'program_limit_exceeded',
  [LOCK_NOT_AVAILABLE]: 'lock_not_available',
  [QUERY_CANCELED]: 'query_canceled',
  '57P01': 'admin_shutdown',
  '57P03': 'cannot_connect_now',
  P0001: 'raise_exception',
  XX000: 'internal_error',
};

/** These routines raise a function's own text, which may put a value even into the fields meant for names. */
const RAISED = /^(?:exec_stmt_raise|PLy_)/;

/**
 * What an error of a call may leave in the log: its SQLSTATE and the names of what was involved. The server's texts
 * (message, detail, hint, where, internal query) quote the values of parameters and rows.
 */
export function nameOf(error: Error): string {
  if (!(error instanceof pg.DatabaseError) || error.code === undefined) return `connection: ${textOf(error)}`;
  const { code, routine, schema, table, column, dataType, constraint } = error;
  const condition = CONDITIONS[code];
  const names = {
    routine,
    ...(RAISED.test(routine ?? '') ? {} : { schema, table, column, dataType, constraint }),
  };
  return [
    `SQLSTATE ${code}`,
    ...(condition === undefined ? [] : [condition]),
    ...Object.entries(names).flatMap(([kind, name]) => (name === undefined ? [] : [`${kind} ${name}`])),
  ].join(', ');
}

/** The kind of an error that neither a deadline nor an abort explains. */
export function kindOf(error: unknown): DatabaseErrorKind {
  if (error instanceof DatabaseError) return error.kind;
  return isLoss(error) || isScarcity(error) ? 'unavailable' : 'failed';
}

/** Whether the connection failed, and not only what was sent over it. */
export function isLoss(error: unknown): boolean {
  const state = sqlStateOf(error);
  return state === undefined || LOSS.test(state);
}

/** Too little memory, disk or connections, which ends no connection. */
function isScarcity(error: unknown): boolean {
  return sqlStateOf(error)?.startsWith('53') === true;
}

/** Whether the database cannot hold what a transaction is told of who calls. */
export function isCallerRefused(
  error: unknown,
  { apiKeyName, caller }: Pick<QueryCall, 'apiKeyName' | 'caller'>,
): boolean {
  if (!NOT_IN_ENCODING.test(sqlStateOf(error) ?? '')) return false;
  const texts = [apiKeyName, caller?.subject, caller?.issuer, caller?.clientId, caller?.claimsJson];
  // ASCII without NUL is in every encoding.
  return texts.some((text = '') => text.includes('\0') || /\P{ASCII}/u.test(text));
}

/** `account` is whose connection failed, with the name of its database. */
export function unavailable(
  cause: unknown,
  account?: { readonly name: string; readonly user: string },
): DatabaseError {
  if (cause instanceof DatabaseError) return cause;
  const isDenied = sqlStateOf(cause) === INSUFFICIENT_PRIVILEGE && account !== undefined;
  const remedy = isDenied
    ? `GRANT CONNECT ON DATABASE ${quoteIdentifier(account.name)} TO ${quoteIdentifier(account.user)}`
    : undefined;
  const advice = isDenied ? 'the account may not connect to it: grant it CONNECT' : adviceFor(cause);
  return new DatabaseError('unavailable', `cannot reach the database: ${textOf(cause)}`, {
    cause,
    advice,
    remedy,
    sqlState: sqlStateOf(cause),
  });
}

export const poolRules: PoolRules = {
  hasTooMany: ({ cause }) => sqlStateOf(cause) === TOO_MANY_CONNECTIONS,
  isOfEndedSession: ({ cause }) => sqlStateOf(cause) === ADMIN_SHUTDOWN,
  mayPass: ({ cause }) => cause !== undefined && !isWithoutTls(cause) && kindOf(cause) === 'unavailable',
  unavailable,
};

function adviceFor(cause: unknown): string {
  const [error] = cause instanceof AggregateError ? cause.errors : [cause];
  if (isWithoutTls(error)) return 'it offers no TLS: turn it on there, or check port and sslmode';
  if (isWithoutPassword(error))
    return 'it asks for a password and got none: put one into the URL, or set password';
  switch (sqlStateOf(error) ?? systemCodeOf(error)) {
    case '28P01':
    case '28000':
      return 'it refuses the login: check user and password, and what pg_hba.conf allows';
    case '3D000':
      return 'it has no database of that name: check name';
    case '57P03':
      return 'it is starting up or shutting down: it will be tried again';
    case TOO_MANY_CONNECTIONS:
      return 'it has no connection left for this account: check max_connections here and there';
    case 'ECONNREFUSED':
      return 'nothing listens there: check host and port, and that the server runs';
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'the host name cannot be looked up: check host';
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
      return 'its certificate is not trusted: name the PEM file of its authority in ssl_root_cert';
    default:
      return 'it cannot be connected to: check host, port and sslmode, and that driver names what runs there';
  }
}

/** pg tells this refusal by its text alone. */
export function isWithoutTls(error: unknown): boolean {
  return error instanceof Error && error.message === 'The server does not support SSL connections';
}

/** pg sends no empty password, and says so by its text alone. */
function isWithoutPassword(error: unknown): boolean {
  return error instanceof Error && error.message.endsWith('client password must be a non-empty string');
}

function systemCodeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

export function textOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(textOf).join('; ');
  return error instanceof Error ? error.message : String(error);
}
