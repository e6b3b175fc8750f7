import type { CapabilityLimits, Param } from '../../capabilities/model.ts';
import { hasLongItem, jsonOf } from '../../capabilities/values/bound-value.ts';
import type { Database, PreparedCapability, Query, QueryCall, QueryResult } from '../driver/driver.ts';
import { DatabaseError, type DatabaseErrorKind } from '../driver/errors.ts';
import { answerMaxBytes } from '../sessions/answer-bounds.ts';
import type { Pool } from '../sessions/pool.ts';
import { faultError } from '../sql/probes/fault-error.ts';
import { callerValue } from '../sql/caller-variables.ts';
import { requireSigned } from '../sql/signed-integer.ts';
import { utcText } from '../sql/utc-text.ts';
import type { RunQuestion } from './engine-questions.ts';
import { RefusedQuery, type EngineSession } from './engine-session.ts';

/** A verified capability as plain data. */
export interface EngineQuery<
  Definition extends LimitedDefinition = LimitedDefinition,
> extends PreparedCapability {
  /** What the process has to know about it. */
  readonly definition: Definition;
  /** In the order of their numbers in the SQL, including those that name the caller. */
  readonly params: readonly EngineParam[];
}

export interface EngineParam extends Param {
  /** IN compares each of its items. */
  readonly isList?: true;
}

interface LimitedDefinition {
  readonly limits: Pick<CapabilityLimits, 'maxBytes'>;
}

/** The most digits after the seconds of a time. */
const MOST_DIGITS = 9;
/** Queries that lately took less may share a process with other such calls. */
const SHORT_MS = 1;
/** The weight of the last run in the average. */
const WEIGHT = 0.2;
/** Calls without an answer by then are run again alone: one of those that share the process is not short this time. */
const SHARED_MS = 100;
/** How long to wait for a cancelled call, since killing its process would end its neighbours. */
const GRACE_MS = 50;
/** A call that ran longer in a process that ended may have ended it, and is not run again. */
const RUN_AGAIN_MS = 5000;

export interface EngineRules {
  /** Several short calls may be on a session at once. */
  readonly sharesShort: boolean;
  /** Integers above 2^63-1 are bound as integers. */
  readonly hasUnsigned: boolean;
}

/** The processes know queries by numbers. */
export function createQueries(
  pool: Pool<EngineSession>,
  rules: EngineRules,
): Pick<Database, 'prepare' | 'forget'> {
  const numbers = new Map<Query, number>();
  const live = new Set<number>();
  let last = 0;
  return {
    prepare(verified: EngineQuery) {
      last += 1;
      const number = last;
      live.add(number);
      const known: KnownQuery = { number, verified, averageMs: Infinity };
      const query: Query = { run: (call) => run(pool, live, known, call, rules) };
      numbers.set(query, number);
      return query;
    },
    forget(query) {
      const number = numbers.get(query);
      if (number !== undefined) live.delete(number);
      numbers.delete(query);
    },
  };
}

interface KnownQuery {
  readonly number: number;
  readonly verified: EngineQuery;
  /** The average time of its runs, weighted towards the last ones. */
  averageMs: number;
}

async function run(
  pool: Pool<EngineSession>,
  live: ReadonlySet<number>,
  query: KnownQuery,
  call: QueryCall,
  { sharesShort, hasUnsigned }: EngineRules,
): Promise<QueryResult> {
  const { number, verified } = query;
  const startedAt = performance.now();
  const deadline = startedAt + call.timeoutMs;
  const { signal, share } = call;
  const values = verified.params.map((param) => valueOf(param, verified.capability, call, hasUnsigned));
  const mostBytes = answerMaxBytes(verified.definition.limits.maxBytes);
  let isAlone = false;
  for (;;) {
    const isShared = sharesShort && !isAlone && query.averageMs < SHORT_MS;
    const waiting = { signal, share, timeoutMs: deadline - performance.now() };
    const session = await pool.acquire(waiting, isShared ? 0 : undefined);
    const askedAt = performance.now();
    if (signal.aborted) {
      // The process must not count as informed about a query that it was never asked.
      pool.release(session);
      throw new DatabaseError('cancelled', 'cancelled before it began');
    }
    try {
      const leftMs = deadline - askedAt;
      const limit = isShared
        ? { signal, timeoutMs: Math.min(leftMs, SHARED_MS), graceMs: GRACE_MS, mostBytes }
        : { signal, timeoutMs: leftMs, mostBytes };
      const result = await session.run({ ...introduce(session, live, query), query: number, values }, limit);
      pool.release(session);
      tookMs(query, result.ms);
      return result;
    } catch (error) {
      const isLost = kindOf(error) === 'unavailable' || !session.isUsable;
      if (isLost) pool.discard(session);
      else pool.release(session);
      const isDue = signal.aborted || performance.now() >= deadline;
      if (isShared && !isDue && (isLost || kindOf(error) === 'timeout')) isAlone = true;
      else if (!mayRunAgain(error, session, startedAt, askedAt)) throw toDatabaseError(error, verified);
    }
  }
}

/** What a process is told with the first call of a query. */
function introduce(
  { known }: EngineSession,
  live: ReadonlySet<number>,
  { number, verified }: KnownQuery,
): Pick<RunQuestion, 'definition' | 'forget'> {
  if (known.has(number)) return {};
  const forget = [...known].filter((each) => !live.has(each));
  for (const each of forget) known.delete(each);
  known.add(number);
  return { definition: verified.definition, forget };
}

function tookMs(query: KnownQuery, ms: number): void {
  const { averageMs } = query;
  query.averageMs = averageMs === Infinity ? ms : averageMs + (ms - averageMs) * WEIGHT;
}

/** Whether the process had probably ended before it was asked. One started for this call had not. */
function mayRunAgain(error: unknown, session: EngineSession, startedAt: number, askedAt: number): boolean {
  return (
    kindOf(error) === 'unavailable' &&
    session.madeAt < startedAt &&
    performance.now() - askedAt < RUN_AGAIN_MS
  );
}

function valueOf(param: EngineParam, capability: string, call: QueryCall, hasUnsigned: boolean): unknown {
  const { name, schema, isList } = param;
  const { values } = call;
  const value =
    callerValue(name, call, capability) ?? (Object.hasOwn(values, name) ? values[name] : undefined) ?? null;
  const isLong = hasLongItem(schema, value);
  if (!hasUnsigned && (isLong || typeof value === 'string')) requireSigned(param, value);
  if (schema.type === 'datetime') return timeText(param, value);
  if (isList === true && schema.items?.type === 'datetime' && Array.isArray(value)) {
    return value.map((item: unknown) => timeText(param, item));
  }
  // The process knows lists only by the type `array`.
  return isLong ? jsonOf(schema, value) : value;
}

function timeText(param: Param, value: unknown): unknown {
  return typeof value === 'string' ? utcText(param, value, MOST_DIGITS) : value;
}

/** Names the parameters whose values the engine refuses. */
function toDatabaseError(error: unknown, { params }: EngineQuery): unknown {
  return error instanceof RefusedQuery ? (faultError(error.faults, params, error.message) ?? error) : error;
}

function kindOf(error: unknown): DatabaseErrorKind | undefined {
  return error instanceof DatabaseError ? error.kind : undefined;
}
