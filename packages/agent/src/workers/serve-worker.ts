import type { Duplex } from 'node:stream';
import { isDeepStrictEqual } from 'node:util';
import { createAbort } from '@svc/edge';
import { createCallTable } from '@svc/protocol';
import type { Database, DatabaseChange, Query, SharingEnded } from '../databases/driver/driver.ts';
import { driverOf } from '../databases/drivers.ts';
import { createReceivedShares } from './caller-shares.ts';
import { createMessageReader, type MessageFields } from '../process-messages/message-reader.ts';
import { createMessageWriter } from '../process-messages/message-writer.ts';
import {
  FROM_WORKER,
  readCall,
  readData,
  readShares,
  TO_WORKER,
  writeAnswer,
  writeData,
  writeFailed,
  writeId,
  writeResult,
  writeState,
  type PrepareOrder,
  type SentCall,
  type StartOrder,
  type WorkerState,
} from './messages.ts';

/** How often a worker tells its state, which also tells that it is not stuck. */
export const BEAT_MS = 1000;
/** How soon it tells a changed state while calls are under way. */
const STATE_DELAY_MS = 25;

/**
 * What a worker does: it runs the calls that come over the stream on connections of its own, and sends their outcomes.
 * `end` ends the process, when the database is closed as the agent has ordered, or at once when the agent is gone.
 */
export function serveWorker(stream: Duplex, end: () => void): void {
  const writer = createMessageWriter(stream);
  const aborts = createCallTable<ReturnType<typeof createAbort>>();
  const shares = createReceivedShares();
  const queries = new Map<number, Query>();
  let database: Database | undefined;
  let told: WorkerState | undefined;
  let telling: NodeJS.Timeout | undefined;

  function start({ config, prepared }: StartOrder): void {
    database = driverOf(config.driver).connect(config, onChange);
    for (const [query, each] of prepared.entries())
      if (each !== undefined) queries.set(query, database.prepare(each));
    writeId(writer, FROM_WORKER.ready, 0);
    setInterval(() => {
      tellState();
      shares.forgetUnused(performance.now());
    }, BEAT_MS);
  }

  function onChange(change: DatabaseChange | SharingEnded): void {
    if ('sharingEnded' in change) {
      writeData(writer, FROM_WORKER.sharingEnded, change.sharingEnded);
      return;
    }
    if (!change.isUp) writeData(writer, FROM_WORKER.change, { advice: change.advice, detail: change.detail });
    tellState();
  }

  function tellState(): void {
    if (database === undefined) return;
    told = stateOf(database);
    writeState(writer, told);
  }

  function tellStateSoon(): void {
    telling ??= setTimeout(() => {
      telling = undefined;
      if (database !== undefined && hasChanged(stateOf(database))) tellState();
      if (aborts.size > 0) tellStateSoon();
    }, STATE_DELAY_MS);
  }

  /** Counts of transactions, which change with each call, wait for the next beat. */
  function hasChanged(state: WorkerState): boolean {
    return !isDeepStrictEqual({ ...told, transactions: undefined }, { ...state, transactions: undefined });
  }

  function queryOf(number: number): Query {
    const query = queries.get(number);
    if (query === undefined) throw new Error(`no query ${number} has been prepared`);
    return query;
  }

  async function run(sent: SentCall): Promise<void> {
    const { id, values, apiKeyName, requestId, caller, timeoutMs } = sent;
    const abort = createAbort();
    aborts.add(id, abort);
    const { signal } = abort;
    const share = sent.share === undefined ? undefined : shares.of(sent.share);
    if (share !== undefined) share.calls += 1;
    tellStateSoon();
    try {
      const query = queryOf(sent.query);
      const result = await query.run({ values, apiKeyName, requestId, caller, timeoutMs, signal, share });
      writeResult(writer, id, result);
    } catch (error) {
      writeFailed(writer, id, error);
    }
    aborts.delete(id);
    if (share !== undefined) {
      share.calls -= 1;
      share.usedAt = performance.now();
    }
    tellStateSoon();
  }

  /** `undefined` is an answer, too: the query has no labels. */
  async function answer(id: number, work: () => Promise<unknown> | undefined): Promise<void> {
    try {
      writeAnswer(writer, id, await work());
    } catch (error) {
      writeFailed(writer, id, error);
    }
    tellStateSoon();
  }

  async function close(): Promise<void> {
    await database?.close();
    // The results of the last calls leave at the end of this turn of the event loop.
    setImmediate(() => stream.end(end));
  }

  function act(kind: number, fields: MessageFields): void {
    switch (kind) {
      case TO_WORKER.start:
        return start(readData<StartOrder>(fields));
      case TO_WORKER.call:
        return void run(readCall(fields));
      case TO_WORKER.cancel:
        return aborts.get(fields.number())?.abort();
      case TO_WORKER.shares:
        for (const values of readShares(fields)) shares.of(values);
        return;
      case TO_WORKER.close:
        return void close();
    }
    if (database === undefined) throw new Error('a worker must be started first');
    const opened = database;
    switch (kind) {
      case TO_WORKER.prepare: {
        const { query, prepared } = readData<PrepareOrder>(fields);
        queries.set(query, opened.prepare(prepared));
        return;
      }
      case TO_WORKER.forget: {
        const number = fields.number();
        opened.forget(queryOf(number));
        queries.delete(number);
        return;
      }
      case TO_WORKER.ping:
        return void answer(fields.number(), () => opened.ping());
      case TO_WORKER.changedLabels: {
        const id = fields.number();
        const query = queryOf(fields.number());
        return void answer(id, () => query.changedLabels?.());
      }
      default:
        throw new Error(`no message is of kind ${kind}`);
    }
  }

  stream.on('data', createMessageReader(act));
  // The agent is gone: nothing waits for what runs here.
  stream.on('error', end);
  stream.on('close', end);
}

function stateOf({ connections, isUp, transactions }: Database): WorkerState {
  return { ...connections, isUp, transactions };
}
