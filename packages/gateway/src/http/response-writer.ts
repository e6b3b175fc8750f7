import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Cors } from '../access/cors.ts';
import type { RequestHeaders } from './request/headers.ts';

interface AnsweredRequest {
  readonly request: IncomingMessage;
  readonly headers: RequestHeaders;
  readonly requestId: string;
  /** Whether the body has been or need not be read. */
  readonly bodyTaken: boolean;
  readonly cors: Cors | undefined;
}

/** A piece of an answer; in a text, each byte is the character of its number, as in latin1. */
export type AnswerPart = Uint8Array | string;

export type WritePieces = (response: ServerResponse, pieces: Iterator<AnswerPart>) => void;

export function bytesOf(part: AnswerPart): Uint8Array {
  return typeof part === 'string' ? Buffer.from(part, 'latin1') : part;
}

const COMMON_HEADERS: readonly string[] = ['X-Content-Type-Options', 'nosniff', 'Cache-Control', 'no-store'];
/** On answers whose own headers begin with Cache-Control. */
const CACHED_HEADERS: readonly string[] = ['X-Content-Type-Options', 'nosniff'];
/** A caller that takes nothing of an answer for this long is cut off. */
export const STALLED_CALLER_MS = 10_000;
const JOIN_BELOW_BYTES = 65_536;
/** A refused body up to this size is read and dropped so that the connection can be kept. */
const DISCARD_BODY_BYTES = 65_536;
/** How long and how far a larger refused body is still read. */
const LINGER_MS = 1000;
const LINGER_BYTES = 16 * 1024 * 1024;

/** Writes a whole answer; `parts` are concatenated. `delivered` is called when they need no more memory. */
export function writeAnswer(
  answered: AnsweredRequest,
  response: ServerResponse,
  status: number,
  extra: readonly string[],
  parts: readonly AnswerPart[],
  delivered?: () => void,
): void {
  const { request, headers, bodyTaken } = answered;
  if (bodyTaken) readEnd(request);
  let length = 0;
  for (const part of parts) length += part.length;
  const hasContent = length > 0 || status === 200;
  const all = answerHeaders(answered, extra, hasContent);
  if (hasContent || status === 202) all.push('Content-Length', String(length));
  if (!bodyTaken && declaredBody(headers) > DISCARD_BODY_BYTES) {
    response.shouldKeepAlive = false;
    response.writeHead(status, all);
    endAfterBody(request, response, joined(parts));
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
  for (const part of parts) response.write(part, 'latin1');
  response.end();
  watchStalled(response, delivered);
}

/** Writes an answer whose pieces are made as the caller takes them. */
export function streamAnswer(
  answered: AnsweredRequest,
  response: ServerResponse,
  status: number,
  extra: readonly string[],
  pieces: Iterable<AnswerPart>,
  delivered: (() => void) | undefined,
  write: WritePieces = writePieces,
): void {
  if (answered.bodyTaken) readEnd(answered.request);
  response.writeHead(status, answerHeaders(answered, extra, true));
  write(response, pieces[Symbol.iterator]());
  watchStalled(response, delivered, response.writableEnded ? 'written' : 'further pieces follow');
}

function answerHeaders(
  { requestId, headers, cors }: AnsweredRequest,
  extra: readonly string[],
  hasContent: boolean,
): string[] {
  const common = extra[0] === 'Cache-Control' ? CACHED_HEADERS : COMMON_HEADERS;
  const all = [...common, 'X-Request-Id', requestId, ...extra];
  if (cors !== undefined) all.push(...cors.answerHeaders(headers));
  if (hasContent && !extra.includes('Content-Type')) all.push('Content-Type', 'application/json');
  return all;
}

/** Node.js frees a request only after the end of its body has been read. */
function readEnd(request: IncomingMessage): void {
  if (request.complete) request.read();
  else request.resume();
}

/** In one write with the head; `end` alone would add an empty piece. */
function endWith(response: ServerResponse, text: string): void {
  if (text !== '') {
    response.cork();
    response.write(text, 'latin1');
    response.uncork();
  }
  response.end();
}

/** As latin1 text, since Node.js writes a string together with the head, but a buffer after it. */
function joined(parts: readonly AnswerPart[]): string {
  let text = '';
  for (const part of parts) text += typeof part === 'string' ? part : latin1(part);
  return text;
}

function latin1({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('latin1');
}

function writePieces(response: ServerResponse, pieces: Iterator<AnswerPart>): void {
  for (let next = pieces.next(); next.done !== true; next = pieces.next()) {
    if (response.write(next.value, 'latin1')) continue;
    response.once('drain', () => writePieces(response, pieces));
    return;
  }
  response.end();
}

/** The answer that a connection is watched for; with pipelining there are several in turn. */
const watchedFor = new WeakMap<Socket, ServerResponse>();

/**
 * Cuts off a caller that takes nothing of its answer. Node.js restarts a socket's time-out when bytes leave and when bytes
 * come, so nothing is read from the caller until it has taken the answer. `delivered` is called when the answer needs no
 * more memory.
 */
export function watchStalled(
  response: ServerResponse,
  delivered?: () => void,
  state: 'written' | 'further pieces follow' = 'written',
): void {
  const isTaken = state === 'written' && response.socket?.writableLength === 0;
  // The system has nearly always taken everything, which needs no watching.
  if (isTaken && delivered === undefined) return;
  let watched: Socket | undefined;
  const watch = (socket: Socket): void => {
    watched = socket;
    watchedFor.set(socket, response);
    response.on('timeout', endStalled);
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
      watched.setTimeout(0);
    }
    delivered?.();
  };
  // Before Node.js sets the time-out of an idle connection.
  response.prependOnceListener('finish', settle);
  response.once('close', settle);
  // A pipelined answer gets its socket when the one before it has been sent.
  if (response.socket === null) response.once('socket', watch);
  else if (!isTaken) watch(response.socket);
}

/** A caller that has taken everything waits for the gateway. */
function endStalled(socket: Socket): void {
  if (socket.writableLength > 0) socket.destroy();
  else socket.setTimeout(STALLED_CALLER_MS);
}

/**
 * The answer leaves at once, but the connection ends only when the refused body has been read and dropped, within
 * bounds: closing with unread data resets the connection and can lose the answer.
 */
function endAfterBody(request: IncomingMessage, response: ServerResponse, body: string): void {
  response.write(body, 'latin1');
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

function declaredBody(headers: RequestHeaders): number {
  if (headers.transferEncoding !== undefined) return Number.POSITIVE_INFINITY;
  return headers.contentLength === undefined ? 0 : Number(headers.contentLength);
}
