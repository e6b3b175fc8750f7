import { setTimeout as pause } from 'node:timers/promises';
import { sendCancelRequest } from './cancel.ts';
import { QUERY_CANCELED, sqlStateOf, UNKNOWN_STATEMENT } from './errors.ts';
import { fly, type Landing, type Rows, type Statement } from './flight.ts';
import type { SessionPool, Wait } from './pool.ts';
import { abandon, destroy, type Session } from './session.ts';
import { applySettings, BEGIN, ROLLBACK, UNLOCK, type TransactionSettings } from './settings.ts';

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
  readonly elapsedMs: number;
}

/** The server's own statement_timeout comes first; this is for a server that does not keep it. */
const DEADLINE_GRACE_MS = 250;
/** How long a cancelled query is waited for, and a cancel request may take. */
const CANCEL_PATIENCE_MS = 1000;
/** The first pause between two cancel requests; each is twice as long as the one before. */
const CANCEL_AGAIN_MS = 20;

/**
 * Runs statements in a READ ONLY transaction in one flight, always rolled back, and gives the session back to the
 * pool or ends it when its state is in doubt. Aborting cancels what runs. Never rejects.
 */
export async function exchange(
  pool: SessionPool,
  session: Session,
  transaction: Transaction,
  wait: Wait,
): Promise<Exchange> {
  const started = performance.now();
  const { searchPath, watched } = session.facts;
  const { timeoutMs } = wait;
  const settings = applySettings({ timeoutMs, searchPath, watched, ...transaction.settings });
  const { statements } = transaction;

  let stopped: Exchange['stopped'];
  let stoppedAt = started;
  let giveUp = (): void => {};
  let landed = false;
  let cancelSent: Promise<boolean> | undefined;
  let patience: NodeJS.Timeout | undefined;
  const stop = (reason: 'timeout' | 'cancelled'): void => {
    if (stopped !== undefined) return;
    stopped = reason;
    stoppedAt = performance.now();
    patience = setTimeout(() => giveUp(), CANCEL_PATIENCE_MS);
    cancelSent = requestCancel(session, () => landed);
  };
  const onAbort = (): void => stop('cancelled');
  const deadline = setTimeout(() => stop('timeout'), wait.timeoutMs + DEADLINE_GRACE_MS);
  wait.signal.addEventListener('abort', onAbort);
  if (wait.signal.aborted) stop('cancelled');

  // One unit, so that nothing runs outside a transaction that could not be set up as it must be.
  const setUp = [BEGIN, settings];
  const landings = await new Promise<readonly Landing[] | undefined>((resolve) => {
    giveUp = () => resolve(undefined);
    void fly(session, [[...setUp, ...statements], [ROLLBACK]]).then(resolve);
  });
  const [unit, rollback] = landings ?? [
    { results: [], error: new Error('no answer after the cancel request') },
  ];

  landed = true;
  clearTimeout(deadline);
  clearTimeout(patience);
  wait.signal.removeEventListener('abort', onAbort);
  const completed = unit?.results ?? [];
  const begun = completed.length >= setUp.length;
  if (landings === undefined) {
    pool.abandon(
      session,
      statements.map(({ text }) => text),
      stoppedAt,
    );
  } else if (cancelSent !== undefined) {
    void recover(pool, session, cancelSent);
  } else if (isEnded(rollback) && isIdle(session) && (begun || isOrdinary(unit?.error))) {
    if (transaction.unlocks !== true || unit?.error !== undefined) void unlock(pool, session);
    pool.release(session);
  } else {
    pool.discard(session);
  }
  return {
    results: completed.slice(setUp.length),
    error: unit?.error,
    begun,
    stopped,
    elapsedMs: performance.now() - started,
  };
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
  if (await cancelSent) {
    const patience = setTimeout(() => destroy(session), CANCEL_PATIENCE_MS);
    // Takes in a late cancellation, and ends the transaction should the first rollback have been what it hit.
    const [probe] = await fly(session, [[ROLLBACK]]);
    clearTimeout(patience);
    if (isEnded(probe) && isIdle(session)) {
      void unlock(pool, session);
      pool.release(session);
      return;
    }
  }
  pool.discard(session);
}

/** Nobody waits for it: what the next borrower sends comes after it on the connection. */
async function unlock(pool: SessionPool, session: Session): Promise<void> {
  if (!session.facts.unlocks) return;
  const [landing] = await fly(session, [[UNLOCK]]);
  // Also when it was hit by a cancel request for the next query, for which nobody waits any more then.
  if (landing?.error !== undefined) pool.discard(session);
}

/** Why a sound session may fail to be set up: a value refused, a statement forgotten, a cancel request. */
const ORDINARY = new Set(['22023', UNKNOWN_STATEMENT, QUERY_CANCELED]);

/** What else fails there may have been put in the place of our own statement, and would fail each time. */
function isOrdinary(error: Error | undefined): boolean {
  return ORDINARY.has(sqlStateOf(error) ?? '');
}

function isEnded(rollback: Landing | undefined): boolean {
  return rollback !== undefined && rollback.error === undefined;
}

function isIdle(session: Session): boolean {
  return session.client.getTransactionStatus() === 'I';
}
