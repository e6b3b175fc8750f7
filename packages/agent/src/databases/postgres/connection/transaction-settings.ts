import type { CallerSettings } from '../../driver/driver.ts';
import { textArray } from '../dialect/text-array.ts';
import { constantStatement, type Rows, type Statement } from './statement.ts';
import type { GuardedRelation, UnitResult } from './unit.ts';

/** What a transaction is told before its query runs. */
export interface TransactionSettings {
  readonly timeoutMs: number;
  readonly searchPath: string;
  readonly apiKeyName: string;
  readonly capability: string;
  readonly requestId: string;
  /** Undefined where the agent does not ask who calls, and for its own statements. */
  readonly caller?: CallerSettings | undefined;
  /** Whether the server takes `WATCH`: see `SessionFacts`. */
  readonly checksClient: boolean;
  /** Whether the session has `SESSION_SETTINGS`: see `SessionFacts`. */
  readonly keepsSettings: boolean;
  /** Whether its statement is planned for its values at each call: see `PLAN_EACH`. */
  readonly plansEach: boolean;
}

const TOLD = [
  setConfig('statement_timeout', '$1'),
  setConfig('lock_timeout', '$1'),
  setConfig('idle_in_transaction_session_timeout', '$1'),
  setConfig('search_path', '$2'),
  setConfig('client_encoding', "'UTF8'"),
  // An account may have fewer digits than tell one number from the next.
  setConfig('extra_float_digits', "'1'"),
  ...numbered(['svc.api_key_name', 'svc.capability', 'svc.request_id'], 3),
];
/** What is still told on a session that has `SESSION_SETTINGS`. */
const DIFFERING = [
  setConfig('statement_timeout', '$1'),
  ...numbered(['svc.api_key_name', 'svc.capability', 'svc.request_id'], 2),
];
const CHECK_INTERVAL = 'client_connection_check_interval';
/** Makes the server end a query whose client is gone, as when the agent was killed: it looks once a second. */
const WATCH = setConfig(CHECK_INTERVAL, "'1s'");

/**
 * A plan for any values takes a range for a small part of the table, and so may read the whole of it where a filter with
 * these values finds a few rows.
 */
const PLAN_EACH = setConfig('plan_cache_mode', "'force_custom_plan'");

const OF_CALLER = ['svc.subject', 'svc.issuer', 'svc.client_id', 'svc.claims'];
const PLAIN = textsOf('svc/settings', []);
const WITH_CALLER = textsOf('svc/settings-caller', OF_CALLER);
const PLANNED = textsOf('svc/settings-planned', [], [PLAN_EACH]);
const PLANNED_WITH_CALLER = textsOf('svc/settings-caller-planned', OF_CALLER, [PLAN_EACH]);

/** The statements that apply the settings, with the parameters that say who calls behind the others. */
function textsOf(
  name: string,
  caller: readonly string[],
  more: readonly string[] = [],
): Readonly<Record<'name' | 'all' | 'watched' | 'kept', string>> {
  const all = [...TOLD, ...numbered(caller, 6), ...more];
  return {
    name,
    all: apply(all),
    watched: apply([...all, WATCH]),
    kept: apply([...DIFFERING, ...numbered(caller, 5), ...more]),
  };
}

/** A row if the server takes `WATCH`; none before PostgreSQL 14, an error if the system cannot tell. */
export const TRY_WATCH: string = `select ${WATCH} from pg_catalog.pg_settings where name operator(pg_catalog.=) '${CHECK_INTERVAL}'`;

/**
 * What is the same for every transaction, with its value in SQL and as the server then shows it. What a query's function
 * changes, even for the session, ends with the rollback. Without these, what the account has by default would hold.
 */
const SESSION_SETTINGS = [
  // statement_timeout ends a query that waits for a lock, too; an account may have a limit that is shorter.
  ['lock_timeout', "'0'", '0'],
  // Meant for an agent that is lost before it has sent the end of a transaction.
  ['idle_in_transaction_session_timeout', "'30s'", '30s'],
  ['search_path', current('search_path'), undefined],
  ['client_encoding', "'UTF8'", 'UTF8'],
  ['extra_float_digits', "'1'", '1'],
] as const;

/** If this is false, the connection is a pooler's, which would give the session with its settings to other clients. */
const IS_KEY_PROCESS = 'pg_catalog.pg_backend_pid() operator(pg_catalog.=) $1::pg_catalog.int4';

const KEEP = `select ${SESSION_SETTINGS.map(([name, value]) => setConfig(name, value, false)).join(', ')} where ${IS_KEY_PROCESS}`;
const KEEP_WATCH = `select ${setConfig(CHECK_INTERVAL, "'1s'", false)} where ${IS_KEY_PROCESS} and ${current(CHECK_INTERVAL)} is not null`;
const SHOW_KEPT = `select ${[...SESSION_SETTINGS.map(([name]) => current(name)), current(CHECK_INTERVAL)].join(', ')} where ${IS_KEY_PROCESS}`;

/**
 * Three units. They set `SESSION_SETTINGS` if the server process is the one that the connection's cancel key names, and
 * show in a transaction, as calls have, whether the settings hold there and the process is the same: see `isKept`.
 */
