import { setTimeout as pause } from 'node:timers/promises';
import { sendCancelRequest } from '../connection/cancel-request.ts';
import {
  isKeyNameRefused,
  isLoss,
  QUERY_CANCELED,
  sqlStateOf,
  UNKNOWN_STATEMENT,
} from '../connection/server-errors.ts';
import { fly, launch, type Landing, type Rows, type Statement } from '../connection/pipeline.ts';
import type { Passage } from '../connection/pipeline-queue.ts';
import type { SessionPool } from '../pool/session-pool.ts';
import { abandon, type Session } from '../connection/session.ts';
import {
  applySettings,
  BEGIN,
  ROLLBACK,
  UNLOCK,
  type TransactionSettings,
} from '../connection/transaction-settings.ts';
import type { Wait } from '../pool/wait-in-line.ts';

export interface Transaction {
  readonly settings: Omit<TransactionSettings, 'timeoutMs' | 'searchPath' | 'watched'>;
  readonly statements: readonly Statement[];
  /** Whether the last statement, when it completes, has given back every lock of the session: see wrap.ts. */
  readonly unlocks?: boolean;
}

export interface Exchange {
  /** One for each statement of the transaction that completed. */
  readonly results: readonly Rows[];
  /** Of the statement behind the last result; none of those after it ran. */
  readonly error: Error | undefined;
  /** Whether the server said that the transaction was set up: READ ONLY, with its settings. */
  readonly begun: boolean;
  /** Set when the query was cancelled from here, by the signal or by the deadline. */
  readonly stopped: 'timeout' | 'cancelled' | undefined;
  /** Given up behind another's query, which was long or failed: to be sent again on another session. */
  readonly moved: boolean;
  /** What it took at the server, waiting behind others not counted. */
  readonly ranMs: number;
  readonly elapsedMs: number;
}

/** The server's own statement_timeout comes first; this is for a server that does not keep it. */
const DEADLINE_GRACE_MS = 250;
/** How long a cancelled query is waited for, and a cancel request may take. */
const CANCEL_PATIENCE_MS = 1000;
/** The first pause between two cancel requests; each is twice as long as the one before. */
const CANCEL_AGAIN_MS = 20;
/** How long a query that nobody waits for any more may run once it is its turn. */
const UNWANTED_MS = 20;

/**
 * Runs statements in a READ ONLY transaction in one flight, always rolled back, and gives the session back to the
 * pool or ends it when its state is in doubt. Aborting cancels what runs. Never rejects.
 */
export function exchange(
  pool: SessionPool,
  session: Session,
  transaction: Transaction,
  wait: Wait,
): Promise<Exchange> {
  return new Promise((resolve) => {
    const started = performance.now();
    const { searchPath, watched } = session.facts;
    const { lane } = session;
    const settings = applySettings({
      timeoutMs: wait.timeoutMs,
      searchPath,
      watched,
      ...transaction.settings,
    });
    const { statements } = transaction;
    const setUp = [BEGIN, settings];

    let answered = false;
    let ranMs = 0;
    let landed = false;
    let stopped: Exchange['stopped'];
    let cancelSent: Promise<boolean> | undefined;
    let patience: NodeJS.Timeout | undefined;

    function answer(landing: Omit<Landing, 'idle'>, moved: boolean): void {
      if (answered) return;
      answered = true;
      clearTimeout(deadline);
      wait.signal.removeEventListener('abort', onAbort);
      const { results, error } = landing;
      const end = setUp.length + statements.length;
      resolve({
        results: results.slice(setUp.length, end),
        // What fails behind the last statement, the rollback, is the session's trouble only.
        error: results.length < end ? error : undefined,
        begun: results.length >= setUp.length,
        stopped,
        moved,
        ranMs,
        elapsedMs: performance.now() - started,
      });
    }

    function stop(reason: 'timeout' | 'cancelled'): void {
      if (landed || stopped !== undefined) return;
      stopped = reason;
      if (lane.isFirst(passage)) cancel();
      // Its turn has not come: it ends by itself, or by `onFirst`.
      else answer(failed('given up before it began'), false);
    }

    function cancel(): void {
      const cancelledAt = performance.now();
      // The request hits whatever runs when it arrives.
      if (!lane.close(passage)) return;
      patience = setTimeout(() => {
        landed = true;
        pool.abandon(session, lane.texts, cancelledAt);
        answer(failed('no answer after the cancel request'), false);
      }, CANCEL_PATIENCE_MS);
      cancelSent = requestCancel(session, () => landed);
    }

    function onLanding(landing: Landing): void {
      clearTimeout(patience);
      ranMs = lane.firstRanMs;
      lane.leave(passage);
      if (landed) return;
      landed = true;
      if (cancelSent === undefined && landing.error === undefined) {
        onCompleted(landing);
        answer(landing, false);
        return;
      }
      const isBegun = landing.results.length >= setUp.length;
      const settled =
        cancelSent === undefined ? afterError(landing.error, isBegun) : recover(pool, session, cancelSent);
      // Whoever is told of a failure finds its transaction over, but nobody is kept beyond its time.
      if (stopped === 'timeout') answer(landing, false);
      else void settled.then(() => answer(landing, false));
    }

    async function afterError(error: Error | undefined, isBegun: boolean): Promise<void> {
      const isSound = !isLoss(error) && (isBegun || isOrdinary(error, transaction.settings.apiKeyName));
      // Those behind it fail with it: the transaction that it leaves takes no statement but the end of it.
      if (!lane.close(passage)) pool.release(session);
      else if (isSound) await mend(pool, session);
      else part(pool, session);
    }

    function onCompleted(landing: Landing): void {
      // One more than was sent for: the rollback.
      if (!landing.idle || landing.results.length !== setUp.length + statements.length + 1) {
        lane.close(passage);
        part(pool, session);
        return;
      }
      if (transaction.unlocks !== true) unlock(pool, session);
      pool.release(session);
    }

    const passage: Passage = {
      texts: statements.map(({ text }) => text),
      move: () => answer(failed('given up behind another query'), true),
      onFirst() {
        if (!answered) return;
        patience = setTimeout(cancel, UNWANTED_MS);
      },
    };
    const onAbort = (): void => stop('cancelled');
    const deadline = setTimeout(() => stop('timeout'), wait.timeoutMs + DEADLINE_GRACE_MS);
    wait.signal.addEventListener('abort', onAbort);
    if (!lane.isOpen) {
      // Closed after the session was lent, before its borrower came to use it.
      pool.release(session);
      passage.move();
      return;
    }
    lane.enter(passage);
    // One unit, so that nothing runs outside a transaction that could not be set up as it must be.
    launch(session, [...setUp, ...statements, ROLLBACK], onLanding);
    if (wait.signal.aborted) stop('cancelled');
  });
}

