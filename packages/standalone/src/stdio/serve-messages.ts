import { randomUUID } from 'node:crypto';
import { createAbort } from '@svc/edge';
import {
  ACCEPTED,
  answerItems,
  badRequest,
  BATCH_MAX,
  CallerGone,
  cancelledIdOf,
  emptyCallLog,
  errorAnswer,
  idOf,
  isObject,
  loggedMethod,
  parseJson,
  readMessage,
  RPC,
  RpcError,
  WITH_BATCHES,
  type Answer,
  type ApiKeyPrincipal,
  type CallLog,
  type Message,
  type Revisions,
} from '@svc/gateway/mcp';
import { createCallsById } from './calls-by-id.ts';
import type { MessagesOut } from './messages-out.ts';
import type { Started, StartState } from './start-state.ts';
import { createSubscriptions } from './subscriptions.ts';

/** The fields of a `request` record, of which HTTP has more. */
export interface RequestRecord {
  readonly requestId: string;
  readonly log: CallLog;
  readonly durationMs: number;
}

export interface ServeMessagesOptions {
  readonly start: StartState;
  readonly principal: ApiKeyPrincipal;
  readonly revisions: Revisions;
  readonly out: MessagesOut;
  readonly onRequest: (record: RequestRecord) => void;
  /** For what is a fault of the program. */
  readonly onFailure: (error: unknown) => void;
}

export interface ServedMessages {
  receive(line: Buffer): void;
  /** A line was longer than messages may be. */
  refuseTooLong(): void;
  /** The tools of this caller have changed. */
  listChanged(): void;
  /** Requests without an answer, those that stay open not counted. */
  readonly underWay: number;
  /** Resolves when every request has its answer, those that stay open not counted. */
  idle(): Promise<void>;
  /** By `performance.now()`; undefined before the first answer. */
  readonly answeredAt: number | undefined;
  /** Answers the subscriptions, and takes no further message. */
  close(): void;
  /** Has what is under way end without an answer. */
  abort(): void;
}

const INITIALIZE_WAIT_MS = 8000;
/** What requests that wait for the start may hold together; each holds its own bytes and some more. */
const WAITING_MAX_BYTES = 16 * 1024 * 1024;
const WAITING_OVERHEAD_BYTES = 16_384;
const LISTEN = 'subscriptions/listen';

