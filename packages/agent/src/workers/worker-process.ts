import { errorText, type OwnCode } from '@svc/edge';
import { createCallTable } from '@svc/protocol';
import type {
  CallerShare,
  DatabaseConfig,
  PreparedCapability,
  QueryCall,
  QueryResult,
} from '../databases/driver/driver.ts';
import { DatabaseError } from '../databases/driver/errors.ts';
import { MESSAGE_MAX_BYTES } from '../databases/sessions/answer-bounds.ts';
import { createSentShares } from './caller-shares.ts';
import { startMessageChild } from '../process-messages/message-child.ts';
import type { MessageFields } from '../process-messages/message-reader.ts';
import {
  FROM_WORKER,
  readData,
  readFailed,
  readResult,
  readState,
  TO_WORKER,
  writeCall,
  writeData,
  writeId,
  writeShares,
  type Loss,
  type PrepareOrder,
  type StartOrder,
  type WorkerState,
} from './messages.ts';
import { BEAT_MS } from './serve-worker.ts';

/** One worker from the start of its process to its end. */
export interface WorkerProcess {
  /** Calls and questions that it has. */
  readonly size: number;
  readonly connections: number;
  /** Whether it has carried out its start order, and runs calls. */
  readonly isReady: boolean;
  /** Whether it has been silent for longer than a healthy worker is. */
  readonly isSilent: boolean;
  /** Once it has ended, only its counts of transactions are left. */
  readonly state: WorkerState;
  prepare(query: number, prepared: PreparedCapability): void;
  forget(query: number): void;
  /** `isAgain`: the worker that had the call before has ended. */
  run(query: number, call: QueryCall, timeoutMs: number, isAgain: boolean): Promise<QueryResult>;
  /** Sends it the present shares of the callers whose calls it has: calls in other workers change them. */
  tellShares(): void;
  ping(): Promise<void>;
  /** Undefined if the query has no labels that could change. */
  changedLabels(query: number): Promise<readonly string[] | undefined>;
  /** To be called every `BEAT_MS`: kills it when it has been silent for too long. */
  look(): void;
  /** Lets its calls end, and then its process. */
  close(): void;
}

export interface WorkerProcessOptions {
  readonly code: OwnCode;
  /** Its `maxConnections` is the worker's part of them. */
  readonly config: DatabaseConfig;
  readonly prepared: StartOrder['prepared'];
  readonly onReady: () => void;
  readonly onState: (loss: Loss | undefined) => void;
  readonly onSharingEnded: (capability: string) => void;
  /** Runs a call again that the worker had had only for a short time when it ended. */
  readonly runAgain: (query: number, call: QueryCall, timeoutMs: number) => Promise<QueryResult>;
  /** Called once, when everything that it has said is known, and its calls have failed or run elsewhere. */
  readonly onEnded: (end: WorkerEnd) => void;
}

export interface WorkerEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The end of what it wrote to standard error, and why it was killed; for the log file only. */
  readonly detail: string;
}

/** After so many silent looks a worker gets no further call if there are others; after more it is killed. */
const SILENT_LOOKS = 2;
const HUNG_LOOKS = 10;
/** A busy machine may take long to start a process. */
const START_LOOKS = 30;
/** A call that took longer may be what ended the worker. Running the others twice is safe, since all only read. */
const RUN_AGAIN_MS = 1000;
const NO_STATE: WorkerState = { idle: 0, busy: 0, opening: 0, waiting: 0, isUp: true };

interface Sent {
  /** Undefined for a question. */
  readonly call: QueryCall | undefined;
  /** When its time is up, by `performance.now()`. */
  readonly deadline: number;
  readonly onAbort: () => void;
  readonly resolve: (fields: MessageFields) => void;
  readonly reject: (error: Error) => void;
  /** The worker has ended. */
  readonly onLost: () => void;
}

function lost(): DatabaseError {
  const advice = 'the worker process that used it has ended';
  return new DatabaseError('unavailable', 'the worker that ran it has ended', { advice });
}

