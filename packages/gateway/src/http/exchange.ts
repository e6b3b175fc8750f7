import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { createAbort, type AbortSignalLike } from '@svc/edge';
import { CallError, CallerGone, type CallErrorCode } from '../calls/call-error.ts';
import type { Observe } from '../telemetry/events.ts';
import type { Cors } from '../access/cors.ts';
import { errorResponse } from './error-response.ts';
import { readRequestHeaders, type RequestHeaders } from './request/headers.ts';

/** What the log says of one call. */
export interface CallLog {
  capability: string;
  /** Empty for what is not MCP. */
  mcpMethod: string;
  /** Of a call whose failure the HTTP answer does not tell by an error body of ours, as in MCP. */
  errorCode: string;
  /** Whether the caller cancelled it without closing the connection, as MCP clients do. */
  cancelled: boolean;
  /** Milliseconds; undefined for as long as the request itself. */
  durationMs: number | undefined;
}

/** One request and its one answer, with what the log will say of it. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly headers: RequestHeaders;
  readonly requestId: string;
  /** Aborted when the caller closes the connection before the answer. */
  readonly signal: AbortSignalLike;
  /** Present when the request asks for a WebSocket. */
  readonly upgrade: { readonly socket: Socket; readonly head: Buffer } | undefined;
  /** Filled in as it becomes known; `route` is the template. */
  readonly log: CallLog & { source: string; route: string; apiKeyName: string };
  /** Where one request holds several calls, each gets a record of its own instead. */
  batch: readonly CallLog[] | undefined;
  /** What is bounded per source counts by this: an IPv4 address or an IPv6 /64. */
  sourceBucket: string;
  /** Whether the body has been or need not be read. */
  bodyTaken: boolean;
  /** Sends the answer; `parts` are concatenated. `delivered` is called when they need no more memory. */
  send(
    status: number,
    headers: readonly string[],
    parts: readonly Uint8Array[],
    delivered?: () => void,
  ): void;
  /** Sends an answer whose pieces are made as the caller takes them. */
  stream(
    status: number,
    headers: readonly string[],
    pieces: Iterable<Uint8Array>,
    delivered?: () => void,
  ): void;
  sendError(code: CallErrorCode, message: string, extraHeaders?: readonly string[]): void;
  /** Milliseconds since the request came. */
  elapsedMs(): number;
  /** Turns whatever was thrown into an answer or, when the caller is gone, into silence. */
  fail(error: unknown): void;
  /** To be called when the answer has left, or never will. */
  closed(): void;
  /** The WebSocket took the connection over. */
  switchedProtocols(): void;
}

const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;
/** On every answer. */
const COMMON_HEADERS: readonly string[] = ['X-Content-Type-Options', 'nosniff', 'Cache-Control', 'no-store'];
/** A caller that takes nothing of an answer for this long is cut off. */
const STALLED_CALLER_MS = 10_000;
/** Joined into one write below this, sent piece by piece above. */
const JOIN_BELOW_BYTES = 65_536;
/** A refused body up to this size is read and forgotten so that the connection can be kept. */
const DISCARD_BODY_BYTES = 65_536;
/** How long and how far a refused larger body is still read. */
const LINGER_MS = 1000;
const LINGER_BYTES = 16 * 1024 * 1024;
/** nginx's name for "client closed request"; only ever logged, for calls that were cancelled too. */
const CALLER_GONE_STATUS = 499;

