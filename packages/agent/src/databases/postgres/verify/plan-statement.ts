import { randomBytes } from 'node:crypto';
import pg from 'pg';
import type { Capability } from '../../../capabilities/model.ts';
import { DatabaseError, type VerificationFault } from '../../driver/errors.ts';
import { runOwnStatements, type OwnOutput } from '../execute/own-statements.ts';
import type { PreparedQuery } from '../execute/prepared-query.ts';
import { INSUFFICIENT_PRIVILEGE, QUERY_CANCELED, sqlStateOf, textOf } from '../connection/server-errors.ts';
import type { Rows, Statement } from '../connection/statement.ts';
import type { SessionPool } from '../pool/session-pool.ts';
import { faultAt } from '../../sql/fault-at.ts';

export type Refusal = {
  readonly ok: false;
  readonly faults: readonly VerificationFault[];
  /** The server's reason, if it was the server. */
  readonly sqlState?: string | undefined;
};

/** `error` is what the server sent, if it was the server that refused. */
export type RefusedStep = Refusal & { readonly error?: unknown };
type Step = { readonly ok: true; readonly output: OwnOutput } | RefusedStep;

/** Planning runs functions that the SQL calls with constants, so even that is bounded. */
export const STEP_TIMEOUT_MS = 10_000;

export function refused(
  capability: Capability,
  message: string,
  said: Pick<VerificationFault, 'detail' | 'hint'> = {},
): Refusal {
  return { ok: false, faults: [faultAt(capability, { message, ...said })] };
}

/** Adds what the server said beside its message when it refused to prepare `text`. */
export function withHint({ faults, ...rest }: RefusedStep, text: string): RefusedStep {
  const offset = offsetOf(rest.error, text);
  const line = Buffer.from(text).subarray(0, offset).toString().split('\n').length;
  const told = [
    ...(Number.isNaN(offset) ? [] : [`line ${line} of the SQL`]),
    ...(rest.error instanceof pg.DatabaseError && rest.error.hint !== undefined ? [rest.error.hint] : []),
  ];
  if (told.length === 0) return { ...rest, faults };
  return { ...rest, faults: faults.map((fault) => ({ ...fault, hint: told.join('; ') })) };
}

/** A rollback does not undo PREPARE, so a name used twice on a session would fail. */
export function preparedName(): string {
  return `svc_verify_${randomBytes(8).toString('hex')}`;
}

/**
 * The plan for any values: prepares the statement and explains it as a generic plan. It is deallocated in the same
 * transaction, since a rollback does not undo PREPARE and behind a pooler the next transaction may run elsewhere.
 */
export function explain(
  text: string,
  parameters: number,
  options = 'verbose, format json',
): readonly Statement[] {
  const name = preparedName();
  const nulls = parameters === 0 ? '' : `(${Array.from({ length: parameters }, () => 'null').join(', ')})`;
  return [
    { text: "select pg_catalog.set_config('plan_cache_mode', 'force_generic_plan', true)" },
    { text: prepare(text, name) },
    { text: `explain (${options}) execute ${name}${nulls}` },
    { text: `deallocate ${name}` },
  ];
}

/**
 * Asks the planner whether anything in a statement is volatile: function, operator or cast, in views and policies too.
 * No name tells which operator it is. PostgreSQL 12 and later merges a WITH query that is used once into the statement
 * unless the query is volatile.
 */
export function askVolatile(
  text: string,
  parameters: number,
): {
  readonly statements: readonly Statement[];
  readonly isVolatile: (results: readonly Rows[]) => boolean;
} {
  const name = preparedName();
  return {
    statements: explain(`with ${name} as (\n${text}\n) select * from ${name}`, parameters),
    isVolatile: (results) => results[2]?.rows[0]?.[0]?.includes(`"CTE ${name}"`) ?? true,
  };
}

/** Where in `text`, in bytes, the server found the error; NaN if it did not say. */
export function offsetOf(error: unknown, text: string): number {
  // The server counts characters, from 1.
  const position = error instanceof pg.DatabaseError ? Number(error.position) : Number.NaN;
  const before = Array.from(text).slice(0, position - 1 - prepare('', preparedName()).length);
  return Number.isNaN(position) ? position : Buffer.byteLength(before.join(''));
}

/** The server analyses it, and does not plan it. */
export function prepareOnly(
  text: string,
  name: string = preparedName(),
): readonly [prepare: Statement, deallocate: Statement] {
  return [{ text: prepare(text, name) }, { text: `deallocate ${name}` }];
}

function prepare(text: string, name: string): string {
  return `prepare ${name} as ${text}`;
}

/** Throws `DatabaseError` only when the database cannot be asked. */
export async function step(
  pool: SessionPool,
  capability: Capability,
  statements: readonly Statement[],
): Promise<Step> {
  try {
    const own = { statements, capability: capability.name, timeoutMs: STEP_TIMEOUT_MS };
    return { ok: true, output: await runOwnStatements(pool, own) };
  } catch (error) {
    return refusedByDatabase(capability, error);
  }
}

/** The plan of what runs for a call, whatever its parameters, as the server writes it. Nothing runs. */
export async function showPlan(
  pool: SessionPool,
  { capability, own: { prefix }, params }: PreparedQuery,
): Promise<readonly string[]> {
  const bound = params.filter(({ ofCursor }) => ofCursor === undefined);
  const statements = explain(prefix, bound.length, 'format text');
  const { results } = await runOwnStatements(pool, { statements, capability, timeoutMs: STEP_TIMEOUT_MS });
  return (results[2]?.rows ?? []).map(([line]) => line ?? '');
}

/** Rethrows what is not the database's refusal of a statement. */
export function refusedByDatabase(capability: Capability, error: unknown): RefusedStep {
  if (!(error instanceof DatabaseError) || error.kind === 'unavailable') throw error;
  return {
    ...refused(capability, publicMessage(error.cause), { detail: textOf(error) }),
    error: error.cause,
    sqlState: sqlStateOf(error.cause),
  };
}

/**
 * What to do about the server's refusal, without its words, which may quote the SQL. `name` is the parameter, if that is
 * known.
 */
export function publicMessage(error: unknown, name?: string): string {
  const state = sqlStateOf(error);
  const hint = state === undefined ? undefined : HINTS[state];
  const why = name === undefined ? hint : hint?.replaceAll(':name', `:${name}`);
  return refusalMessage(why ?? `SQLSTATE ${state ?? 'unknown'}`);
}

export function refusalMessage(why: string): string {
  return `is refused by the database (${why})`;
}

const POOLER =
  'a pooler in between loses prepared statements: PgBouncer needs 1.21 or later with max_prepared_statements above 0';

const HINTS: Readonly<Record<string, string>> = {
  [QUERY_CANCELED]: `planning it takes more than ${STEP_TIMEOUT_MS / 1000} s`,
  '25006': 'it writes or locks rows',
  '26000': POOLER,
  '42P05': POOLER,
  [INSUFFICIENT_PRIVILEGE]: 'the account may not read something that it names',
  '42601': 'it is not valid SQL for this server',
  '42702': 'a column name is ambiguous',
  '42703': 'a column does not exist',
  '42725': 'a function or operator fits in several ways: cast the parameter :name, as in :name::integer',
  '42804': 'types do not fit: cast the parameter :name, as in :name::integer',
  '42883':
    'a function or operator does not exist for the types given: cast the parameter :name to what it takes, as in :name::integer',
  '42P01': 'a table or view does not exist, or is not on the search path',
  '3F000': 'a schema does not exist',
};
