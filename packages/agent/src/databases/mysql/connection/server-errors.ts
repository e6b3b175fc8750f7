import { DatabaseError, type DatabaseErrorKind } from '../../errors.ts';
import type { PoolRules } from '../../sessions/pool.ts';

/** ER_CON_COUNT_ERROR and the limits of an account: too many connections. */
const TOO_MANY = new Set([1040, 1203, 1226]);
/** ER_MAX_PREPARED_STMT_COUNT_REACHED: others may let go of some. */
const TOO_MANY_STATEMENTS = 1461;
/** The server ends the session: shutdown, KILL, its own time-outs. */
const ENDED = new Set([1053, 1077, 1152, 1158, 1159, 1160, 1161, 1184, 1927, 4031]);
/** ER_QUERY_TIMEOUT of MySQL and ER_STATEMENT_TIMEOUT of MariaDB. */
const TIMED_OUT = new Set([3024, 1969]);
/** ER_MUST_CHANGE_PASSWORD and ER_MUST_CHANGE_PASSWORD_LOGIN. */
const EXPIRED = new Set([1820, 1862]);
/** ER_ACCOUNT_HAS_BEEN_LOCKED of MySQL and of MariaDB. */
const LOCKED = new Set([3118, 4151]);
/** The account lacks a grant on the database, the table, the column or the routine. */
const DENIED = new Set([1044, 1142, 1143, 1370]);
/** Errors by which a function or clause refuses an argument: another value may well pass. */
const REFUSED_ARGUMENT: Readonly<Record<number, string>> = {
  1139: 'it is no valid regular expression',
  1153: 'it is longer than the server takes',
  1210: 'it is no value that the query takes',
  1292: 'it is no value of the type that the query takes',
  1690: 'it is out of range',
  3141: 'it is no valid JSON',
  3685: 'it is no valid regular expression',
  3690: 'it is no valid regular expression',
  3691: 'it is no valid regular expression',
  3692: 'it is no valid regular expression',
};

/** What the server or the library gives as error; `errno` is the server's number where `sqlState` is there. */
interface ServerError extends Error {
  readonly errno?: number;
  readonly code?: string;
  readonly sqlState?: string;
  readonly fatal?: boolean;
}

function asServerError(error: unknown): ServerError | undefined {
  return error instanceof Error ? error : undefined;
}

/** The server's number of its error; undefined for faults of the connection itself. */
export function numberOf(error: unknown): number | undefined {
  const { errno, sqlState } = asServerError(error) ?? {};
  return sqlState === undefined ? undefined : errno;
}

/** ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION. */
export function isWrite(error: unknown): boolean {
  return numberOf(error) === 1792;
}

/** Whether it is the connection that failed, and not only what was sent over it. */
export function isLoss(error: unknown): boolean {
  const number = numberOf(error);
  return number === undefined || ENDED.has(number);
}

/** Whether the account may not read it; a table that is not there looks the same to an account with few grants. */
export function isDenied(error: unknown): boolean {
  return DENIED.has(numberOf(error) ?? 0);
}

export function kindOf(error: unknown): DatabaseErrorKind {
  if (error instanceof DatabaseError) return error.kind;
  const number = numberOf(error);
  if (number === undefined || ENDED.has(number) || TOO_MANY.has(number) || number === TOO_MANY_STATEMENTS) {
    return 'unavailable';
  }
  return TIMED_OUT.has(number) ? 'timeout' : 'failed';
}

/** What an error of a call may leave in the log: the server's texts quote values of parameters and rows. */
export function nameOf(error: unknown): string {
  // Of the connection, and made here.
  if (error instanceof DatabaseError) return `connection: ${error.message}`;
  const { errno, code, sqlState } = asServerError(error) ?? {};
  if (sqlState === undefined) return `connection: ${code ?? 'lost'}`;
  return `error ${errno}, ${code}, SQLSTATE ${sqlState}`;
}

/** What a caller is told to change, by a fixed text; undefined where the failure is not the caller's. */
export function callersMistake(error: unknown): string | undefined {
  return REFUSED_ARGUMENT[numberOf(error) ?? 0];
}

export function sqlStateOf(error: unknown): string | undefined {
  return asServerError(error)?.sqlState;
}

export const poolRules: PoolRules = {
  hasTooMany: ({ cause }) => TOO_MANY.has(numberOf(cause) ?? 0),
  isOfEndedSession: () => false,
  mayPass: ({ cause }) => cause !== undefined && kindOf(cause) === 'unavailable' && !isCertificate(cause),
  unavailable,
};

export function unavailable(cause: unknown): DatabaseError {
  if (cause instanceof DatabaseError) return cause;
  const text = cause instanceof Error ? cause.message : String(cause);
  return new DatabaseError('unavailable', `cannot reach the database: ${text}`, {
    cause,
    advice: adviceFor(cause),
    sqlState: sqlStateOf(cause),
  });
}

function adviceFor(cause: unknown): string {
  const number = numberOf(cause) ?? 0;
  if (TOO_MANY.has(number)) {
    return 'it has no connection left for this account: check max_connections here and there';
  }
  if (number === 1045 || number === 1698) return 'it refuses the login: check user and password';
  if (number === 1044 || number === 1049) {
    return 'it has no database of that name for this account: check name, and what the account may read';
  }
  if (EXPIRED.has(number)) {
    return 'the password of the account has expired: set a new one, there and in password or password_file';
  }
  if (LOCKED.has(number)) return 'the account is locked: ALTER USER ... ACCOUNT UNLOCK';
  if (isCertificate(cause)) {
    if (/altnames/.test(asServerError(cause)?.message ?? '')) {
      return 'its certificate is for another name: check host, or have a certificate made for it';
    }
    return 'its certificate is not trusted: name the PEM file of its authority in ssl_root_cert';
  }
  switch (asServerError(cause)?.code) {
    case 'HANDSHAKE_NO_SSL_SUPPORT':
      return 'it offers no TLS: turn it on there, or check port and sslmode';
    case 'ENOENT':
      return 'there is no such socket: check host';
    case 'ECONNREFUSED':
      return 'nothing listens there: check host and port, and that the server runs';
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'the host name cannot be looked up: check host';
    default:
      return 'it cannot be connected to: check host, port and sslmode, and that driver names what runs there';
  }
}

function isCertificate(cause: unknown): boolean {
  const { code, message = '' } = asServerError(cause) ?? {};
  // The library puts a code of its own in the place of that of the TLS library.
  return code === 'HANDSHAKE_SSL_ERROR' && /certificate|altnames/.test(message);
}
