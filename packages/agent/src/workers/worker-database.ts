import { errorText, restartDelay, type OwnCode } from '@svc/edge';
import { waitFor } from '../calls/wait-for.ts';
import type {
  Database,
  DatabaseChange,
  DatabaseConfig,
  PreparedCapability,
  Query,
  QueryCall,
  QueryResult,
  SharingEnded,
  TransactionCounts,
} from '../databases/driver/driver.ts';
import { DatabaseError } from '../databases/driver/errors.ts';
import { createDatabaseLoss, sumOf, sumOfTransactions } from './database-loss.ts';
import { BEAT_MS } from './serve-worker.ts';
import { startWorkerProcess, type WorkerEnd, type WorkerProcess } from './worker-process.ts';

export interface WorkerDatabaseOptions {
  readonly code: OwnCode;
  /** How many workers, at most as many as connections. */
  readonly workers: number;
  readonly config: DatabaseConfig;
  /** Each worker tells of the end of sharing for itself. */
  readonly onChange: (change: DatabaseChange | SharingEnded) => void;
  readonly onWorkerEnded: (end: WorkerEnded) => void;
}

/** A worker that ended although it should run. */
export interface WorkerEnded extends WorkerEnd {
  /** From 0. */
  readonly worker: number;
  readonly restartInMs: number;
}

export interface WorkerDatabase extends Database {
  /** How often a worker was restarted. */
  readonly restarts: number;
}

/** How old the shares that workers know may be while there are several callers. */
const SHARES_MS = 50;

/**
 * A database whose calls are run by workers, processes that each have a part of the connections. A call goes to the worker
 * with the fewest calls for each of its connections. A worker that ends is restarted: calls that it had had for a while fail,
 * as when a connection is lost, and the others run again. While there is no worker, calls wait for one. Resolves when all
 * workers are ready; rejects if one cannot start.
 */
