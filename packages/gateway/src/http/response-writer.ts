import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Cors } from '../access/cors.ts';
import type { RequestHeaders } from './request/headers.ts';

/** What an answer depends on of the request that it answers. */
interface AnsweredRequest {
  readonly request: IncomingMessage;
  readonly headers: RequestHeaders;
  readonly requestId: string;
  /** Whether the body has been or need not be read. */
  readonly bodyTaken: boolean;
}

/** A piece of an answer; in a text, each byte is the character of its number, as in latin1. */
export type AnswerPart = Uint8Array | string;

/** Writes the pieces of a body and ends it. */
export type WritePieces = (response: ServerResponse, pieces: Iterator<AnswerPart>) => void;

export function bytesOf(part: AnswerPart): Uint8Array {
  return typeof part === 'string' ? Buffer.from(part, 'latin1') : part;
}

/** On every answer. */
const COMMON_HEADERS: readonly string[] = ['X-Content-Type-Options', 'nosniff', 'Cache-Control', 'no-store'];
/** On those that say themselves how long they hold, first. */
const CACHED_HEADERS: readonly string[] = ['X-Content-Type-Options', 'nosniff'];
/** A caller that takes nothing of an answer for this long is cut off. */
export const STALLED_CALLER_MS = 10_000;
/** Joined into one write below this, sent piece by piece above. */
const JOIN_BELOW_BYTES = 65_536;
/** A refused body up to this size is read and forgotten so that the connection can be kept. */
const DISCARD_BODY_BYTES = 65_536;
/** How long and how far a refused larger body is still read. */
const LINGER_MS = 1000;
const LINGER_BYTES = 16 * 1024 * 1024;

/** Writes a whole answer; `parts` are concatenated. `delivered` is called when they need no more memory. */
export function writeAnswer(
  answered: AnsweredRequest,
  response: ServerResponse,
  cors: Cors | undefined,
  status: number,
  extra: readonly string[],
  parts: readonly AnswerPart[],
  delivered: (() => void) | undefined,
): void {
  const { request, headers, bodyTaken } = answered;
  if (bodyTaken) readEnd(request);
  let length = 0;
  for (const part of parts) length += part.length;
  const hasContent = length > 0 || status === 200;
  const all = answerHeaders(answered, cors, extra, hasContent);
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
  cors: Cors | undefined,
  status: number,
  extra: readonly string[],
  pieces: Iterable<AnswerPart>,
  delivered: (() => void) | undefined,
  write: WritePieces = writePieces,
): void {
  if (answered.bodyTaken) readEnd(answered.request);
  response.writeHead(status, answerHeaders(answered, cors, extra, true));
  write(response, pieces[Symbol.iterator]());
  watchStalled(response, delivered, response.writableEnded ? 'written' : 'further pieces follow');
}

function answerHeaders(
  { requestId, headers }: AnsweredRequest,
  cors: Cors | undefined,
  extra: readonly string[],
  hasContent: boolean,
): string[] {
  const common = extra[0] === 'Cache-Control' ? CACHED_HEADERS : COMMON_HEADERS;
  const all = [...common, 'X-Request-Id', requestId, ...extra];
  if (cors !== undefined) all.push(...cors.answerHeaders(headers));
  if (hasContent && !extra.includes('Content-Type')) all.push('Content-Type', 'application/json');
  return all;
}

/** Reads the end of the body: Node frees a request only then, and the last byte may have been all that was awaited. */
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
function joined(parts: readonly AnswerPart[]): string {
  let text = '';
  for (const part of parts) text += typeof part === 'string' ? part : latin1(part);
  return text;
}

function latin1({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('latin1');
}

/** The next piece is made when the caller has taken those before it. */
function writePieces(response: ServerResponse, pieces: Iterator<AnswerPart>): void {
  for (let next = pieces.next(); next.done !== true; next = pieces.next()) {
    if (response.write(next.value, 'latin1')) continue;
    response.once('drain', () => writePieces(response, pieces));
    return;
  }
  response.end();
}

/** The answer for whose sake a connection is watched: with pipelining there are several, one after another. */
const watchedFor = new WeakMap<Socket, ServerResponse>();

/**
 * Cuts off a caller that takes nothing of its answer, to the last byte. Node restarts a socket's time-out when bytes
 * leave, and also when some come: so nothing more is read from the caller before it has taken the answer. `delivered` is
 * called when the answer needs no more memory.
 */
export function watchStalled(
  response: ServerResponse,
  delivered?: () => void,
  state: 'written' | 'further pieces follow' = 'written',
): void {
  const isTaken = state === 'written' && response.socket?.writableLength === 0;
  // What the system has taken needs no watching, and that is nearly always all of it.
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
      // The next call may take longer.
      watched.setTimeout(0);
    }
    delivered?.();
  };
  // Before Node sets the time-out of an idle connection.
  response.prependOnceListener('finish', settle);
  response.once('close', settle);
  // A pipelined answer gets its socket when the one before it has been sent.
  if (response.socket === null) response.once('socket', watch);
  else if (!isTaken) watch(response.socket);
}

/** A caller that has taken all that there is waits for us. */
function endStalled(socket: Socket): void {
  if (socket.writableLength > 0) socket.destroy();
  else socket.setTimeout(STALLED_CALLER_MS);
}

/**
 * The whole answer leaves at once, but the connection ends only when the refused body has been read and
 * forgotten, within bounds: closing with data unread resets the connection and can take the answer along.
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

/** Bytes of body that the headers announce; infinite for chunked ones. */
function declaredBody(headers: RequestHeaders): number {
  if (headers.transferEncoding !== undefined) return Number.POSITIVE_INFINITY;
  return headers.contentLength === undefined ? 0 : Number(headers.contentLength);
}
