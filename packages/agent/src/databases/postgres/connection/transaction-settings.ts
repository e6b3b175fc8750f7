import { constantStatement, type Statement } from './pipeline.ts';

/** What a transaction is told before its query runs. */
export interface TransactionSettings {
  readonly timeoutMs: number;
  readonly searchPath: string;
  readonly apiKeyName: string;
  readonly capability: string;
  readonly requestId: string;
  /** Whether the server takes `WATCH`: see `SessionFacts`. */
  readonly checksClient: boolean;
}

const SETTINGS = [
  ['statement_timeout', '$1'],
  ['lock_timeout', '$1'],
  ['idle_in_transaction_session_timeout', '$1'],
  ['search_path', '$2'],
  ['client_encoding', "'UTF8'"],
  // An account may have fewer digits than tell one number from the next.
  ['extra_float_digits', "'1'"],
  ['svc.api_key_name', '$3'],
  ['svc.capability', '$4'],
  ['svc.request_id', '$5'],
] as const;

const CALLS = SETTINGS.map(([name, value]) => setConfig(name, value));
/** Makes the server end a query whose client is gone, as when the agent was killed: it looks once a second. */
const WATCH = setConfig('client_connection_check_interval', "'1s'");
const PLAIN = { name: 'svc/settings', text: apply(CALLS) };
const WATCHED = { name: 'svc/settings', text: apply([...CALLS, WATCH]) };

/** A row where the server takes `WATCH`; none before PostgreSQL 14, an error where the system cannot tell. */
export const TRY_WATCH: string = `select ${WATCH} from pg_catalog.pg_settings where name = 'client_connection_check_interval'`;

/**
 * Parsed each time: a function that the SQL calls can DEALLOCATE a name and PREPARE something else under it, and then the
 * next call on the connection would not be READ ONLY. Under the other names only reading can be put, once this has run.
 */
export const BEGIN: Statement = constantStatement('begin transaction read only');
export const ROLLBACK: Statement = constantStatement('rollback', 'svc/rollback');

/** Advisory locks of the session, which a function may have taken, outlive a rollback; this gives them back. */
export const RELEASE_LOCKS = 'pg_catalog.pg_advisory_unlock_all()';
/** Parsed each time: it is seldom sent. */
export const UNLOCK: Statement = { text: `select ${RELEASE_LOCKS}` };

/** All settings end with the transaction, so nothing stays on a connection that a pooler gives to another client. */
export function applySettings(settings: TransactionSettings): Statement {
  // The server reads 0 as "no limit".
  const timeout = Math.max(Math.ceil(settings.timeoutMs), 1);
  return {
    values: [
      String(timeout),
      settings.searchPath,
      settings.apiKeyName,
      settings.capability,
      settings.requestId,
    ],
    ...(settings.checksClient ? WATCHED : PLAIN),
  };
}

function setConfig(name: string, value: string): string {
  return `pg_catalog.set_config('${name}', ${value}, true)`;
}

/** Yields no row, which each side would have to write or read. */
function apply(calls: readonly string[]): string {
  return `select where pg_catalog.concat(${calls.join(', ')}) is null`;
}
