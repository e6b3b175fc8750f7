import { constantStatement, type Statement } from './flight.ts';

/** What a transaction is told before its query runs. */
export interface TransactionSettings {
  readonly timeoutMs: number;
  readonly searchPath: string;
  readonly apiKeyName: string;
  readonly capability: string;
  readonly requestId: string;
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

const CALLS = SETTINGS.map(([name, value]) => `pg_catalog.set_config('${name}', ${value}, true)`);
// In one column, since each column costs both sides a description.
const TEXT = `select pg_catalog.concat(${CALLS.join(', ')})`;

export const BEGIN: Statement = constantStatement('svc/begin', 'begin transaction read only');
export const ROLLBACK: Statement = constantStatement('svc/rollback', 'rollback');

/** All settings end with the transaction, so nothing stays on a connection that a pooler lends on. */
export function applySettings(settings: TransactionSettings): Statement {
  // The server reads 0 as "no limit".
  const timeout = Math.max(Math.ceil(settings.timeoutMs), 1);
  return {
    name: 'svc/settings',
    text: TEXT,
    values: [
      String(timeout),
      settings.searchPath,
      settings.apiKeyName,
      settings.capability,
      settings.requestId,
    ],
  };
}