export async function openWorkerDatabase(options: WorkerDatabaseOptions): Promise<WorkerDatabase> {
  const { config, onChange, onWorkerEnded } = options;
  /** By their numbers. The number of a forgotten query is given to the next. */
  const prepared: (PreparedCapability | undefined)[] = [];
  const forgetting = new Map<Query, () => void>();
  const loss = createDatabaseLoss(onChange);
  const waiting = new Set<() => void>();
  let restarts = 0;
  /** Of workers that have ended. */
  let formerTransactions: TransactionCounts | undefined;
  let isClosing = false;
  let onClosed = (): void => {};
  const closed = new Promise<void>((resolve) => {
    onClosed = resolve;
  });
  let sharing: NodeJS.Timeout | undefined;

  /** By the numbers of the workers; undefined from the end of one to the start of the next. */
  const places: (WorkerProcess | undefined)[] = [];
  let isStarting = true;
  const looking = setInterval(() => {
    for (const worker of places) worker?.look();
  }, BEAT_MS);

  /** Keeps a worker running. Calls back when the first is ready, or has ended before. */
  function keepWorker(number: number, onStart: (failure?: Error) => void): void {
    let restartInMs = 0;
    const maxConnections = partOf(config.maxConnections, options.workers, number);

    function start(isAgain: boolean): void {
      const startedAt = performance.now();
      const worker = startWorkerProcess({
        code: options.code,
        config: { ...config, maxConnections },
        prepared,
        onReady: () => {
          // Otherwise its first call would wait for a connection. If none can be made, the calls report it.
          if (isAgain) worker.ping().catch(() => {});
          wakeWaiting();
          onStart();
        },
        runAgain: (query, call, timeoutMs) => runLater(query, call, timeoutMs, true),
        onState: (reason) => loss.changed(states(), reason),
        onSharingEnded: (sharingEnded) => onChange({ sharingEnded }),
        onEnded: (end) => {
          formerTransactions = sumOfTransactions([formerTransactions, worker.state.transactions]);
          places[number] = undefined;
          if (isClosing) {
            settleClose();
            return;
          }
          if (isStarting) {
            const { code, signal, detail } = end;
            onStart(new Error(`cannot start worker ${number}: it ended with ${signal ?? code}: ${detail}`));
            return;
          }
          startLater(end, performance.now() - startedAt);
        },
      });
      places[number] = worker;
    }

    function startLater(end: WorkerEnd, livedMs: number): void {
      restartInMs = restartDelay(livedMs, restartInMs);
      setTimeout(() => startAgain(), restartInMs);
      onWorkerEnded({ ...end, worker: number, restartInMs });
    }

    function startAgain(): void {
      if (isClosing) return;
      restarts += 1;
      try {
        start(true);
      } catch (error) {
        // Without memory for another process the remaining workers run the calls.
        startLater({ code: null, signal: null, detail: errorText(error) }, 0);
      }
    }

    start(false);
  }

  function workers(): readonly WorkerProcess[] {
    return places.filter((worker) => worker !== undefined);
  }

  function states(): readonly WorkerProcess['state'][] {
    return workers().map(({ state }) => state);
  }

  function wakeWaiting(): void {
    for (const wake of waiting) wake();
  }

  /** A worker that hangs or has lost the database is chosen only if all have. */
  function leastBusy(): WorkerProcess | undefined {
    let found: WorkerProcess | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const worker of places) {
      if (worker?.isReady !== true) continue;
      const handicap = worker.isSilent ? 2e9 : worker.state.isUp ? 0 : 1e9;
      const load = handicap + (worker.size + 1) / worker.connections;
      if (load >= least) continue;
      found = worker;
      least = load;
    }
    return found;
  }

  function run(query: number, call: QueryCall): Promise<QueryResult> {
    const worker = isClosing || call.signal.aborted ? undefined : leastBusy();
    if (worker === undefined) return runLater(query, call, call.timeoutMs, false);
    if (call.share?.isAlone === false) sharing ??= setTimeout(tellShares, SHARES_MS);
    return worker.run(query, call, call.timeoutMs, false);
  }

  async function runLater(
    query: number,
    call: QueryCall,
    timeoutMs: number,
    isAgain: boolean,
  ): Promise<QueryResult> {
    const deadline = performance.now() + timeoutMs;
    for (;;) {
      if (isClosing) throw new DatabaseError('unavailable', 'cannot run: the database is being closed');
      if (call.signal.aborted) throw new DatabaseError('cancelled', 'cancelled before it began');
      const worker = leastBusy();
      const leftMs = deadline - performance.now();
      if (leftMs <= 0) throw new DatabaseError('timeout', 'no worker was there in time');
      if (worker !== undefined) return worker.run(query, call, leftMs, isAgain);
      // Until there may be a worker.
      await waitFor<void>(leftMs, call.signal, (settle) => {
        const wake = (): void => settle();
        waiting.add(wake);
        return () => waiting.delete(wake);
      });
    }
  }

  function tellShares(): void {
    sharing = undefined;
    const busy = workers().filter(({ size }) => size > 0);
    for (const worker of busy) worker.tellShares();
    if (busy.length > 0) sharing = setTimeout(tellShares, SHARES_MS);
  }

  /** A worker knows only what it has told itself; what any worker has told is remembered here. */
  function changedLabels(query: number, isKnown: () => boolean): NonNullable<Query['changedLabels']> {
    const told = new Set<string>();
    let hasNone = false;
    return async () => {
      const worker = leastBusy();
      if (worker === undefined || hasNone || !isKnown()) return [];
      try {
        const params = await worker.changedLabels(query);
        hasNone = params === undefined;
        const fresh = (params ?? []).filter((param) => !told.has(param));
        for (const param of fresh) told.add(param);
        return fresh;
      } catch (error) {
        // The next refused call asks again.
        if (error instanceof DatabaseError) return [];
        throw error;
      }
    };
  }

  function settleClose(): void {
    if (workers().length > 0) return;
    clearInterval(looking);
    clearTimeout(sharing);
    onClosed();
  }

  const database: WorkerDatabase = {
    async ping() {
      if (isClosing) throw new DatabaseError('unavailable', 'cannot ask: the database is being closed');
      await Promise.all(workers().map((worker) => worker.ping()));
    },
    prepare(each) {
      const free = prepared.indexOf(undefined);
      const number = free === -1 ? prepared.length : free;
      prepared[number] = each;
      for (const worker of workers()) worker.prepare(number, each);
      let isForgotten = false;
      const query: Query = {
        run(call) {
          // The number may be another query's by now.
          if (isForgotten) throw new Error(`cannot run ${each.capability}: it is forgotten`);
          return run(number, call);
        },
        changedLabels: changedLabels(number, () => !isForgotten),
      };
      forgetting.set(query, () => {
        isForgotten = true;
        prepared[number] = undefined;
        for (const worker of workers()) worker.forget(number);
      });
      return query;
    },
    forget(query) {
      forgetting.get(query)?.();
      forgetting.delete(query);
    },
    get connections() {
      return sumOf(states());
    },
    get isUp() {
      return !loss.isLost;
    },
    get transactions() {
      return sumOfTransactions([formerTransactions, ...states().map(({ transactions }) => transactions)]);
    },
    get restarts() {
      return restarts;
    },
    async close() {
      if (isClosing) return closed;
      isClosing = true;
      wakeWaiting();
      for (const worker of workers()) worker.close();
      settleClose();
      return closed;
    },
  };
  try {
    await Promise.all(
      Array.from({ length: options.workers }, (_, number) => {
        return new Promise<void>((resolve, reject) => {
          keepWorker(number, (failure) => (failure === undefined ? resolve() : reject(failure)));
        });
      }),
    );
  } catch (error) {
    await database.close();
    throw error;
  }
  isStarting = false;
  return database;
}

/** Of `whole` things shared by `count`, as many as the one with this number has. */
function partOf(whole: number, count: number, number: number): number {
  return Math.floor(whole / count) + (number < whole % count ? 1 : 0);
}
