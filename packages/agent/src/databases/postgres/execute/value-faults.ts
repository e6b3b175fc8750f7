import { DatabaseError } from '../../driver/errors.ts';
import type { TimeLimit } from '../../sessions/wait-queue.ts';
import { ProvenFaults, type ValueFault } from '../../sql/probes/proven-faults.ts';
import type { Statement } from '../connection/statement.ts';
import { sqlStateOf } from '../connection/server-errors.ts';
import type { SessionPool } from '../pool/session-pool.ts';
import { bindValue } from './bind-values.ts';
import type { BoundParam, PreparedQuery } from './prepared-query.ts';
import { attribution, runTransaction, type Transaction, type TransactionResult } from './transaction.ts';

/**
 * Data exceptions, violated constraints of a domain, exceeded limits, and the errors of input functions with a grammar
 * of their own (jsonpath, tsquery) or a user's domain.
 */
const INPUT_ERROR = /^(?:22|23|54|42601$|P0001$)/;
/** Each round finds one refused value. Without a limit a refused call could cost many times as much as another. */
const MAX_ROUNDS = 10;
const MAX_STATEMENTS = 500;

/** Whether an error may come from converting a value. */
export function mayBeInputError(error: unknown): boolean {
  return INPUT_ERROR.test(sqlStateOf(error) ?? '');
}

interface RefusedValue {
  readonly index: number;
  /** What it must be, without the value or a name of the database's own making. */
  readonly problem: string;
}

interface RefusedValues {
  readonly refused: readonly RefusedValue[];
  /** False if there may be more: they are looked for up to a limit. */
  readonly complete: boolean;
}

interface Probe extends RefusedValue {
  readonly statement: Statement;
  /** A cast of the author's own, to which the query may not have come. */
  readonly isWritten: boolean;
}

/**
 * The values that the database does not take as what their parameters are bound as. Each is cast alone, so an error
 * cannot be that of the query. With the `failure` of a query, also those that fail in the same way in a cast that the
 * SQL itself has on the parameter. Throws `DatabaseError` when no connection is free in time.
 */
export async function refusedValues(
  pool: SessionPool,
  settings: Transaction['settings'],
  values: readonly { readonly param: BoundParam; readonly text: string | null }[],
  limit: TimeLimit,
  failure?: unknown,
): Promise<RefusedValues> {
  const deadline = performance.now() + limit.timeoutMs;
  const refused: RefusedValue[] = [];
  let probes = values.flatMap(({ param, text }, index) =>
    probesOf(param, text, index, failure !== undefined),
  );
  let sent = 0;
  for (let rounds = 0; probes.length > 0; rounds += 1) {
    const left = { ...limit, timeoutMs: deadline - performance.now() };
    const isOver = rounds === MAX_ROUNDS || (rounds > 0 && sent + probes.length > MAX_STATEMENTS);
    if (isOver || left.timeoutMs <= 0) return { refused, complete: false };
    sent += probes.length;
    const statements = probes.map(({ statement }) => statement);
    const done = await runAlone(pool, settings, statements, left);
    const at = done?.results.length ?? 0;
    const failed = probes[at];
    // Anything but a refusal leaves the rest undecided.
    if (done === undefined || failed === undefined || !mayBeInputError(done.error)) break;
    const isAtFault = !failed.isWritten || sqlStateOf(done.error) === sqlStateOf(failure);
    if (isAtFault) refused.push({ index: failed.index, problem: failed.problem });
    probes = probes.slice(at + 1).filter(({ index }) => !isAtFault || index !== failed.index);
  }
  return { refused, complete: true };
}

function probesOf(param: BoundParam, text: string | null, index: number, withWritten: boolean): Probe[] {
  const probe = (casts: readonly string[], title: string | undefined, isWritten: boolean): Probe => ({
    index,
    problem: mustBe(param, title),
    statement: {
      text: `select ${casts.map((cast) => `($1::${cast}) is null`).join(', ')}`,
      values: [text],
    },
    isWritten,
  });
  const own = probe(param.casts, param.type?.title, false);
  if (!withWritten) return [own];
  return [own, ...param.written.map(({ cast, title }) => probe([cast], title, true))];
}

function mustBe({ param }: BoundParam, title: string | undefined): string {
  if (title === undefined) return 'must be a value that the database takes';
  return param.schema.type === 'array'
    ? `every item must be a valid ${title.replace(/\[\]$/, '')}`
    : `must be a valid ${title}`;
}

/** SQLSTATEs by which functions and clauses refuse an argument: another value may pass. */
const REFUSED_ARGUMENT: Readonly<Record<string, string>> = {
  '2201W': 'a row count must not be negative',
  '2201X': 'a row offset must not be negative',
  '2202G': 'the seed of a sample must not be null',
  '2202H': 'the size of a sample is out of range',
  '22007': 'it is no valid date or time',
  '22008': 'a date or time is out of range',
  '22009': 'it is no valid time zone',
  '22023': 'it is no value that the query takes',
};

function reasonOf(state: string): string {
  if (state === '2201B') return 'it is no valid regular expression';
  return REFUSED_ARGUMENT[state] ?? 'it is no value that the query takes';
}

/** What a caller is told to change if the query failed by a value that each parameter alone took. */
export function callersMistake(state: string | undefined, params: readonly string[]): string | undefined {
  const reason = state === undefined ? undefined : REFUSED_ARGUMENT[state];
  return reason === undefined || params.length === 0 ? undefined : `${params.join(', ')}: ${reason}`;
}

/** Data exceptions other than overflow and division by zero, which are the query's, and the errors of XPath and tsquery. */
const REFUSED_VALUE = /^(?:10608|22(?!003|012)...|42601)$/;

/** The values that a function or an operator of the SQL refuses by themselves in the way in which the query has failed. */
export async function provenValues(
  pool: SessionPool,
  settings: Transaction['settings'],
  { probes, params }: PreparedQuery,
  valueOf: (name: string) => unknown,
  limit: TimeLimit,
  failure: unknown,
): Promise<readonly ValueFault[]> {
  const state = sqlStateOf(failure) ?? '';
  const faults = new ProvenFaults();
  if (!REFUSED_VALUE.test(state)) return [];
  const deadline = performance.now() + limit.timeoutMs;
  try {
    for (const probe of probes) {
      if (!faults.isOpen(probe)) continue;
      const left = { ...limit, timeoutMs: deadline - performance.now() };
      const values = probe.params.map((index) => {
        const param = params[index]?.param;
        return param === undefined ? null : bindValue(param.schema, valueOf(param.name));
      });
      const done = await runAlone(pool, settings, [{ text: probe.text, values }], left);
      if (done === undefined) break;
      faults.add(probe, sqlStateOf(done.error) === state ? reasonOf(state) : undefined);
    }
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
  }
  return faults.all;
}

/** Runs statements that have nothing of the query but values; undefined if they did not come to an end. */
async function runAlone(
  pool: SessionPool,
  settings: Transaction['settings'],
  statements: readonly Statement[],
  limit: TimeLimit,
): Promise<TransactionResult | undefined> {
  const named = statements.map(({ text, ...rest }) => ({
    ...rest,
    text: `${attribution(settings.capability)}${text}`,
  }));
  const session = await pool.acquire(limit);
  const done = await runTransaction(pool, session, { settings, statements: named }, limit);
  return done.begun && done.stopped === undefined ? done : undefined;
}
