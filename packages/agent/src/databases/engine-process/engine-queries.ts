import { CURSOR_PARAM } from '../../capabilities/clauses.ts';
import type { CapabilityLimits, Param } from '../../capabilities/model.ts';
import { hasLongItem, jsonOf } from '../../capabilities/values/bound-value.ts';
import type { Database, PreparedCapability, Query, QueryCall } from '../driver/driver.ts';
import { choose, cursorOf, foreignCursor, tied, type Chosen, type Texts } from '../clauses/choose.ts';
import { LruMap } from '../clauses/lru-map.ts';
import type { NumberedText } from '../clauses/parts.ts';
import { textOf, type AssembledOrder, type AssembledStatements } from '../clauses/tokens/assembled.ts';
import { DatabaseError, type DatabaseErrorKind } from '../driver/errors.ts';
import { answerMaxBytes } from '../sessions/answer-bounds.ts';
import type { Pool } from '../sessions/pool.ts';
import { faultError } from '../sql/probes/fault-error.ts';
import { callerValue } from '../sql/caller-variables.ts';
import { requireSigned } from '../sql/signed-integer.ts';
import { utcText } from '../sql/utc-text.ts';
import type { Rows, RunQuestion } from './engine-questions.ts';
import { RefusedQuery, type EngineSession } from './engine-session.ts';

/** A verified capability as plain data. */
export interface EngineQuery<
  Definition extends LimitedDefinition = LimitedDefinition,
> extends PreparedCapability {
  /** What the process has to know about it. */
  readonly definition: Definition;
  /** In the order of their numbers in the SQL, including those that name the caller. */
  readonly params: readonly EngineParam[];
  /** Absent if its statement is always the same; else the definition is of the one with all filters. */
  readonly assembled?: AssembledStatements;
}

export interface EngineParam extends Param {
  /** IN compares each of its items. */
  readonly isList?: true;
  /** If it is a value of the cursor: which. */
  readonly ofCursor?: number;
}

export interface LimitedDefinition {
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
/** So many assembled statements of a database are kept: each takes the memory of a process, and there may be thousands. */
const ASSEMBLED_MAX = 32;

export interface EngineRules<Definition extends LimitedDefinition = LimitedDefinition> {
  /** Several short calls may be on a session at once. */
  readonly sharesShort: boolean;
  /** Integers above 2^63-1 are bound as integers. */
  readonly hasUnsigned: boolean;
  /** What stands before the number of a parameter. */
  readonly placeholder: string;
  /** What a process has to know of an assembled statement. */
  readonly define: (whole: Definition, made: MadeStatement) => Definition;
  /** Whether it may be a value of a cursor. */
  isCursorValue(text: string): boolean;
}

/** A statement that was assembled of verified parts. */
interface MadeStatement {
  readonly statement: NumberedText;
  readonly run: NumberedText;
  readonly params: readonly EngineParam[];
  /** Those of the cursor; empty without pages. */
  readonly fields: readonly string[];
}

/** The processes know queries by numbers. */
export function createQueries<Definition extends LimitedDefinition>(
  pool: Pool<EngineSession>,
  rules: EngineRules<Definition>,
): Pick<Database, 'prepare' | 'forget'> {
  const numbers = new Map<Query, number>();
  const live = new Set<number>();
  const assembledOnes = new LruMap<string, KnownQuery>(ASSEMBLED_MAX);
  let last = 0;
  const know = (verified: EngineQuery): KnownQuery => {
    last += 1;
    live.add(last);
    return { number: last, verified, averageMs: Infinity };
  };
  const prepareAssembled = (
    verified: EngineQuery<Definition>,
    assembled: AssembledStatements,
    prefix: string,
  ): Query => ({
    async run(call) {
      const chosen = choose(verified.capability, assembled, call.values);
      if (chosen.after?.some((value) => value !== null && !rules.isCursorValue(value)) === true)
        throw foreignCursor();
      const key = prefix + chosen.key;
      const known = assembledOnes.get(key) ?? know(assembledQuery(verified, assembled, chosen, rules));
      const [, left] = assembledOnes.set(key, known) ?? [];
      if (left !== undefined) live.delete(left.number);
      const { border, ...result } = await run(pool, live, known, call, rules, chosen.after);
      if (border === undefined) return result;
      if (border.isTied) throw tied(chosen);
      const cursor = cursorOf(chosen, border.last);
      return cursor === undefined ? result : { ...result, cursor };
    },
    statementOf: (values) =>
      textOf(choose(verified.capability, assembled, values), 'statement', rules.placeholder).text,
  });
  return {
    prepare(verified: EngineQuery<Definition>) {
      const { assembled } = verified;
      if (assembled !== undefined) {
        last += 1;
        return prepareAssembled(verified, assembled, `${last} `);
      }
      const known = know(verified);
      const query: Query = { run: (call) => run(pool, live, known, call, rules) };
      numbers.set(query, known.number);
      return query;
    },
    forget(query) {
      // Those of an assembled one leave when others take their place.
      const number = numbers.get(query);
      if (number !== undefined) live.delete(number);
      numbers.delete(query);
    },
  };
}

/** One of the verified statements, as if the capability had no other. */
function assembledQuery<Definition extends LimitedDefinition>(
  { assembled: _assembled, ...verified }: EngineQuery<Definition>,
  assembled: AssembledStatements,
  chosen: Chosen<AssembledOrder>,
  { define, placeholder }: Pick<EngineRules<Definition>, 'define' | 'placeholder'>,
): EngineQuery<Definition> {
  const statement = textOf(chosen, 'statement', placeholder);
  const made = textOf(chosen, 'run', placeholder);
  const params = made.params.flatMap((index): readonly EngineParam[] => {
    const param = verified.params[index];
    return [param ?? cursorParam(index - assembled.firstValue)];
  });
  const fields = chosen.order.pages?.fields ?? [];
  const definition = define(verified.definition, { statement, run: made, params, fields });
  return { ...verified, definition, params };
}

function cursorParam(ofCursor: number): EngineParam {
  const position = { line: 1, column: 1 };
  return { name: CURSOR_PARAM, required: false, schema: { type: 'string' }, position, ofCursor };
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
  { sharesShort, hasUnsigned }: Pick<EngineRules, 'sharesShort' | 'hasUnsigned'>,
  after: Texts = [],
): Promise<Rows> {
  const { number, verified } = query;
  const startedAt = performance.now();
  const deadline = startedAt + call.timeoutMs;
  const { signal, share } = call;
  const values = verified.params.map((param) =>
    param.ofCursor === undefined
      ? valueOf(param, verified.capability, call, hasUnsigned)
      : (after[param.ofCursor] ?? null),
  );
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
  if (!(error instanceof RefusedQuery)) return error;
  if (error.faults.some(([param]) => params[param]?.ofCursor !== undefined)) return foreignCursor();
  return faultError(error.faults, params, error.message) ?? error;
}

function kindOf(error: unknown): DatabaseErrorKind | undefined {
  return error instanceof DatabaseError ? error.kind : undefined;
}
