import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { createAbort, type AbortSignalLike } from '@svc/edge';
import type { CallErrorCode } from '@svc/protocol';
import { CallError, CallerGone, errorResponse } from '../core/call-error.ts';
import type { CallerRecord, Observe, RequestEvent } from '../telemetry/events.ts';
import type { CallTrace, GatewayTraces } from '../telemetry/traces.ts';
import type { Cors } from '../access/cors.ts';
import { readRequestHeaders, type RequestHeaders } from './request/headers.ts';
import { streamAnswer, writeAnswer, type AnswerPart, type WritePieces } from './response-writer.ts';

export interface CallLog {
  capability: string;
  /** Empty for what is not MCP. */
  mcpMethod: string;
  /** Of a call that failed although the HTTP answer has no error body of the gateway, as in MCP. */
  errorCode: string;
  /** Whether the caller cancelled it without closing the connection, as MCP clients do. */
  cancelled: boolean;
  /** Milliseconds; undefined when the call took as long as the request. */
  durationMs: number | undefined;
  trace: CallTrace | undefined;
}

/** For a message of which nothing is known yet. */
export function emptyCallLog(): CallLog {
  return {
    capability: '',
    mcpMethod: '',
    errorCode: '',
    cancelled: false,
    durationMs: undefined,
    trace: undefined,
  };
}

/** One request and its one answer, with what the log will say of it. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly headers: RequestHeaders;
  readonly requestId: string;
  /** Aborted when the caller closes the connection before the answer. */
  readonly signal: AbortSignalLike;
  readonly upgrade: { readonly socket: Socket; readonly head: Buffer } | undefined;
  /** Filled in as it becomes known; `route` is the template. */
  readonly log: CallLog & {
    source: string;
    route: string;
    apiKeyName: string;
    /** The service of the path; empty when it has none or is not known, undefined when there is only the default one. */
    service: string | undefined;
    /** Undefined when the gateway takes no tokens. */
    caller: CallerRecord | undefined;
  };
  cors: Cors | undefined;
  /** The calls of a request that holds several: each gets a record of its own. */
  batch: readonly CallLog[] | undefined;
  /** What is bounded per source counts by this: an IPv4 address or an IPv6 /64. */
  sourceBucket: string;
  /** Whether the body has been or need not be read. */
  bodyTaken: boolean;
  /** Sends the answer; `parts` are concatenated. `delivered` is called when they need no more memory. */
  send(
    status: number,
    headers: readonly string[],
    parts: readonly AnswerPart[],
    delivered?: () => void,
  ): void;
  /** Sends an answer whose pieces are made as the caller takes them. `write` may send them in another form. */
  stream(
    status: number,
    headers: readonly string[],
    pieces: Iterable<AnswerPart>,
    delivered?: () => void,
    write?: WritePieces,
  ): void;
  sendError(code: CallErrorCode, message?: string, extraHeaders?: readonly string[]): void;
  elapsedMs(): number;
  /** Answers what was thrown; a caller that is gone gets no answer. */
  fail(error: unknown): void;
  /** Must be called when the answer has been sent, or never will be. */
  closed(): void;
  /** The WebSocket took the connection over. */
  switchedProtocols(): void;
}

const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;
/** nginx's name for "client closed request"; only ever logged, for calls that were cancelled too. */
const CALLER_GONE_STATUS = 499;

export interface ExchangeOptions {
  readonly cors: Cors | undefined;
  /** What is recorded before the caller is known; undefined when the gateway takes no tokens. */
  readonly unknownCaller: CallerRecord | undefined;
  /** What is recorded before the service is known; undefined when there is only the default one. */
  readonly unknownService: '' | undefined;
  readonly traces?: GatewayTraces | undefined;
  readonly observe: Observe;
  readonly now: () => number;
}

export function openExchange(
  request: IncomingMessage,
  response: ServerResponse,
  upgrade: Exchange['upgrade'],
  options: ExchangeOptions,
): Exchange {
  const { observe, now, traces } = options;
  const startedAt = now();
  const headers = readRequestHeaders(request.rawHeaders);
  const requestId =
    headers.requestId !== undefined && REQUEST_ID.test(headers.requestId) ? headers.requestId : randomUUID();
  const abort = createAbort();
  const log = {
    source: '',
    route: '',
    apiKeyName: '',
    service: options.unknownService,
    caller: options.unknownCaller,
    capability: '',
    mcpMethod: '',
    errorCode: '',
    cancelled: false,
    durationMs: undefined,
    trace: undefined,
  };
  let answered = false;

  function record(status: number, errorCode: string): void {
    for (const call of exchange.batch ?? [log]) recordCall(call, status, errorCode);
  }

  function recordCall(call: CallLog, status: number, errorCode: string): void {
    const event: RequestEvent = {
      event: 'request',
      mcp_method: call.mcpMethod === '' ? undefined : call.mcpMethod,
      request_id: requestId,
      api_key_name: log.apiKeyName,
      capability: call.capability,
      http_status: call.cancelled ? CALLER_GONE_STATUS : status,
      method: request.method ?? '',
      service: log.service,
      route: log.route,
      source: log.source,
      duration_ms: Math.round((call.durationMs ?? exchange.elapsedMs()) * 1000) / 1000,
      error_code: errorCode === '' ? call.errorCode : errorCode,
    };
    if (traces !== undefined) addTrace(event, call.trace, traces);
    observe(log.caller === undefined ? event : Object.assign(event, log.caller));
  }

  /** Only the first answer is sent. */
  function answer(
    status: number,
    errorCode: string,
    delivered: (() => void) | undefined,
    write: () => void,
  ): void {
    if (answered) {
      delivered?.();
      return;
    }
    answered = true;
    record(status, errorCode);
    write();
  }

  const exchange: Exchange = {
    request,
    headers,
    requestId,
    signal: abort.signal,
    upgrade,
    log,
    sourceBucket: '',
    cors: options.cors,
    batch: undefined,
    bodyTaken: false,
    send(status, extra, parts, delivered) {
      answer(status, '', delivered, () => writeAnswer(exchange, response, status, extra, parts, delivered));
    },
    stream(status, extra, pieces, delivered, write) {
      answer(status, '', delivered, () =>
        streamAnswer(exchange, response, status, extra, pieces, delivered, write),
      );
    },
    elapsedMs: () => now() - startedAt,
    sendError(code, message, extraHeaders) {
      const { status, headers: extra, body } = errorResponse(code, message, extraHeaders);
      answer(status, code, undefined, () => writeAnswer(exchange, response, status, extra, [body]));
    },
    fail(error) {
      if (error instanceof CallerGone) return;
      if (error instanceof CallError) {
        exchange.sendError(error.code, error.message, error.headers);
        return;
      }
      const message = error instanceof Error ? (error.stack ?? error.message) : 'unknown error';
      observe({ event: 'internal_error', request_id: requestId, message });
      exchange.sendError('GATEWAY_INTERNAL');
    },
    closed() {
      if (answered) return;
      answered = true;
      record(CALLER_GONE_STATUS, '');
      abort.abort();
    },
    switchedProtocols() {
      answered = true;
      record(101, '');
      if (upgrade !== undefined) response.detachSocket(upgrade.socket);
      response.emit('close');
    },
  };
  return exchange;
}

const NO_TRACE = { trace_id: '', trace_flags: '' };

/** A trace ends with the record of its call. */
function addTrace(event: RequestEvent, trace: CallTrace | undefined, traces: GatewayTraces): void {
  Object.assign(event, trace?.record ?? NO_TRACE);
  if (trace !== undefined) traces.end(trace, event);
}
