import type { BoundParam } from './prepared-query.ts';
import { sqlStateOf } from '../connection/server-errors.ts';
import type { Statement } from '../connection/pipeline.ts';
import type { SessionPool } from '../pool/session-pool.ts';
import type { TimeLimit } from '../../sessions/wait-queue.ts';
import { attribution, runTransaction, type Transaction } from './transaction.ts';

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
    const session = await pool.acquire(left);
    const statements = probes.map(({ statement }) => ({
      ...statement,
      text: `${attribution(settings.capability)}${statement.text}`,
    }));
    const done = await runTransaction(pool, session, { settings, statements }, left);
    const at = done.results.length;
    const failed = probes[at];
    // Anything but a refusal leaves the rest undecided.
    if (!done.begun || done.stopped !== undefined || failed === undefined || !mayBeInputError(done.error))
      break;
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