export function startWorkerProcess(options: WorkerProcessOptions): WorkerProcess {
  const { config, onReady, onState, onEnded } = options;
  const sent = createCallTable<Sent>();
  const shares = createSentShares(config.maxConnections);
  let isReady = false;
  let hasEnded = false;
  let silentLooks = 0;
  let state = NO_STATE;
  let loss: Loss | undefined;
  const child = startMessageChild(
    options.code,
    {},
    {
      onMessage: act,
      checkLength(bytes) {
        if (bytes < 0 || bytes > MESSAGE_MAX_BYTES)
          throw new Error(`a worker sent a message of ${bytes} bytes`);
      },
      onUnreadable: (error) => child.kill(errorText(error)),
      onEnd: ({ code, signal, failure, stderr }) => ended({ code, signal, detail: failure ?? stderr }),
    },
  );
  const { writer } = child;
  const nextId = (): number => child.nextId((id) => sent.get(id) !== undefined);

  function remove(id: number): Sent | undefined {
    const found = sent.get(id);
    sent.delete(id);
    found?.call?.signal.removeEventListener('abort', found.onAbort);
    return found;
  }

  function act(kind: number, fields: MessageFields): void {
    switch (kind) {
      case FROM_WORKER.result:
      case FROM_WORKER.answer:
        return remove(fields.number())?.resolve(fields);
      case FROM_WORKER.failed:
        return remove(fields.number())?.reject(readFailed(fields));
      case FROM_WORKER.ready:
        isReady = true;
        return onReady();
      case FROM_WORKER.change:
        loss = readData<Loss>(fields);
        return;
      case FROM_WORKER.state:
        state = readState(fields);
        return onState(loss);
      case FROM_WORKER.sharingEnded:
        return options.onSharingEnded(readData<string>(fields));
      default:
        throw new Error(`a worker sent a message of kind ${kind}`);
    }
  }

  function ask<T>(kind: number, read: (fields: MessageFields) => T, more?: number): Promise<T> {
    return new Promise((resolve, reject) => {
      if (hasEnded) throw lost();
      const id = nextId();
      sent.add(id, {
        call: undefined,
        deadline: Number.POSITIVE_INFINITY,
        onAbort: () => {},
        resolve: (fields) => resolve(read(fields)),
        reject,
        onLost: () => reject(lost()),
      });
      writeId(writer, kind, id, more);
    });
  }

  function ended(end: WorkerEnd): void {
    hasEnded = true;
    isReady = false;
    state = { ...NO_STATE, transactions: state.transactions };
    for (const [id] of sent.entries()) remove(id)?.onLost();
    onEnded(end);
  }

  /** Ends calls whose time is up, or that were cancelled, before a worker that hangs is killed. */
  function giveUpOverdue(): void {
    const now = performance.now();
    for (const [id, { call, deadline, reject }] of sent.entries()) {
      if (call === undefined || (!call.signal.aborted && now < deadline)) continue;
      remove(id);
      const why = 'its worker does not answer';
      reject(new DatabaseError(call.signal.aborted ? 'cancelled' : 'timeout', why));
    }
  }

  child.pipe.on('data', () => {
    silentLooks = 0;
  });
  writeData(writer, TO_WORKER.start, { config, prepared: options.prepared } satisfies StartOrder);

  return {
    connections: config.maxConnections,
    get size() {
      return sent.size;
    },
    get isReady() {
      return isReady;
    },
    get isSilent() {
      return silentLooks >= SILENT_LOOKS;
    },
    get state() {
      return state;
    },
    prepare: (query, prepared) =>
      writeData(writer, TO_WORKER.prepare, { query, prepared } satisfies PrepareOrder),
    forget: (query) => writeId(writer, TO_WORKER.forget, query),
    run: (query, call, timeoutMs, isAgain) =>
      new Promise((resolve, reject) => {
        const id = nextId();
        const deadline = performance.now() + timeoutMs;
        const { signal, share } = call;
        const onAbort = (): void => writeId(writer, TO_WORKER.cancel, id);
        signal.addEventListener('abort', onAbort);
        sent.add(id, {
          call,
          deadline,
          onAbort,
          resolve: (fields) => resolve(readResult(fields)),
          reject,
          onLost: () => {
            const leftMs = deadline - performance.now();
            if (isAgain || timeoutMs - leftMs > RUN_AGAIN_MS) reject(lost());
            else options.runAgain(query, call, leftMs).then(resolve, reject);
          },
        });
        writeCall(writer, id, query, call, timeoutMs, share && shares.of(share));
      }),
    tellShares() {
      const callers = new Set<CallerShare>();
      sent.forEach(({ call }) => {
        if (call?.share !== undefined) callers.add(call.share);
      });
      const changed = shares.changed(callers);
      if (changed.length > 0) writeShares(writer, changed);
    },
    ping: () => ask(TO_WORKER.ping, () => undefined),
    changedLabels: (query) =>
      ask(TO_WORKER.changedLabels, (fields) => readData<readonly string[] | undefined>(fields), query),
    look() {
      silentLooks += 1;
      if (silentLooks >= SILENT_LOOKS && isReady) giveUpOverdue();
      if (silentLooks < (isReady ? HUNG_LOOKS : START_LOOKS) || hasEnded) return;
      child.kill(`it said nothing for ${(silentLooks * BEAT_MS) / 1000} s and was killed`);
      silentLooks = 0;
    },
    close: () => writeId(writer, TO_WORKER.close, 0),
  };
}
