import { setTimeout as pause } from 'node:timers/promises';
import { MESSAGE_MAX_BYTES } from '../../sessions/answer-bounds.ts';
import { sendCancelRequest } from '../connection/cancel-request.ts';
import {
  isCallerRefused,
  isLoss,
  QUERY_CANCELED,
  sqlStateOf,
  UNKNOWN_STATEMENT,
} from '../connection/server-errors.ts';
import { NotSent, sendAll, send } from '../connection/pipeline.ts';
import { type Rows, type Statement } from '../connection/statement.ts';
import { type UnitResult } from '../connection/unit.ts';
import type { CancelReason, MoveReason, QueuedTransaction } from '../connection/pipeline-queue.ts';
import type { BlindCall } from '../connection/unit.ts';
import type { SessionPool } from '../pool/session-pool.ts';
import type { DatabaseSession } from '../connection/database-session.ts';
import {
  applySettings,
  BEGIN,
  ROLLBACK,
  UNLOCK,
  type TransactionSettings,
} from '../connection/transaction-settings.ts';
import type { TimeLimit } from '../../sessions/wait-queue.ts';

/** Stands before each statement of a capability, whose name has letters, digits and underscores only. */
export function attribution(capability: string): string {
  return `/* svc:${capability} */ `;
}

export interface Transaction {
  readonly settings: Pick<TransactionSettings, 'apiKeyName' | 'capability' | 'requestId' | 'caller'>;
  readonly statements: readonly Statement[];
  /** Whether the last statement, when it completes, gives back every lock of the session: see `wrapSelect`. */
  readonly unlocks?: boolean;
  /** How long it is expected to take, if it may be sent in a batch: see `send`. It must give back its locks itself. */
  readonly shortMs?: number | undefined;
  /** See `Unit`. */
  readonly mostBytes?: number;
  /** See `TransactionSettings`. */
  readonly plansEach?: boolean;
  /** If it may share a transaction with others of its batch: see `shareTransaction`. */
  readonly blind?: BlindCall | undefined;
}

export interface TransactionResult {
  /** One for each statement of the transaction that completed. */
  readonly results: readonly Rows[];
  /** That of the statement after the last result; no later one ran. */
  readonly error: Error | undefined;
  /** Whether the server said that the transaction was set up: READ ONLY, with its settings. */
  readonly begun: boolean;
  /** Set when the query was cancelled from here. */
  readonly stopped: 'timeout' | 'cancelled' | undefined;
  /** Given up to be sent again over another session. */
  readonly moved: MoveReason | undefined;
  /** What it took at the server, without the wait behind other transactions. */
  readonly ranMs: number;
  readonly elapsedMs: number;
}

/** The server's own statement_timeout comes first; this is for a server that does not keep it. */
const DEADLINE_GRACE_MS = 250;
/** For so long cancel requests are sent, and so long may each take. */
const CANCEL_TIMEOUT_MS = 1000;
/**
 * For so long a cancelled query is waited for before its connection is given up. A pooler or network that halts for a
 * while makes every connection late: to give them all up would cost more than to wait.
 */
const ANSWER_TIMEOUT_MS: Readonly<Record<CancelReason, number>> = { unwanted: CANCEL_TIMEOUT_MS, late: 5000 };
/** The first pause between two cancel requests; each later one is twice as long. */
const CANCEL_AGAIN_MS = 20;
/** For so long a query may run at the server that no caller waits for. */
const UNWANTED_MS = 20;

/**
 * How far a transaction is at the server. Its caller is answered once, apart from that: with the result, but earlier where
 * it is moved to another session or its time is up, and then no caller waits for what goes on here.
 *
 * - `sent`: it waits behind other transactions or runs. From the start.
 * - `cancelling`: cancel requests are on their way, since its caller waits no more. From `sent`, by `cancel`, and only
 *   while it is the first on its session and no other has claimed the queue.
 * - `over`: its result has come (`onUnitResult`), or none came in time after the cancel request, and the session is
 *   orphaned.
 */
type UnitState = 'sent' | 'cancelling' | 'over';

function checkedStep(from: UnitState, to: Exclude<UnitState, 'sent'>): UnitState {
  if (from === 'over' || from === to) throw new Error(`a transaction cannot become ${to}: it is ${from}`);
  return to;
}

/**
 * Runs statements in a READ ONLY transaction, sent in one pipeline and always rolled back. Gives the session back to the
 * pool, or ends it if its state is in doubt. Never rejects.
 */
