import type { Param } from '../../../capabilities/model.ts';
import { DatabaseError } from '../../driver/errors.ts';
import type { Query, QueryCall } from '../../driver/driver.ts';
import { faultError } from '../../sql/probes/fault-error.ts';
import { watchLabels } from './changed-labels.ts';
import {
  isCallerRefused,
  isLoss,
  kindOf,
  LOCK_NOT_AVAILABLE,
  nameOf,
  OPERATOR_INTERVENTION,
  OTHER_STATEMENT,
  QUERY_CANCELED,
  READ_ONLY_VIOLATED,
  sqlStateOf,
  UNKNOWN_STATEMENT,
} from '../connection/server-errors.ts';
import { runTransaction, type TransactionResult, type Transaction } from './transaction.ts';
import type { DatabaseSession } from '../connection/database-session.ts';
import type { SessionPool } from '../pool/session-pool.ts';
import { SharingQuery, type SharedCall } from '../pool/shared-calls.ts';
import { bindValue } from './bind-values.ts';
import { LruMap } from '../../clauses/lru-map.ts';
import { choose, cursorOf, FOREIGN_CURSOR, tied } from '../../clauses/choose.ts';
import { assembledQuery, plansEach, statementText } from './assembled-queries.ts';
import type { AssembledQuery, BoundParam, PreparedQuery } from './prepared-query.ts';
import { Forms, resultOf, type FormResult, type FormStatement } from './result-forms.ts';
import { answerMaxBytes } from '../../sessions/answer-bounds.ts';
import type { TimeLimit } from '../../sessions/wait-queue.ts';
import { requireSigned } from '../../sql/signed-integer.ts';
import { LatencyByCaller } from './latency-tracker.ts';
import { callersMistake, mayBeInputError, provenValues, refusedValues } from './value-faults.ts';

/** Timers of Node.js and settings of PostgreSQL end at 2^31 - 1 ms. Some of that is kept for what comes after. */
const MAX_TIMEOUT_MS = 2_147_000_000;
/** The server may count a millisecond less than the agent. */
const CLOCK_SLACK_MS = 2;
/** The server keeps its answers back until the query is over, so only time tells what ran before a connection was lost. */
const IDLE_LOSS_MS = 1000;
/** Something does not exist, not for these types, or may not be read: at the start it was otherwise. */
const CHANGED = /^(?:42(?:501|703|704|804|846|883|P01)|3F000)$/;
/** A function may have put another statement under the name of ours: prepared again, it is the right one. */
const STATEMENT_LOST = new Set([UNKNOWN_STATEMENT, OTHER_STATEMENT, READ_ONLY_VIOLATED]);
const CHANGED_HINT =
  'the database may have changed since the agent started: `svc-agent check` says what, then restart the agent';

export function createQuery(pool: SessionPool, verified: PreparedQuery): Query {
  const { capability, shared, assembled } = verified;
  const sharing = shared && new SharingQuery(pool.sharedCalls, capability, shared);
  const runnable = (prepared: PreparedQuery, plansEach: boolean): RunnableQuery => ({
    pool,
    verified: prepared,
    forms: new Forms(prepared),
    latencies: new LatencyByCaller(),
    sharing,
    isAssembled: assembled !== undefined,
    plansEach,
  });
  const changedLabels = watchLabels(pool, capability, verified.params);
  const query = runnable(verified, false);
  return {
    run:
      assembled === undefined
        ? (call) => new Run(query, call).run()
        : runAssembled(verified, assembled, runnable),
    ...(assembled === undefined
      ? {}
      : { statementOf: (values) => statementText(choose(capability, assembled, values)) }),
    ...(changedLabels === undefined ? {} : { changedLabels }),
  };
}

/** So many statements of a capability are kept assembled, each with what is known of how it runs. */
const ASSEMBLED_MAX = 64;

