import type { TypedParameterValue } from 'mysql2';
import type { Param } from '../../../capabilities/model.ts';
import type { Query, QueryCall, QueryResult } from '../../driver/driver.ts';
import { DatabaseError } from '../../driver/errors.ts';
import { answerMaxBytes } from '../../sessions/answer-bounds.ts';
import type { Pool } from '../../sessions/pool.ts';
import { CALLER_NAMES, callerValue } from '../../sql/caller-variables.ts';
import { checkColumns, malformed, type Columns } from '../connection/check-packets.ts';
import type { KillQuery } from '../connection/kill-query.ts';
import { isLoss, kindOf, nameOf, sqlStateOf } from '../connection/server-errors.ts';
import type { MysqlSession } from '../connection/session.ts';
import { createAssembledQuery, type RunQuery } from './assembled-queries.ts';
import { bindValue, boundForm } from './bind-values.ts';
import { expandLists } from './expand-lists.ts';
import type { PlacedParam, PreparedQuery } from './prepared-query.ts';
import { faultError } from '../../sql/probes/fault-error.ts';
import type { ValueFault } from '../../sql/probes/proven-faults.ts';
import { misreadValues, valueFaults, type Ask } from './value-faults.ts';
import { RowCollector } from './row-collector.ts';

/** How long to wait for the answer of a stopped query before its connection is closed. */
const STOP_MS = 1000;
/** The most bytes after a complete result before the query is stopped. */
const MOST_EXCESS = 65_536;

/** If a connection ended before the query arrived, the network tells within a round trip, a busy machine a little later. */
const IDLE_LOSS_MS = 5000;
/** A server that takes longer to clean up a session is taken for lost. */
const LEAVE_MS = 5000;
const UNFIT = Promise.resolve(false);

export function createQuery(pool: Pool<MysqlSession>, kill: KillQuery, verified: PreparedQuery): Query {
  const { assembled } = verified;
  if (assembled !== undefined)
    return createAssembledQuery((...of) => run(pool, kill, ...of), verified, assembled);
  return { run: async (call) => (await run(pool, kill, verified, call)).result };
}

async function run(
  pool: Pool<MysqlSession>,
  kill: KillQuery,
  verified: PreparedQuery,
  call: QueryCall,
): ReturnType<RunQuery> {
  const startedAt = performance.now();
  const deadline = startedAt + call.timeoutMs;
  const given = verified.params.map((param) => valueOf(param, verified.capability, call));
  const formed = formOf(verified, given);
  for (;;) {
    const { transaction, outcome, madeAt } = await runOnce(pool, kill, verified, call, formed, deadline);
    const isFresh = madeAt > startedAt;
    if (outcome.error === undefined) {
      // A query that was stopped with a complete result has not reported its warnings.
      const isDoubtful = transaction.warningCount > 0 || transaction.stopped === 'complete';
      const misread = isDoubtful ? await misreadValues(verified, givenIndexes(), ask) : [];
      const refusal = faultError(misread, verified.params, 'a value was read as another');
      if (refusal !== undefined) throw refusal;
      return { result: transaction.result(), border: transaction.border };
    }
    // A session that died while idle says nothing about the query. One made for this call may have died of it.
    const wasIdle = !outcome.hasBegun || (!verified.callsOwn && transaction.elapsedMs < IDLE_LOSS_MS);
    const isLostBefore = wasIdle && isLostAlone(outcome.error) && !isFresh;
    if (isLostBefore && transaction.stopped === undefined && deadline > performance.now()) continue;
    const { stopped } = transaction;
    const faults = stopped === undefined ? await faultsOf(outcome.error) : [];
    throw toDatabaseError(outcome.error, stopped, verified, faults);
  }

  function givenIndexes(): readonly number[] {
    return [...given.keys()].filter((index) => (given[index] ?? null) !== null);
  }

  async function ask(
    { text, params }: Parameters<Ask>[0],
    emptied: Parameters<Ask>[1] = [],
  ): ReturnType<Ask> {
    const placed = params.flatMap((index) => verified.params[index] ?? []);
    // In a probe a list is bound as JSON text, which has all of its characters.
    const query = {
      ...verified,
      text,
      params: text === verified.text ? placed : placed.map((param) => ({ ...param, isList: false })),
      required: [],
      hasFloats: false,
    };
    const values = params.map((index) => (emptied.includes(index) ? '' : given[index]));
    const sent = { ...formOf(query, values), asksWarnings: true };
    const { transaction, outcome } = await runOnce(pool, kill, query, call, sent, deadline);
    const { stopped } = transaction;
    if (stopped === 'timeout' || stopped === 'cancelled') throw stopError(stopped);
    const rows = (): string => Buffer.from(transaction.result().rows).toString();
    return { error: outcome.error, rows, warnings: transaction.warnings };
  }

  async function faultsOf(error: unknown): Promise<readonly ValueFault[]> {
    try {
      return await valueFaults(error, verified, givenIndexes(), ask);
    } catch (failure) {
      // The first error stays.
      if (failure instanceof DatabaseError) return [];
      throw failure;
    }
  }
}

