import type { Duplex } from 'node:stream';
import { createAbort } from '@svc/edge';
import { createCallTable } from '@svc/protocol';
import type { Database, DatabaseChange, Query } from '../databases/driver/driver.ts';
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

/** How often a worker says how it is doing, which also tells that it is not stuck. */
export const BEAT_MS = 1000;
/** How often it does besides while calls are under way, where it is doing otherwise than it said last. */
const STATE_DELAY_MS = 25;

/**
 * What a worker does: runs the calls that come over the stream on connections of its own, and says how they end. `end`
 * ends the process, once the database is closed as the agent wanted it, or at once when the agent is gone.
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
    for (const [query, each] of prepared.entries()) {
      if (each !== undefined) prepare(database, { query, prepared: each });
    }
    writeId(writer, FROM_WORKER.ready, 0);
    setInterval(() => {
      tellState();
      shares.forgetUnused(performance.now());
    }, BEAT_MS);
  }

  function prepare(opened: Database, { query, prepared }: PrepareOrder): void {
    queries.set(query, opened.prepare(prepared));
  }

  function forget(opened: Database, number: number): void {
    opened.forget(queryOf(number));
    queries.delete(number);
  }

  function onChange(change: DatabaseChange): void {
    if (!change.isUp) writeData(writer, FROM_WORKER.change, { advice: change.advice, detail: change.detail });
    tellState();
  }

  function tellState(): void {
    if (database === undefined) return;
    told = { ...database.connections, isUp: database.isUp };
    writeState(writer, told);
  }

  function tellStateSoon(): void {
    telling ??= setTimeout(() => {
      telling = undefined;
      if (database !== undefined && isOther(told, database)) tellState();
      if (aborts.size > 0) tellStateSoon();
    }, STATE_DELAY_MS);
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
      writeResult(
        writer,
        id,
        await query.run({ values, apiKeyName, requestId, caller, timeoutMs, signal, share }),
      );
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

  /** `undefined` is an answer, too: there is nothing to ask for. */
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
    // Behind the results of the last calls, which leave at the end of their turn of the event loop.
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
      case TO_WORKER.prepare:
        return prepare(opened, readData<PrepareOrder>(fields));
      case TO_WORKER.forget:
        return forget(opened, fields.number());
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
  // Without the agent nobody waits for what runs here.
  stream.on('error', end);
  stream.on('close', end);
}

function isOther(told: WorkerState | undefined, { connections, isUp }: Database): boolean {
  const { idle, busy, opening, waiting } = connections;
  return (
    told?.isUp !== isUp ||
    told.idle !== idle ||
    told.busy !== busy ||
    told.opening !== opening ||
    told.waiting !== waiting
  );
}