function runAssembled(
  verified: PreparedQuery,
  assembled: AssembledQuery,
  runnable: (prepared: PreparedQuery, plansEach: boolean) => RunnableQuery,
): Query['run'] {
  const kept = new LruMap<string, RunnableQuery>(ASSEMBLED_MAX);
  return async (call) => {
    const chosen = choose(verified.capability, assembled, call.values);
    const query =
      kept.get(chosen.key) ??
      runnable(assembledQuery(verified, assembled, chosen), plansEach(assembled, chosen));
    kept.set(chosen.key, query);
    const { last, ...result } = await new Run(query, call, chosen.after).run().catch((error: unknown) => {
      throw error instanceof DatabaseError && error.kind === 'tied' ? tied(chosen) : error;
    });
    const cursor = cursorOf(chosen, last);
    return cursor === undefined ? result : { ...result, cursor };
  };
}

interface RunnableQuery {
  readonly pool: SessionPool;
  readonly verified: PreparedQuery;
  readonly forms: Forms;
  readonly latencies: LatencyByCaller;
  /** Undefined if each call has its own transaction. */
  readonly sharing: SharingQuery | undefined;
  readonly isAssembled: boolean;
  readonly plansEach: boolean;
}

/** A call of a query, which may take several transactions. */
class Run {
  readonly #query: RunnableQuery;
  readonly #call: QueryCall;
  readonly #settings: Transaction['settings'];
  readonly #startedAt = performance.now();
  readonly #deadline: number;
  /** The values of its cursor. */
  readonly #after: readonly (string | null)[] | undefined;

  constructor(query: RunnableQuery, call: QueryCall, after?: readonly (string | null)[]) {
    const { apiKeyName, requestId, caller } = call;
    this.#query = query;
    this.#call = call;
    this.#after = after;
    this.#settings = { apiKeyName, capability: query.verified.capability, requestId, caller };
    this.#deadline = this.#startedAt + Math.min(call.timeoutMs, MAX_TIMEOUT_MS);
  }