/** Serves the lines of the one client: each is a message, or a batch of messages. */
export function createServeMessages(options: ServeMessagesOptions): ServedMessages {
  const { start, principal, revisions, out } = options;
  const calls = createCallsById(revisions);
  const ending = createAbort();
  const subscriptions = createSubscriptions((json) => out.write({ parts: [Buffer.from(json)] }));
  /** The revision that `initialize` has agreed on. */
  let revision: string | undefined;
  let isInitialized = false;
  let isClosed = false;
  let underWay = 0;
  let waitingBytes = 0;
  let answeredAt: number | undefined;
  let onIdle: (() => void) | undefined;

  /** Resolves to false if the client has cancelled the request, or the process ends. */
  async function waitFor(id: string, what: Promise<unknown>, atMostMs?: number): Promise<boolean> {
    if (ending.signal.aborted) return false;
    const waiting = calls.begin(id, 'handshake', ending.signal);
    if (waiting === undefined) throw new Error('a request cannot be cancelled');
    let timer: NodeJS.Timeout | undefined;
    const left = new Promise<void>((resolve) => waiting.signal.addEventListener('abort', resolve));
    const late = new Promise<void>((resolve) => {
      if (atMostMs !== undefined) timer = setTimeout(resolve, atMostMs);
    });
    try {
      await Promise.race([what, left, late]);
      return !waiting.signal.aborted;
    } finally {
      clearTimeout(timer);
      waiting.end();
    }
  }

  async function answerTo(
    message: Message,
    log: CallLog,
    requestId: string,
    batched: boolean,
  ): Promise<Answer> {
    const { id, method } = message;
    const era = id === undefined ? undefined : calls.eraOf(message);
    if (id !== undefined) {
      const isWaiting = start.now === undefined && !(method === 'ping' && era === 'handshake');
      if (isWaiting) {
        const isIntroduction = method === 'server/discover';
        const limit = method === 'initialize' ? INITIALIZE_WAIT_MS : undefined;
        const held = message.raw.length + WAITING_OVERHEAD_BYTES;
        if (waitingBytes + held > WAITING_MAX_BYTES) throw tooManyWait();
        waitingBytes += held;
        const isAsked = await waitFor(id, isIntroduction ? start.read : start.started, limit);
        waitingBytes -= held;
        if (!isAsked) return ACCEPTED;
      }
    }
    const { now } = start;
    if (now !== undefined && 'fault' in now && isRefusedByFault(method)) throw startError(now.fault);
    if (method === LISTEN && id !== undefined && era === 'stateless' && !batched) {
      subscriptions.open(id, message);
      return ACCEPTED;
    }
    const serve = now !== undefined && 'serve' in now ? now.serve : start.provisional;
    const answer = await serve(message, {
      principal,
      requestId,
      traceparents: [],
      signal: ending.signal,
      log,
      transport: calls,
      batched,
      beginTrace: undefined,
    });
    if (method === 'initialize' && answer.status === 200 && id !== undefined)
      revision = revisions.negotiate(message.params['protocolVersion']);
    return answer;
  }

  /** Never rejects. */
  async function serveOne(value: unknown, raw: Buffer, batched: boolean): Promise<Answer> {
    const log = emptyCallLog();
    const startedAt = performance.now();
    const requestId = randomUUID();
    try {
      const message = readMessage(value, raw);
      log.mcpMethod = loggedMethod(message.method);
      if (message.id === undefined) heard(message);
      return await answerTo(message, log, requestId, batched);
    } catch (error) {
      if (error instanceof CallerGone) return ACCEPTED;
      const shown = error instanceof RpcError ? error : internalError(error);
      log.errorCode = shown.logCode;
      return errorAnswer(idOf(value, raw), shown);
    } finally {
      options.onRequest({ requestId, log, durationMs: performance.now() - startedAt });
    }
  }

  function heard(notification: Message): void {
    if (notification.method === 'notifications/initialized') isInitialized = true;
    if (notification.method !== 'notifications/cancelled') return;
    const id = cancelledIdOf(notification);
    if (id !== undefined) subscriptions.cancel(id);
  }

  function internalError(error: unknown): RpcError {
    options.onFailure(error);
    return new RpcError(RPC.internalError, 'internal error', { logCode: 'GATEWAY_INTERNAL' });
  }

  async function serveBatch(values: readonly unknown[], raw: Buffer): Promise<Answer> {
    if (revision === undefined || !WITH_BATCHES.has(revision)) {
      const which = revision === undefined ? 'before `initialize` there are' : `revision ${revision} has`;
      throw badRequest(RPC.invalidRequest, `${which} no batches; send one message a line`);
    }
    if (values.length === 0 || values.length > BATCH_MAX)
      throw badRequest(RPC.invalidRequest, `a batch holds 1 to ${BATCH_MAX} messages`);
    return answerItems(values, raw, (value, item) => serveOne(value, item, true));
  }

  async function serveLine(line: Buffer): Promise<Answer> {
    let value: unknown;
    try {
      value = parseJson(line);
      if (Array.isArray(value)) return await serveBatch(value, line);
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      return errorAnswer(undefined, error);
    }
    return isResponse(value) ? ACCEPTED : serveOne(value, line, false);
  }

  return {
    receive(line) {
      if (isClosed || isBlank(line)) return;
      underWay += 1;
      void serveLine(line).then((answer) => {
        underWay -= 1;
        if (answer.parts.length > 0) answeredAt = performance.now();
        out.write(answer);
        if (underWay === 0) onIdle?.();
      });
    },
    refuseTooLong() {
      if (isClosed) return;
      out.write(errorAnswer(undefined, badRequest(RPC.invalidRequest, 'the message is too long')));
    },
    listChanged() {
      subscriptions.listChanged();
      if (!isInitialized || revision === undefined) return;
      out.write({ parts: [Buffer.from('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}')] });
    },
    get underWay() {
      return underWay;
    },
    get answeredAt() {
      return answeredAt;
    },
    async idle() {
      if (underWay > 0) await new Promise<void>((resolve) => (onIdle = resolve));
    },
    close() {
      isClosed = true;
      subscriptions.close();
    },
    abort: () => ending.abort(),
  };
}

/** What a client cannot go on without. */
function isRefusedByFault(method: string): boolean {
  return method === 'initialize' || method.startsWith('tools/') || method === LISTEN;
}

function startError({ message, faults }: Extract<Started, { fault: unknown }>['fault']): RpcError {
  return new RpcError(RPC.internalError, message, { data: { faults }, logCode: 'GATEWAY_AGENT_OFFLINE' });
}

function tooManyWait(): RpcError {
  const message = 'too many requests wait for the start: send more once one is answered';
  return new RpcError(RPC.internalError, message, { logCode: 'GATEWAY_AGENT_OFFLINE' });
}

function isResponse(value: unknown): boolean {
  return (
    isObject(value) &&
    !Object.hasOwn(value, 'method') &&
    (Object.hasOwn(value, 'result') || Object.hasOwn(value, 'error'))
  );
}

function isBlank(line: Buffer): boolean {
  return line.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
}