interface FormedQuery {
  readonly text: string;
  readonly params: readonly PlacedParam[];
  readonly forms: readonly unknown[];
  readonly asksWarnings?: boolean;
}

function formOf(query: PreparedQuery, given: readonly unknown[]): FormedQuery {
  const { text, params, values } = expandLists(query, given);
  return { text, params, forms: params.map((param, index) => boundForm(param, values[index])) };
}

/** Runs the query on a session of the pool. */
async function runOnce(
  pool: Pool<MysqlSession>,
  kill: KillQuery,
  verified: PreparedQuery,
  call: QueryCall,
  { text, params, forms, asksWarnings }: FormedQuery,
  deadline: number,
): Promise<{ readonly transaction: Transaction; readonly outcome: Outcome; readonly madeAt: number }> {
  const { signal, share } = call;
  const session = await pool.acquire({ signal, share, timeoutMs: deadline - performance.now() });
  const bound = params.map(({ schema }, index) => bindValue(session.types, schema, forms[index]));
  const transaction = new Transaction({ session, kill, verified, call, text, bound, asksWarnings });
  const outcome = await transaction.run(deadline);
  void outcome.isFit.then((isFit) => {
    if (isFit) {
      pool.release(session);
      return;
    }
    pool.discard(session);
    if (transaction.silentSince !== undefined) pool.closeDoubtful(transaction.silentSince);
  });
  return { transaction, outcome, madeAt: session.madeAt };
}

/** Whether the connection failed, but not because of a result that is too large. */
function isLostAlone(error: unknown): boolean {
  return isLoss(error) && kindOf(error) !== 'too_large';
}

function valueOf({ name }: Param, capability: string, call: QueryCall): unknown {
  return Object.hasOwn(call.values, name) ? call.values[name] : callerValue(name, call, capability);
}

interface SentQuery {
  readonly session: MysqlSession;
  readonly kill: KillQuery;
  readonly verified: PreparedQuery;
  readonly call: QueryCall;
  readonly text: string;
  readonly bound: readonly TypedParameterValue[];
  readonly asksWarnings: boolean | undefined;
}

interface Outcome {
  readonly error: unknown;
  /** Whether the query itself was sent. */
  readonly hasBegun: boolean;
  /** Whether the session may serve another call. Resolves later, so that cleaning up keeps no caller waiting. */
  readonly isFit: Promise<boolean>;
}

/**
 * One run. Every session reads only, so that a statement without a transaction has a READ ONLY one of its own, in one
 * round trip; a function that somebody has made could end that, and runs between START TRANSACTION and ROLLBACK.
 * `stopped` is set once, by the time limit, the abort or an answer that is too large; from then on nothing that comes
 * counts, and the session is not used again.
 */
class Transaction {
  readonly #sent: SentQuery;
  readonly #rows: RowCollector;
  readonly #startedAt = performance.now();
  #hasBegun = false;
  #stop: ((why: 'timeout' | 'cancelled' | 'complete') => void) | undefined;
  stopped: 'timeout' | 'cancelled' | 'complete' | undefined;
  /** The time of the question that the server has not answered, by `performance.now()`. */
  silentSince: number | undefined;
  warningCount = 0;
  warnings: readonly Readonly<Record<string, unknown>>[] = [];

  constructor(sent: SentQuery) {
    this.#sent = sent;
    this.#rows = new RowCollector(sent.verified, sent.session.sortedBytes);
  }

  get elapsedMs(): number {
    return performance.now() - this.#startedAt;
  }

  result(): QueryResult {
    return this.#rows.result();
  }

  get border(): RowCollector['border'] {
    return this.#rows.border;
  }