export function runTransaction(
  pool: SessionPool,
  session: DatabaseSession,
  transaction: Transaction,
  limit: TimeLimit,
): Promise<TransactionResult> {
  return new Promise((resolve) => {
    const started = performance.now();
    const { searchPath, checksClient, keepsSettings } = session.facts;
    const { queue } = session;
    const settings = applySettings({
      timeoutMs: limit.timeoutMs,
      searchPath,
      checksClient,
      keepsSettings,
      plansEach: transaction.plansEach === true,
      ...transaction.settings,
    });
    const { statements } = transaction;
    const setUp = [BEGIN, settings];
    const ending = transaction.unlocks === true ? [ROLLBACK] : endOf(session);

    let answered = false;
    let ranMs = 0;
    let state: UnitState = 'sent';
    let stopped: TransactionResult['stopped'];
    let cancelSent: Promise<boolean> | undefined;
    let timer: NodeJS.Timeout | undefined;

    function answer(unit: Omit<UnitResult, 'idle'>, moved?: MoveReason): void {
      if (answered) return;
      answered = true;
      clearTimeout(deadline);
      limit.signal.removeEventListener('abort', onAbort);
      const { results, error } = unit;
      const end = setUp.length + statements.length;
      resolve({
        results: results.slice(setUp.length, end),
        // What fails after the last statement concerns only the session.
        error: results.length < end ? error : undefined,
        begun: results.length >= setUp.length,
        stopped,
        moved,
        ranMs,
        elapsedMs: performance.now() - started,
      });
    }

    function move(reason: MoveReason): void {
      answer(failed('given up behind another query'), reason);
    }

    function stop(reason: 'timeout' | 'cancelled'): void {
      if (state === 'over' || stopped !== undefined) return;
      stopped = reason;
      if (queue.isRunning(queued)) {
        cancel('unwanted');
        return;
      }
      // Its turn has not come, or is over: it ends by itself, by `onFirst`, or with its batch.
      answer(failed('given up before it began'));
      queue.cancelUnwanted();
    }

    function cancel(why: CancelReason): void {
      const cancelledAt = performance.now();
      if (state !== 'sent') return;
      clearTimeout(timer);
      // The request hits whatever runs when it arrives, so nothing may run behind this one.
      if (!queue.claim(queued)) return;
      state = checkedStep(state, 'cancelling');
      timer = setTimeout(() => {
        state = checkedStep(state, 'over');
        pool.orphan(session, queue.texts, cancelledAt);
        answer(failed('no answer after the cancel request'));
      }, ANSWER_TIMEOUT_MS[why]);
      cancelSent = requestCancel(session, () => state === 'over');
    }

    function onUnitResult(unit: UnitResult): void {
      clearTimeout(timer);
      ranMs = queue.remove(queued);
      if (state === 'over') return;
      state = checkedStep(state, 'over');
      if (cancelSent === undefined && unit.error === undefined) {
        onCompleted(unit);
        if (unit.isVoid === true) move('behind');
        else answer(unit);
        return;
      }
      const isBegun = unit.results.length >= setUp.length;
      const settled =
        cancelSent === undefined ? afterError(unit, isBegun) : recover(pool, session, cancelSent);
      // A caller that is told of a failure finds its transaction over, unless its time is up.
      if (stopped === 'timeout') answer(unit);
      else void settled.catch(() => pool.discard(session)).then(() => answer(unit));
    }

    async function afterError({ error, isCulprit, isVoid }: UnitResult, isBegun: boolean): Promise<void> {
      const isLost = isLoss(error);
      const isSound = !isLost && (isBegun || isOrdinary(error, transaction.settings));
      // The server has said nothing, so any of its batch may be the cause: each has to show alone that it is sound.
      const isUntold = isLost && !isBegun && sqlStateOf(error) === undefined;
      const isSuspected = isUntold && queued.batch.size > 1 && !(error instanceof NotSent);
      if (isSuspected) move('suspected');
      else if (isCulprit === true) answer({ results: [], error }, 'suspected');
      else if (error instanceof NotSent || isVoid === true) move('behind');
      // Those after it fail too: its transaction is still open, and takes no statement but the end of it.
      if (!(isSuspected ? queue.claimLost(queued) : queue.claim(queued))) pool.release(session);
      else if (isSound) await reset(pool, session);
      else closeDoubtful(pool, session);
    }

    function onCompleted(unit: UnitResult): void {
      if (!unit.idle || unit.results.length !== setUp.length + statements.length + ending.length) {
        queue.claim(queued);
        closeDoubtful(pool, session);
        return;
      }
      pool.release(session);
    }

    const onAbort = (): void => stop('cancelled');
    const deadline = setTimeout(() => stop('timeout'), limit.timeoutMs + DEADLINE_GRACE_MS);
    limit.signal.addEventListener('abort', onAbort);
    if (!queue.isOpen) {
      // It was closed after the session was acquired.
      pool.release(session);
      move('behind');
      return;
    }
    // One unit, so that nothing runs outside a transaction that could not be set up as it must be.
    const unit = {
      statements: [...setUp, ...statements, ...ending],
      onResult: onUnitResult,
      mostBytes: transaction.mostBytes ?? MESSAGE_MAX_BYTES,
      blind: transaction.blind,
    };
    const queued: QueuedTransaction = {
      texts: statements.map(({ text }) => text),
      batch: send(session, unit, transaction.shortMs),
      move,
      isWanted: () => !answered,
      cancel,
      onFirst() {
        if (!answered) return;
        timer = setTimeout(() => queue.cancelUnwanted(), UNWANTED_MS);
      },
    };
    queue.add(queued);
    if (limit.signal.aborted) stop('cancelled');
  });
}