export function openExchange(
  request: IncomingMessage,
  response: ServerResponse,
  upgrade: Exchange['upgrade'],
  options: { readonly cors: Cors | undefined; readonly observe: Observe; readonly now: () => number },
): Exchange {
  const { cors, observe, now } = options;
  const startedAt = now();
  const headers = readRequestHeaders(request.rawHeaders);
  const requestId =
    headers.requestId !== undefined && REQUEST_ID.test(headers.requestId) ? headers.requestId : randomUUID();
  const abort = createAbort();
  const log = {
    source: '',
    route: '',
    apiKeyName: '',
    capability: '',
    mcpMethod: '',
    errorCode: '',
    cancelled: false,
    durationMs: undefined,
  };
  let answered = false;

  function record(status: number, errorCode: string): void {
    if (exchange.batch === undefined) recordCall(log, status, errorCode);
    else for (const call of exchange.batch) recordCall(call, status, errorCode);
  }

  function recordCall(call: CallLog, status: number, errorCode: string): void {
    observe({
      event: 'request',
      mcp_method: call.mcpMethod === '' ? undefined : call.mcpMethod,
      request_id: requestId,
      api_key_name: log.apiKeyName,
      capability: call.capability,
      http_status: call.cancelled ? CALLER_GONE_STATUS : status,
      method: request.method ?? '',
      route: log.route,
      source: log.source,
      duration_ms: Math.round((call.durationMs ?? exchange.elapsedMs()) * 1000) / 1000,
      error_code: errorCode === '' ? call.errorCode : errorCode,
    });
  }

  function write(
    status: number,
    extra: readonly string[],
    parts: readonly Uint8Array[],
    errorCode: string,
    delivered?: () => void,
  ): void {
    if (answered) {
      delivered?.();
      return;
    }
    answered = true;
    record(status, errorCode);
    if (exchange.bodyTaken) readEnd(request);
    let length = 0;
    for (const part of parts) length += part.length;
    const hasContent = length > 0 || status === 200;
    const all = answerHeaders(extra, hasContent);
    if (hasContent || status === 202) all.push('Content-Length', String(length));
    if (!exchange.bodyTaken && declaredBody(headers) > DISCARD_BODY_BYTES) {
      response.shouldKeepAlive = false;
      response.writeHead(status, all);
      endAfterBody(request, response, Buffer.concat(parts, length));
      delivered?.();
      return;
    }
    response.writeHead(status, all);
    if (length < JOIN_BELOW_BYTES) {
      endWith(response, joined(parts));
      watchStalled(response);
      delivered?.();
      return;
    }
    for (const part of parts) response.write(part);
    response.end();
    watchStalled(response, delivered);
  }

  function answerHeaders(extra: readonly string[], hasContent: boolean): string[] {
    const all = [...COMMON_HEADERS, 'X-Request-Id', requestId, ...extra];
    if (cors !== undefined) all.push(...cors.answerHeaders(headers));
    if (hasContent && !extra.includes('Content-Type')) all.push('Content-Type', 'application/json');
    return all;
  }

  const exchange: Exchange = {
    request,
    headers,
    requestId,
    signal: abort.signal,
    upgrade,
    log,
    sourceBucket: '',
    batch: undefined,
    bodyTaken: false,
    send: (status, extra, parts, delivered) => write(status, extra, parts, '', delivered),
    stream(status, extra, pieces, delivered) {
      if (answered) {
        delivered?.();
        return;
      }
      answered = true;
      record(status, '');
      if (exchange.bodyTaken) readEnd(request);
      response.writeHead(status, answerHeaders(extra, true));
      pour(response, pieces[Symbol.iterator]());
      watchStalled(response, delivered);
    },
    elapsedMs: () => now() - startedAt,
    sendError(code, message, extraHeaders) {
      const { status, headers: extra, body } = errorResponse(code, message, extraHeaders);
      write(status, extra, [body], code);
    },
    fail(error) {
      if (error instanceof CallerGone) return;
      if (error instanceof CallError) {
        exchange.sendError(error.code, error.message, error.headers);
        return;
      }
      const message = error instanceof Error ? (error.stack ?? error.message) : 'unknown error';
      observe({ event: 'internal_error', request_id: requestId, message });
      exchange.sendError('GATEWAY_INTERNAL', 'the gateway failed; the request id leads to its log');
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

/** Node lets go of a request at its end, and a body is taken as soon as its last byte is here. */
function readEnd(request: IncomingMessage): void {
  if (request.complete) request.read();
  else request.resume();
}

/** With the head in one write: `end` alone would add an empty piece of its own to it. */
function endWith(response: ServerResponse, text: string): void {
  if (text !== '') {
    response.cork();
    response.write(text, 'latin1');
    response.uncork();
  }
  response.end();
}

/** Each byte as the character of its number: Node writes a string together with the head, but a buffer behind it. */
function joined(parts: readonly Uint8Array[]): string {
  let text = '';
  for (const { buffer, byteOffset, byteLength } of parts) {
    text += Buffer.from(buffer, byteOffset, byteLength).toString('latin1');
  }
  return text;
}

/** The next piece is made when the caller has taken those before it. */
function pour(response: ServerResponse, pieces: Iterator<Uint8Array>): void {
  for (let next = pieces.next(); next.done !== true; next = pieces.next()) {
    if (response.write(next.value)) continue;
    response.once('drain', () => pour(response, pieces));
    return;
  }
  response.end();
}

/** The answer for whose sake a connection is watched: with pipelining there are several, one after another. */
const watchedFor = new WeakMap<Socket, ServerResponse>();

/**
 * Cuts off a caller that takes nothing. Node restarts a socket's time-out when bytes leave, and also when some come:
 * so nothing more is read from the caller before it has taken the answer. When the time-out fires, nobody listens
 * to it, and Node ends the connection. `delivered` is called when the answer needs no more memory.
 */
function watchStalled(response: ServerResponse, delivered?: () => void): void {
  // What the system has taken needs no watching, and that is nearly always all of it.
  if (response.socket?.writableLength === 0 && delivered === undefined) return;
  let watched: Socket | undefined;
  const watch = (socket: Socket): void => {
    watched = socket;
    watchedFor.set(socket, response);
    socket.setTimeout(STALLED_CALLER_MS);
    socket.pause();
  };
  let settled = false;
  const settle = (): void => {
    if (settled) return;
    settled = true;
    response.off('socket', watch);
    if (watched !== undefined && watchedFor.get(watched) === response) {
      watchedFor.delete(watched);
      watched.resume();
      // Unless Node has set that of idle connections by now, the next call may take longer.
      if (watched.timeout === STALLED_CALLER_MS) watched.setTimeout(0);
    }
    delivered?.();
  };
  response.once('finish', settle);
  response.once('close', settle);
  // A pipelined answer gets its socket when the one before it has left.
  if (response.socket === null) response.once('socket', watch);
  else if (response.socket.writableLength > 0) watch(response.socket);
}

/**
 * The whole answer leaves at once, but the connection ends only when the refused body has been read and
 * forgotten, within bounds: closing with data unread resets the connection and can take the answer along.
 */
function endAfterBody(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
  response.write(body);
  watchStalled(response);
  let discarded = 0;
  const end = (): void => {
    clearTimeout(timer);
    request.off('data', onData).off('end', end).off('close', end);
    response.end();
  };
  const onData = (chunk: Buffer): void => {
    discarded += chunk.length;
    if (discarded > LINGER_BYTES) end();
  };
  const timer = setTimeout(end, LINGER_MS);
  request.once('end', end).once('close', end);
  // A caller that waits for "100 Continue" sends nothing more once it has our answer.
  if (request.headers.expect === undefined) request.on('data', onData);
}

/** Bytes of body that the headers announce; infinite for chunked ones. */
function declaredBody(headers: RequestHeaders): number {
  if (headers.transferEncoding !== undefined) return Number.POSITIVE_INFINITY;
  return headers.contentLength === undefined ? 0 : Number(headers.contentLength);
}