function failed(message: string): Pick<Landing, 'results' | 'error'> {
  return { results: [], error: new Error(message) };
}

/**
 * Asks again and again, since what reaches the server before it has begun with the query has no effect. Resolves
 * true when no request is under way any more.
 */
async function requestCancel(session: Session, landed: () => boolean): Promise<boolean> {
  const { cancelTarget } = session;
  if (cancelTarget === undefined) {
    abandon(session);
    return false;
  }
  const started = performance.now();
  for (let pauseMs = CANCEL_AGAIN_MS; ; pauseMs *= 2) {
    if (!(await sendCancelRequest(cancelTarget, CANCEL_PATIENCE_MS))) return false;
    if (!landed()) await pause(pauseMs);
    if (landed() || performance.now() - started > CANCEL_PATIENCE_MS) return true;
  }
}

/** The cancel request may outlive the query it was for: the session serves again only when it can hit nobody. */
async function recover(pool: SessionPool, session: Session, cancelSent: Promise<boolean>): Promise<void> {
  if (await cancelSent) await mend(pool, session);
  else part(pool, session);
}

/** Ends a session whose state is in doubt. What was moved away from it may be long, and the server goes on with it. */
function part(pool: SessionPool, session: Session): void {
  const { lane } = session;
  if (lane.length > 0) pool.abandon(session, lane.texts, Number.NEGATIVE_INFINITY);
  else pool.discard(session);
}

/** Ends the transaction that a query has left; a second time where a late cancellation hit the first attempt. */
async function mend(pool: SessionPool, session: Session): Promise<void> {
  let patience: NodeJS.Timeout | undefined;
  const ended = await new Promise<boolean | 'late'>((resolve) => {
    patience = setTimeout(() => resolve('late'), CANCEL_PATIENCE_MS);
    void endTransaction(session)
      .then((isEnded) => isEnded || endTransaction(session))
      .then(resolve);
  });
  clearTimeout(patience);
  if (ended === true) {
    unlock(pool, session);
    session.lane.reopen();
    pool.release(session);
  } else if (ended === 'late' && session.lane.length > 0) {
    // Something that was moved away turned out to be long, and goes on.
    pool.abandon(session, session.lane.texts, performance.now());
  } else {
    pool.discard(session);
  }
}

async function endTransaction(session: Session): Promise<boolean> {
  const [landing] = await fly(session, [[ROLLBACK]]);
  return landing?.idle === true;
}

/** Nobody waits for it: what the next borrower sends comes after it on the connection. */
function unlock(pool: SessionPool, session: Session): void {
  if (!session.facts.unlocks) return;
  launch(session, [UNLOCK], ({ error }) => {
    // A cancel request for the query behind it may have hit it: that one gives back all locks in its turn, and has to
    // be cancelled again, which an ended connection could not be.
    const isLeftToNext = sqlStateOf(error) === QUERY_CANCELED && session.lane.length > 0;
    if (error !== undefined && !isLeftToNext) pool.discard(session);
  });
}

/** Why a sound session may fail to be set up: a value refused, a statement forgotten, a cancel request. */
const ORDINARY = new Set(['22023', UNKNOWN_STATEMENT, QUERY_CANCELED]);

/** What else fails there may have been put in the place of our own statement, and would fail each time. */
function isOrdinary(error: Error | undefined, apiKeyName: string): boolean {
  return ORDINARY.has(sqlStateOf(error) ?? '') || isKeyNameRefused(error, apiKeyName);
}