function failed(message: string): Pick<UnitResult, 'results' | 'error'> {
  return { results: [], error: new Error(message) };
}

/**
 * Sends cancel requests until the query is over, since one that arrives before the query begins has no effect. Resolves
 * true when none is under way any more.
 */
async function requestCancel(session: DatabaseSession, isOver: () => boolean): Promise<boolean> {
  const { cancelTarget } = session;
  if (cancelTarget === undefined) {
    session.orphan();
    return false;
  }
  const started = performance.now();
  for (let pauseMs = CANCEL_AGAIN_MS; ; pauseMs *= 2) {
    if (!(await sendCancelRequest(cancelTarget, CANCEL_TIMEOUT_MS))) return false;
    if (!isOver()) await pause(pauseMs);
    if (isOver() || performance.now() - started > CANCEL_TIMEOUT_MS) return true;
  }
}

/** A cancel request may arrive after the query that it was for: until it cannot, the session must not serve another. */
async function recover(
  pool: SessionPool,
  session: DatabaseSession,
  cancelSent: Promise<boolean>,
): Promise<void> {
  if (await cancelSent) await reset(pool, session);
  else closeDoubtful(pool, session);
}

/** Ends a session whose state is in doubt. What was moved away from it may still run, perhaps for long. */
function closeDoubtful(pool: SessionPool, session: DatabaseSession): void {
  const { queue } = session;
  if (queue.length > 0) pool.orphan(session, queue.texts, Number.NEGATIVE_INFINITY);
  else pool.discard(session);
}

/** Ends the transaction that a query has left; tries again, since a late cancellation may hit the first attempt. */
async function reset(pool: SessionPool, session: DatabaseSession): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const ended = await new Promise<boolean | 'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), CANCEL_TIMEOUT_MS);
    void endTransaction(session)
      .then((isEnded) => isEnded || endTransaction(session))
      .then(resolve);
  });
  clearTimeout(timer);
  if (ended === true) {
    session.queue.reopen();
    pool.release(session);
  } else if (ended === 'late' && session.queue.length > 0) {
    // Something that was moved away takes long, and goes on.
    pool.orphan(session, session.queue.texts, performance.now());
  } else {
    pool.discard(session);
  }
}

async function endTransaction(session: DatabaseSession): Promise<boolean> {
  const [unit] = await sendAll(session, [endOf(session)]);
  return unit?.idle === true;
}

/** One unit, since a pooler gives the session, with the locks that are left, to another client once the unit is over. */
function endOf({ facts }: DatabaseSession): readonly Statement[] {
  return facts.unlocks ? [ROLLBACK, UNLOCK] : [ROLLBACK];
}

/** A sound session may fail to be set up by a value that is refused, a forgotten statement, or a cancel request. */
const ORDINARY = new Set(['22023', UNKNOWN_STATEMENT, QUERY_CANCELED]);

/** Another failure may come from a statement in the place of our own, which would fail each time. */
function isOrdinary(error: Error | undefined, settings: Transaction['settings']): boolean {
  return ORDINARY.has(sqlStateOf(error) ?? '') || isCallerRefused(error, settings);
}