  async run(deadline: number): Promise<Outcome> {
    const { signal } = this.#sent.call;
    const stopping = new Promise<void>((resolve) => {
      this.#stop = (why) => {
        this.stopped ??= why;
        resolve();
      };
    });
    const onAbort = (): void => this.#stop?.('cancelled');
    const timer = setTimeout(() => this.#stop?.('timeout'), Math.max(0, deadline - performance.now()));
    signal.addEventListener('abort', onAbort);
    const work = this.#work(deadline);
    try {
      const ended = await Promise.race([work, stopping]);
      if (ended !== undefined) return ended;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    }
    if (this.#hasBegun) await this.#end(work);
    else if (this.elapsedMs > STOP_MS) this.silentSince = this.#startedAt;
    const error = this.stopped === 'complete' ? undefined : new Error(this.stopped);
    return { error, hasBegun: this.#hasBegun, isFit: UNFIT };
  }

  async #work(deadline: number): Promise<Outcome> {
    try {
      await this.#prepare(deadline);
    } catch (error) {
      return { error, hasBegun: false, isFit: UNFIT };
    }
    if (this.stopped !== undefined) return { error: new Error(this.stopped), hasBegun: false, isFit: UNFIT };
    this.#hasBegun = true;
    try {
      await this.#execute();
      if (this.#sent.asksWarnings === true && this.warningCount > 0)
        this.warnings = await this.#sent.session.ask('show warnings');
    } catch (error) {
      return { error, hasBegun: true, isFit: isLoss(error) ? UNFIT : this.#leave() };
    }
    return { error: undefined, hasBegun: true, isFit: this.#leave() };
  }

  async #prepare(deadline: number): Promise<void> {
    const { capability, callsOwn, setsCaller } = this.#sent.verified;
    await this.#sent.session.limitTime(Math.max(1, deadline - performance.now()));
    if (setsCaller) {
      const text = `set ${CALLER_NAMES.map((name) => `@${name} = ?`).join(', ')}`;
      await this.#sent.session.askWith(
        text,
        CALLER_NAMES.map((name) => callerValue(name, this.#sent.call, capability) ?? ''),
      );
    }
    if (callsOwn) await this.#sent.session.ask('start transaction read only');
  }

  /** Undoes what the query may have left. Resolves with whether the session is clean. */
  async #leave(): Promise<boolean> {
    const startedAt = performance.now();
    let timer: NodeJS.Timeout | undefined;
    try {
      if (this.#sent.verified.callsOwn) {
        const late = new Promise<never>((_resolve, reject) => {
          timer = setTimeout(() => reject(new Error('the session could not be cleaned up')), LEAVE_MS);
        });
        await Promise.race([this.#cleanUp(), late]);
      }
      return this.stopped === undefined;
    } catch {
      if (performance.now() - startedAt >= LEAVE_MS) this.silentSince = startedAt;
      return false;
    } finally {
      clearTimeout(timer);
    }
  }

  async #cleanUp(): Promise<void> {
    await this.#sent.session.ask('rollback');
    await this.#sent.session.reset();
  }

  #execute(): Promise<void> {
    const { connection, packets, statements } = this.#sent.session;
    return new Promise((resolve, reject) => {
      const over = (): void => {
        connection.removeListener('error', onLoss);
        connection.removeListener('end', onLoss);
      };
      const fail = (error: Error): void => {
        over();
        reject(error);
      };
      // A lost connection does not always tell its commands.
      const onLoss = (error?: Error): void => fail(error ?? new Error('the connection was closed'));
      connection.once('error', onLoss);
      connection.once('end', onLoss);
      packets.expectOwn();
      statements.use(this.#sent.text, (error, statement) => {
        if (error !== null) return fail(error);
        if (this.stopped !== undefined) return fail(new Error(this.stopped));
        packets.expectResult(answerMaxBytes(this.#sent.verified.limits.maxBytes));
        const command = statement.execute(this.#sent.bound);
        let hasResult = false;
        command.on('fields', (columns: Columns) => {
          checkColumns(columns);
          hasResult = columns !== undefined;
        });
        command.on('result', (row: unknown) => {
          if (this.#rows.add(row) > MOST_EXCESS) this.#stop?.('complete');
        });
        command.on('error', fail);
        command.on('end', () => {
          if (!hasResult) return fail(malformed('something else than a result'));
          over();
          this.warningCount = this.#sent.session.warnings();
          resolve();
        });
      });
    });
  }

  /** The server would go on with a query after its connection is closed, so KILL is sent first. */
  async #end(work: Promise<unknown>): Promise<void> {
    const startedAt = performance.now();
    let isRunning = true;
    const answered = work.then(() => {
      isRunning = false;
    });
    const enough = new AbortController();
    const late = new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, STOP_MS);
      enough.signal.addEventListener('abort', () => clearTimeout(timer));
    });
    let isRefused = false;
    const told = this.#sent
      .kill(this.#sent.session.threadId, () => isRunning)
      .catch((error: unknown) => {
        isRefused = !isLoss(error);
      });
    await Promise.race([told, answered, late]);
    await Promise.race([answered, late]);
    enough.abort();
    if (isRunning && !isRefused) this.silentSince = startedAt;
  }
}

function toDatabaseError(
  error: unknown,
  stopped: Transaction['stopped'],
  { params }: PreparedQuery,
  faults: readonly ValueFault[],
): DatabaseError {
  // The error is not the cause, because its texts quote values.
  const sqlState = sqlStateOf(error);
  if (stopped === 'timeout' || stopped === 'cancelled') {
    return stopError(stopped, sqlState);
  }
  const name = nameOf(error);
  return (
    faultError(faults, params, name, { sqlState }) ?? new DatabaseError(kindOf(error), name, { sqlState })
  );
}

function stopError(why: 'timeout' | 'cancelled', sqlState?: string): DatabaseError {
  return new DatabaseError(why, `stopped: ${why}`, { sqlState });
}
