import { CallError, CallerGone } from '../../core/call-error.ts';
import type { Exchange } from '../exchange.ts';

export interface BodyBudget {
  take(bytes: number): boolean;
  give(bytes: number): void;
}

const BODIES_MAX_BYTES = 64 * 1024 * 1024;

/** A body in tiny pieces costs more than its bytes, so there is memory for more than the largest body. */
export function bodyMemoryOf({ maxRequestBodyBytes }: { readonly maxRequestBodyBytes: number }): number {
  return Math.max(BODIES_MAX_BYTES, 2 * maxRequestBodyBytes);
}

/** `totalBytes` must be at least the largest body. */
export function createBodyBudget(totalBytes: number): BodyBudget {
  let taken = 0;
  return {
    take(bytes) {
      if (taken + bytes > totalBytes) return false;
      taken += bytes;
      return true;
    },
    give(bytes) {
      taken -= bytes;
    },
  };
}

const NOTHING = Buffer.alloc(0);

/** What a piece costs besides its bytes: bounds bodies in tiny pieces. */
const PIECE_BYTES = 256;

export interface BodyLimits {
  readonly maxBytes: number;
  /** For the whole body, however slowly it arrives. */
  readonly timeoutMs: number;
  readonly budget?: BodyBudget;
}

/** Throws, or rejects with, CallError (400, 408, or 429 when too many other bodies are on their way) or CallerGone. */
export function readJsonBody(exchange: Exchange, limits: BodyLimits): Buffer | Promise<Buffer> {
  const { headers } = exchange;
  if (headers.repeated.includes('content-type') || !isJson(headers.contentType)) {
    throw new CallError('GATEWAY_INVALID_REQUEST', 'the content type must be application/json');
  }
  if (headers.contentEncoding !== undefined && headers.contentEncoding.toLowerCase() !== 'identity') {
    throw new CallError('GATEWAY_INVALID_REQUEST', 'the body must not be compressed');
  }
  if (Number(headers.contentLength ?? 0) > limits.maxBytes) throw tooLarge(limits);
  return hasArrived(exchange) ? readWhole(exchange, limits) : readSoon(exchange, limits);
}

/**
 * Node.js hands the head over before it looks at what came with it, which is nearly always the whole body. That has
 * arrived after any await; what was sent right after the head may come with the next turn.
 */
async function readSoon(exchange: Exchange, limits: BodyLimits): Promise<Buffer> {
  await Promise.resolve();
  if (!hasArrived(exchange)) await new Promise((resolve) => setImmediate(resolve));
  if (hasArrived(exchange)) return readWhole(exchange, limits);
  if (exchange.request.destroyed) throw new CallerGone();
  return read(exchange, limits);
}

function hasArrived({ request, headers }: Exchange): boolean {
  // A caller that expects "100 Continue" sends the body only when someone listens for it.
  if (request.headers.expect !== undefined) return false;
  return request.complete || request.readableLength === Number(headers.contentLength);
}

function readWhole(exchange: Exchange, limits: BodyLimits): Buffer {
  const { request } = exchange;
  if (request.readableLength > limits.maxBytes) throw tooLarge(limits);
  const first: unknown = request.read();
  exchange.bodyTaken = true;
  if (!Buffer.isBuffer(first)) return NOTHING;
  if (request.readableLength === 0) return first;
  // From Node.js 26 on, read() gives one piece of what has arrived; before, it gave all.
  const pieces = [first];
  for (let piece: unknown = request.read(); Buffer.isBuffer(piece); piece = request.read())
    pieces.push(piece);
  return Buffer.concat(pieces);
}

function read(exchange: Exchange, limits: BodyLimits): Promise<Buffer> {
  const { request } = exchange;
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    let taken = 0;
    const timer = setTimeout(() => {
      settle(() => reject(new CallError('GATEWAY_REQUEST_TIMEOUT')));
    }, limits.timeoutMs);

    function settle(outcome: () => void): void {
      clearTimeout(timer);
      limits.budget?.give(taken);
      taken = 0;
      request.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onClose);
      outcome();
    }
    function onData(chunk: Buffer): void {
      length += chunk.length;
      if (length > limits.maxBytes) {
        settle(() => reject(tooLarge(limits)));
        return;
      }
      chunks.push(chunk);
      // A small body is complete by now and needs none of the budget.
      if (length === Number(exchange.headers.contentLength)) return;
      const cost = chunk.length + PIECE_BYTES;
      if (limits.budget?.take(cost) === false) {
        settle(() =>
          reject(
            new CallError('GATEWAY_RATE_LIMITED', 'too many bodies are on their way, try again shortly'),
          ),
        );
        return;
      }
      taken += cost;
    }
    function onEnd(): void {
      exchange.bodyTaken = true;
      settle(() =>
        resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, length)),
      );
    }
    function onClose(): void {
      settle(() => reject(new CallerGone()));
    }

    request.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose);
  });
}

function tooLarge(limits: BodyLimits): CallError {
  return new CallError('GATEWAY_INVALID_REQUEST', `the body is larger than ${limits.maxBytes} bytes`);
}

/** `application/json` or a type that ends in `+json`, with no other charset than UTF-8. */
function isJson(contentType: string | undefined): boolean {
  if (contentType === 'application/json') return true;
  if (contentType === undefined) return false;
  const [type = '', ...parameters] = contentType.split(';').map((part) => part.trim().toLowerCase());
  if (!/^application\/(?:[a-z0-9!#$&^_.+-]+\+)?json$/.test(type)) return false;
  return parameters.every(
    (parameter) => !parameter.startsWith('charset=') || /^charset="?utf-8"?$/.test(parameter),
  );
}
