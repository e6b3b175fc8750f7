import { DatabaseError, type DatabaseErrorKind } from '../../driver/errors.ts';
import { asPattern, quoted } from '../dialect/quoted.ts';
import type { PoolRules } from '../../sessions/pool-base.ts';
import { each } from '../../sql/words.ts';

/** ER_CON_COUNT_ERROR and the limits of an account. */
const TOO_MANY = new Set([1040, 1203, 1226]);
/** ER_MAX_PREPARED_STMT_COUNT_REACHED, which passes when others close statements. */
const TOO_MANY_STATEMENTS = 1461;
/** The server has ended the session: shutdown, KILL, its own timeouts. */
const ENDED = new Set([1053, 1077, 1152, 1158, 1159, 1160, 1161, 1184, 1927, 4031]);
/** ER_QUERY_TIMEOUT of MySQL and ER_STATEMENT_TIMEOUT of MariaDB. */
const TIMED_OUT = new Set([3024, 1969]);
/** ER_MUST_CHANGE_PASSWORD and ER_MUST_CHANGE_PASSWORD_LOGIN. */
const EXPIRED = new Set([1820, 1862]);
/** ER_ACCOUNT_HAS_BEEN_LOCKED of MySQL and of MariaDB. */
const LOCKED = new Set([3118, 4151]);
/** ER_DBACCESS_DENIED: the account has no grant in the database, which may not exist. */
const NO_DATABASE = 1044;
/** A missing grant on the database, the table, the column or the routine. */
const DENIED = new Set([NO_DATABASE, 1142, 1143, 1370]);
/** ER_NET_PACKET_TOO_LARGE. */
const TOO_LONG = 1153;
/** ER_PARSE_ERROR, also of the parser of full-text searches. */
const NO_SYNTAX = 1064;
/** ER_DATA_OUT_OF_RANGE: an overflow, which is the query's fault, or a negative row count. */
const OUT_OF_RANGE = 1690;
const NO_PATTERN = 'it is no valid regular expression';
const NO_JSON = 'it is no valid JSON';
const NO_PATH = 'it is no valid JSON path';
const NO_VALUE = 'it is no value that the query takes';
const NO_TYPE = 'it is no value of the type that the query takes';
const OUT_OF_RANGE_VALUE = 'it is out of range';
/** Errors of a function or clause about an argument, which may be a value or data. */
const REFUSED_ARGUMENT: Readonly<Record<number, string>> = {
  ...each('1139 3685 3686 3688 3689 3690 3691 3692 3693 3694 3695 3696 3697 3700 3887 3900', NO_PATTERN),
  ...each('1210 3037 3047 3048 3154 3616 3617 4024', NO_VALUE),
  ...each('1292 1411 1525', NO_TYPE),
  [OUT_OF_RANGE]: OUT_OF_RANGE_VALUE,
  ...each('3140 3141 3146 3157 4038', NO_JSON),
  ...each('3143 3149 3150 3153', NO_PATH),
};
/** Warnings of a function that has misread an argument, which may be a value or data. */
const MISREAD: Readonly<Record<number, string>> = {
  ...each('1264 1441', OUT_OF_RANGE_VALUE),
  ...each('1292 1366 1411', NO_TYPE),
  1958: NO_VALUE,
  1977: 'it has a character that the query cannot convert',
  ...each('4035 4036 4037 4038 4039 4040', NO_JSON),
  ...each('4041 4042 4043 4044 4045', NO_PATH),
};
/** A cast to a shorter text cuts it on purpose. */
const CUT = /^Truncated incorrect (?:CHAR|BINARY)\(/;
/** Errors of MariaDB and MySQL about two incompatible character sets. */
const NO_CHARACTER_SET = new Set([1267, 1270, 1271, 3854, 3988]);

/** An error of the server or the library. `errno` is the server's number only if `sqlState` is there. */
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

/** Whether the connection failed, and not only the statement. */
export function isLoss(error: unknown): boolean {
  const number = numberOf(error);
  return number === undefined || ENDED.has(number);
}

/** Whether the account may not read something. A missing table looks the same to an account with few grants. */
export function isDenied(error: unknown): boolean {
  return DENIED.has(numberOf(error) ?? 0);
}

/** ER_VIEW_INVALID, with which servers hide that the reader of a view, or its definer, lacks a grant. */
export function isInvalidView(error: unknown): boolean {
  return numberOf(error) === 1356;
}

export function kindOf(error: unknown): DatabaseErrorKind {
  if (error instanceof DatabaseError) return error.kind;
  const number = numberOf(error);
  if (number === undefined || ENDED.has(number) || TOO_MANY.has(number) || number === TOO_MANY_STATEMENTS) {
    return 'unavailable';
  }
  return TIMED_OUT.has(number) ? 'timeout' : 'failed';
}

/** The part of an error that may be logged: the server's texts quote values of parameters and rows. */
export function nameOf(error: unknown): string {
  // This driver has made the error, about the connection.
  if (error instanceof DatabaseError) return `connection: ${error.message}`;
  const { errno, code, sqlState } = asServerError(error) ?? {};
  if (sqlState === undefined) return `connection: ${code ?? 'lost'}`;
  return `error ${errno}, ${code}, SQLSTATE ${sqlState}`;
}

/**
 * What is wrong with a value, by a fixed text, where a value may be what the error is about; undefined for other errors.
 * `probe` is the statement of values alone that has failed, if it is one.
 */
export function mistakeOf(error: unknown, probe?: string): string | undefined {
  const number = numberOf(error) ?? 0;
  if (number === OUT_OF_RANGE && probe !== undefined && !probe.startsWith('select 1 limit '))
    return undefined;
  return REFUSED_ARGUMENT[number];
}

/** What is wrong with the values of a probe, by the rows of SHOW WARNINGS. Notes are harmless. */
export function mistakeOfWarnings(
  warnings: readonly Readonly<Record<string, unknown>>[],
): string | undefined {
  const [mistake] = warnings.flatMap(({ Level, Code, Message }) =>
    Level === 'Warning' && !CUT.test(String(Message)) ? (MISREAD[Number(Code)] ?? []) : [],
  );
  return mistake;
}

export function isTooLong(error: unknown): boolean {
  return numberOf(error) === TOO_LONG;
}

export function isPatternOfSearch(error: unknown): boolean {
  return numberOf(error) === NO_SYNTAX;
}

/** The character sets, other than that of parameters, into which the server could not convert a text. */
export function charactersRefused(error: unknown): readonly string[] {
  if (!NO_CHARACTER_SET.has(numberOf(error) ?? 0)) return [];
  // The names follow the text itself, which MySQL quotes.
  const words = (asServerError(error)?.message ?? '').split("'").at(numberOf(error) === 3854 ? -1 : 0) ?? '';
  const sets = [...words.matchAll(/\bto ([a-z0-9]+)$|\b([a-z0-9]+)_[a-z0-9_]+/g)];
  const names = sets.map(([, set, ofCollation]) => set ?? ofCollation ?? '');
  return [...new Set(names)].filter((name) => name !== 'utf8mb4');
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
    remedy: grantFor(cause),
    sqlState: sqlStateOf(cause),
  });
}

/** The GRANT for an account that the server knows but refuses the database. */
function grantFor(cause: unknown): string | undefined {
  if (numberOf(cause) !== NO_DATABASE) return undefined;
  // Every language of the server quotes the account with its host pattern, and the database.
  const [, user, host, database] =
    /'(.*)'@'([^']*)'.*'(.*)'/s.exec(asServerError(cause)?.message ?? '') ?? [];
  if (user === undefined || host === undefined || database === undefined) return undefined;
  return `GRANT SELECT ON ${quoted(asPattern(database))}.* TO ${quoted(user)}@${quoted(host)}`;
}

function adviceFor(cause: unknown): string {
  const number = numberOf(cause) ?? 0;
  if (TOO_MANY.has(number)) {
    return 'it has no connection left for this account: check max_connections here and there';
  }
  if (number === 1045 || number === 1698) return 'it refuses the login: check user and password';
  if (number === NO_DATABASE || number === 1049) {
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
  // The library replaces the code of the TLS library with its own.
  return code === 'HANDSHAKE_SSL_ERROR' && /certificate|altnames/.test(message);
}