  async run(): Promise<FormResult> {
    const { pool, verified, forms, latencies } = this.#query;
    const { counts } = pool.sharedCalls;
    const { signal, share } = this.#call;
    for (const { param } of verified.params) requireSigned(param, this.#valueOf(param.name));
    let isSuspected = false;
    let sharing = this.#query.sharing;
    for (let attempt = 1; ; attempt += 1) {
      const shortMs = isSuspected ? undefined : latencies.of(share).shortMs;
      const session =
        (signal.aborted ? undefined : pool.tryAcquire(shortMs, share)) ??
        (await pool.acquire(this.#left(), shortMs));
      // This connection may have lost its statements like the first one.
      if (attempt > 1) session.prepared.clear();
      const limit = this.#left();
      const form = forms.next(shortMs !== undefined);
      const blind = shortMs === undefined ? undefined : this.#blindCall(sharing, session, form);
      const done = await runTransaction(pool, session, this.#transactionOf(form, shortMs, blind), limit);
      const { error } = done;
      const wasShared = blind?.isShared === true;
      if (!wasShared) counts.own += 1;
      if (done.moved !== undefined) {
        if (wasShared) {
          counts.sharedResends += 1;
          // With the schema of its relations written, it may fail where it does not as its author wrote it.
          if (CHANGED.test(sqlStateOf(error) ?? '')) sharing?.end();
          sharing = undefined;
        }
        // It may be what its batch waited for, or what ended the connection. Alone it shows, and is counted then.
        if (done.moved === 'suspected') isSuspected = true;
        if (!this.#hasTime()) throw pool.overdue(this.#startedAt, 'given up behind other queries');
        attempt -= 1;
        continue;
      }
      // A query that was stopped before the server came to it has told nothing of itself.
      if (done.begun || done.stopped === undefined) latencies.record(share, done.ranMs, error === undefined);
      if (error === undefined) {
        const result = resultOf(done.results[0], form.form, verified.limits);
        if (result === undefined) {
          forms.exceeded(form.form);
          attempt -= 1;
          continue;
        }
        if (wasShared) counts.sharedCalls += 1;
        latencies.of(share).recordSize(result.rows.length);
        return result;
      }
      if (done.stopped === undefined && this.#hasTime()) {
        if (isLostBefore(error, done, session.madeAt > this.#startedAt)) continue;
        // A query that has ended two connections may end each. A statement that is no longer ours is not its doing.
        const isSecond = attempt > 1 || (isSuspected && isLoss(error) && !isStatementLost(error));
        if (!isSecond && maySucceedElsewhere(error, done, limit.timeoutMs)) continue;
      }
      throw await this.#failureOf(error, done, limit.timeoutMs);
    }
  }

  #left(): TimeLimit {
    const { signal, share } = this.#call;
    return { signal, timeoutMs: this.#deadline - performance.now(), share };
  }

  #hasTime(): boolean {
    return this.#deadline > performance.now();
  }

  #valueOf(name: string): unknown {
    return Object.hasOwn(this.#call.values, name) ? this.#call.values[name] : undefined;
  }

  #textOf({ param, ofCursor }: BoundParam): string | null {
    if (ofCursor !== undefined) return this.#after?.[ofCursor] ?? null;
    return bindValue(param.schema, this.#valueOf(param.name));
  }

  #transactionOf(
    { name, text }: FormStatement,
    shortMs: number | undefined,
    blind: SharedCall | undefined,
  ): Transaction {
    const values = blind?.statement.values ?? this.#texts();
    const statements = [{ name, text, values, isAssembled: this.#query.isAssembled }];
    const mostBytes = answerMaxBytes(this.#query.verified.limits.maxBytes);
    const { plansEach } = this.#query;
    return { settings: this.#settings, statements, unlocks: true, mostBytes, shortMs, plansEach, blind };
  }

  #blindCall(
    sharing: SharingQuery | undefined,
    session: DatabaseSession,
    { shared }: FormStatement,
  ): SharedCall | undefined {
    if (sharing === undefined || shared === undefined) return undefined;
    const statement = { ...shared, values: this.#texts(), isAssembled: this.#query.isAssembled };
    return sharing.call(session, statement, this.#deadline, this.#query.plansEach);
  }

  #texts(): (string | null)[] {
    return this.#query.verified.params.map((param) => this.#textOf(param));
  }

  /** What the caller is told: of values that are at fault, or of the query. */
  async #failureOf(error: Error, done: TransactionResult, timeoutMs: number): Promise<DatabaseError> {
    const { pool, verified } = this.#query;
    const sqlState = sqlStateOf(error);
    const problems = done.begun && mayBeInputError(error) ? await this.#problemsOf(error) : [];
    if (problems.some(isPinned)) return principalRefused(problems.filter(isPinned), error);
    if (problems.length === 0 && done.begun) {
      const values = (name: string): unknown => this.#valueOf(name);
      const faults = await provenValues(pool, this.#settings, verified, values, this.#left(), error);
      const params = verified.params.map(({ param }) => param);
      const refusal = faultError(faults, params, nameOf(error), { sqlState });
      if (refusal !== undefined) return refusal;
    }
    const given = done.begun ? this.#given() : { names: [], ofCaller: [] };
    const mistake = callersMistake(sqlState, given.names);
    const texts = [...new Set(problems.map(({ text }) => text))];
    const advice = problems.length > 0 ? texts.join('; ') : mistake;
    if (advice !== undefined) return new DatabaseError('invalid_params', nameOf(error), { advice, sqlState });
    const isPrincipals = callersMistake(sqlState, given.ofCaller) !== undefined;
    if (isPrincipals && given.names.length === 0) return principalRefused([], error);
    const failure = toDatabaseError(error, done, timeoutMs, this.#settings);
    // If the query had most of its time, it took too long, whatever was before.
    const isTooLate = failure.kind === 'timeout' && (!done.begun || timeoutMs < this.#call.timeoutMs / 2);
    return isTooLate ? pool.overdue(this.#startedAt, failure.message) : failure;
  }

  /**
   * Parameters that callers send and that have a value, or all of those if none has; and the parameters taken from who
   * calls.
   */
  #given(): { readonly names: readonly string[]; readonly ofCaller: readonly string[] } {
    const namesOf = (isOfCaller: boolean): readonly string[] =>
      this.#query.verified.params.flatMap(({ param }) =>
        (param.from !== undefined) === isOfCaller ? [param.name] : [],
      );
    const names = [...new Set(namesOf(false))];
    const given = names.filter((name) => (this.#valueOf(name) ?? null) !== null);
    return { names: given.length > 0 ? given : names, ofCaller: namesOf(true) };
  }

  /** Which parameters have values that the database does not take; empty if the failure has another cause. */
  async #problemsOf(failure: Error): Promise<readonly ParamProblem[]> {
    const { pool, verified } = this.#query;
    const values = verified.params.map((param) => ({ param, text: this.#textOf(param) }));
    try {
      const { refused, complete } = await refusedValues(pool, this.#settings, values, this.#left(), failure);
      const problems = refused.flatMap(({ index, problem }) => {
        const { param, ofCursor } = verified.params[index] ?? {};
        if (param === undefined) return [];
        return [{ text: ofCursor === undefined ? `${param.name}: ${problem}` : FOREIGN_CURSOR, param }];
      });
      if (complete || problems.length === 0) return problems;
      return [...problems, { text: 'and perhaps others', param: undefined }];
    } catch (error) {
      if (error instanceof DatabaseError) return [];
      throw error;
    }
  }
}

interface ParamProblem {
  readonly text: string;
  /** Undefined if it is not known which one. */
  readonly param: Param | undefined;
}

/** A parameter that is taken from who calls is not named to callers, who do not know of it. */
function isPinned({ param }: ParamProblem): boolean {
  return param?.from !== undefined;
}

function principalRefused(problems: readonly ParamProblem[], error: Error): DatabaseError {
  const details = [...problems.map(({ text }) => text), nameOf(error)];
  return new DatabaseError('invalid_principal', details.join('; '), { sqlState: sqlStateOf(error) });
}

/**
 * Whether the session ended before the server had begun with the query. Many may end together, so the call goes on to
 * the next while there is time. A server that ends a session on purpose says so after the answers to what it has done.
 * Otherwise only time tells, and on a session made for this call the query is more likely what ended it.
 */
function isLostBefore(error: Error, done: TransactionResult, isFresh: boolean): boolean {
  if (done.begun || !isLoss(error)) return false;
  const isTold = sqlStateOf(error)?.startsWith(OPERATOR_INTERVENTION) === true;
  return isTold || (!isFresh && done.elapsedMs < IDLE_LOSS_MS);
}

/** Whether the error says nothing of the query, and may not come again over another session. */
function maySucceedElsewhere(error: Error, done: TransactionResult, timeoutMs: number): boolean {
  const state = sqlStateOf(error);
  if (isStatementLost(error)) return true;
  // Poolers and administrators may send a cancel request that was meant for another query.
  if (state === QUERY_CANCELED) return !tookItsTime(done, timeoutMs);
  // A connection that had died while idle shows that at once. Otherwise the query may be what killed it.
  return !done.begun && done.elapsedMs < IDLE_LOSS_MS && kindOf(error) === 'unavailable';
}

function isStatementLost(error: Error): boolean {
  return STATEMENT_LOST.has(sqlStateOf(error) ?? '');
}

function toDatabaseError(
  error: Error,
  done: TransactionResult,
  timeoutMs: number,
  settings: Transaction['settings'],
): DatabaseError {
  // The error is not given as cause: its texts quote values.
  const state = sqlStateOf(error);
  const named = { sqlState: state };
  if (done.stopped !== undefined) return new DatabaseError(done.stopped, nameOf(error), named);
  if (!done.begun && isCallerRefused(error, settings)) {
    if (settings.caller !== undefined) return principalRefused([], error);
    const why = "the database's encoding cannot hold the name of the API key, give the key another name";
    return new DatabaseError('failed', `${why}: ${nameOf(error)}`, named);
  }
  const timed = state === QUERY_CANCELED || state === LOCK_NOT_AVAILABLE;
  const kind = timed && tookItsTime(done, timeoutMs) ? 'timeout' : kindOf(error);
  const changed = CHANGED.test(state ?? '') ? `; ${CHANGED_HINT}` : '';
  return new DatabaseError(kind, `${nameOf(error)}${changed}`, named);
}

/** The server's message would tell time-outs apart, but it is in the server's language. */
function tookItsTime(done: TransactionResult, timeoutMs: number): boolean {
  return done.elapsedMs >= timeoutMs - CLOCK_SLACK_MS;
}