export function keepSettings(keyProcessId: number | undefined): readonly (readonly Statement[])[] {
  const values = [keyProcessId === undefined ? null : String(keyProcessId)];
  return [
    [{ text: KEEP, values }],
    // In a unit of its own: see `TRY_WATCH`.
    [{ text: KEEP_WATCH, values }],
    [BEGIN, { text: SHOW_KEPT, values }, { text: ROLLBACK.text }],
  ];
}

/** Whether the last of the units of `keepSettings` has shown that a transaction need not be told of `SESSION_SETTINGS`. */
export function isKept(
  unit: UnitResult | undefined,
  { searchPath, checksClient }: Pick<TransactionSettings, 'searchPath' | 'checksClient'>,
): boolean {
  const shown = unit?.results[1]?.rows[0];
  if (shown === undefined || unit?.idle !== true) return false;
  const expected = SESSION_SETTINGS.map(([, , value]) => value ?? searchPath);
  const isWatched = !checksClient || shown[expected.length] === '1s';
  return isWatched && expected.every((value, index) => shown[index] === value);
}

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

/** Nothing that is not PostgreSQL's own is found by its name alone. */
const PINNED_PATH = 'pg_catalog, pg_temp';
const SHARED = [setConfig('statement_timeout', '$1'), setConfig('search_path', `'${PINNED_PATH}'`)];
const SHARE = { name: 'svc/shared', text: apply(SHARED) };
const SHARE_PLANNED = { name: 'svc/shared-planned', text: apply([...SHARED, PLAN_EACH]) };

/** The settings of a transaction that several calls share, on a session that has `SESSION_SETTINGS`. No caller is named. */
export function shareSettings(timeoutMs: number, plansEach: boolean): Statement {
  const values = [String(Math.max(Math.ceil(timeoutMs), 1))];
  return { ...(plansEach ? SHARE_PLANNED : SHARE), values };
}

const IS_TRIPPED = `pg_catalog.row_security_active(g.oid) or pg_catalog.pg_relation_filenode(g.oid) is null
    or not coalesce(pg_catalog.to_regclass(g.name)::pg_catalog.oid operator(pg_catalog.=) g.oid, false)
    or pg_catalog.to_regclass(g.earlier) is not null`;
const GUARD = `select ${current('search_path')}, (select pg_catalog.string_agg(g.oid::pg_catalog.text, ',')
    from rows from (pg_catalog.unnest($1::pg_catalog.oid[]), pg_catalog.unnest($2::pg_catalog.text[]),
      pg_catalog.unnest($3::pg_catalog.text[])) g (oid, name, earlier)
    where ${IS_TRIPPED})`;
const GUARD_UNLOCKING = `${GUARD}, ${RELEASE_LOCKS}`;

/**
 * Goes last in a shared transaction, and gives back locks. It finds the relations for which row-level security holds now,
 * or which are no tables any more, or whose names find others now, on the account's search path too: then what has run may
 * have seen who calls, or read another table than an own transaction would. It also shows whether a function has turned the search path.
 */
export function guardStatement(relations: readonly GuardedRelation[], unlocks: boolean): Statement {
  const rows = relations.flatMap(({ oid, name, earlier: [first = null, ...others] }) =>
    [first, ...others].map((earlier) => ({ oid, name, earlier })),
  );
  const values = [
    `{${rows.map(({ oid }) => oid).join(',')}}`,
    textArray(rows.map(({ name }) => name)),
    textArray(rows.map(({ earlier }) => earlier)),
  ];
  return { name: 'svc/guard', text: unlocks ? GUARD_UNLOCKING : GUARD, values };
}

/** The oids of relations that tripped the guard, `unknown` if the search path did, undefined if nothing did. */
export function trippedIn({ rows }: Rows): readonly string[] | 'unknown' | undefined {
  const [path, oids] = rows[0] ?? [];
  if (path !== PINNED_PATH) return 'unknown';
  return typeof oids === 'string' ? oids.split(',') : undefined;
}

/** What is set here ends with the transaction, so nothing stays on a connection that a pooler gives to another client. */
export function applySettings(settings: TransactionSettings): Statement {
  const { searchPath, apiKeyName, capability, requestId, caller, keepsSettings } = settings;
  const [usual, planned] = caller === undefined ? [PLAIN, PLANNED] : [WITH_CALLER, PLANNED_WITH_CALLER];
  const texts = settings.plansEach ? planned : usual;
  const text = keepsSettings ? texts.kept : settings.checksClient ? texts.watched : texts.all;
  // The server reads 0 as "no limit".
  const values = [String(Math.max(Math.ceil(settings.timeoutMs), 1))];
  if (!keepsSettings) values.push(searchPath);
  values.push(apiKeyName, capability, requestId);
  if (caller !== undefined) values.push(caller.subject, caller.issuer, caller.clientId, caller.claimsJson);
  return { name: texts.name, text, values };
}

/** Sets each of these to a parameter, the first one to `$first`. */
function numbered(names: readonly string[], first: number): readonly string[] {
  return names.map((name, index) => setConfig(name, `$${first + index}`));
}

function setConfig(name: string, value: string, isLocal: boolean = true): string {
  return `pg_catalog.set_config('${name}', ${value}, ${isLocal})`;
}

/** Null where the server has no setting of that name. */
function current(name: string): string {
  return `pg_catalog.current_setting('${name}', true)`;
}

/** Yields no row, which each side would have to write or read. */
function apply(calls: readonly string[]): string {
  return `select where pg_catalog.concat(${calls.join(', ')}) is null`;
}
