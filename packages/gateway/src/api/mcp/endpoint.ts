import { JSON_DEPTH_MAX, JsonError, parseStrictJson } from '@svc/protocol';
import { readJsonBody, type BodyLimits } from '../../http/request/json-body.ts';
import type { Exchange } from '../../http/exchange.ts';
import type { AnswerPart } from '../../http/response-writer.ts';
import type { RefuseOrigin } from '../../access/origin.ts';
import type { Authenticate } from '../../auth/authenticate.ts';
import type { Principal } from '../../core/principal.ts';
import { asEventStream, errorAnswer, wantsEventStream, type Answer } from './protocol/answer.ts';
import { serveBatch, type BatchOptions } from './batch.ts';
import { badRequest, idOf, readMessage, RPC, RpcError } from './protocol/message.ts';

export interface McpOptions extends BatchOptions {
  readonly authenticate: Authenticate;
  readonly refuseOrigin: RefuseOrigin;
  readonly bodyLimits: BodyLimits;
}

const EVENT_STREAM = ['Content-Type', 'text/event-stream', 'X-Accel-Buffering', 'no'];

/** POST /mcp: MCP over Streamable HTTP. From the parsing of the JSON on, errors are JSON-RPC. */
export function createMcpHandler(options: McpOptions): (exchange: Exchange) => Promise<void> {
  const { authenticate, refuseOrigin, bodyLimits, serveMessage } = options;

  function serve(body: Buffer, exchange: Exchange, principal: Principal): Answer | Promise<Answer> {
    const { headers, requestId, signal, log } = exchange;
    const sender = { principal, headers, requestId, signal, traceparents: [headers.traceparent] };
    let value: unknown;
    function refuse(error: unknown): Answer {
      if (!(error instanceof RpcError)) throw error;
      log.errorCode = error.logCode;
      return errorAnswer(idOf(value, body), error);
    }
    try {
      value = parse(body);
      if (Array.isArray(value)) {
        return serveBatch(value, body, { ...options, exchange, sender }).catch(refuse);
      }
      return serveMessage(readMessage(value, body), { log, batched: false, ...sender });
    } catch (error) {
      return refuse(error);
    }
  }

  return async (exchange) => {
    const refusal = refuseOrigin(exchange.headers);
    if (refusal !== undefined) {
      exchange.sendError('GATEWAY_ORIGIN_NOT_ALLOWED', refusal);
      return;
    }
    const principal = await authenticate(exchange);
    const reading = readJsonBody(exchange, bodyLimits);
    // The body has nearly always arrived by now, and an await costs garbage.
    const body = reading instanceof Promise ? await reading : reading;
    send(exchange, await serve(body, exchange, principal));
  };
}

const OPEN_BRACE = 0x7b;

function parse(body: Buffer): unknown {
  // The arguments may be as deep as over REST; around them are params, the message and perhaps a batch.
  const around = body[0] !== OPEN_BRACE && /^\s*\[/.test(body.toString('latin1', 0, 16)) ? 3 : 2;
  try {
    return parseStrictJson(body, JSON_DEPTH_MAX + around);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    throw badRequest(RPC.parseError, `the body is refused: ${error.message}`);
  }
}

function send(exchange: Exchange, { status, headers = [], parts, rest, release }: Answer): void {
  const { accept, repeated } = exchange.headers;
  const whole = rest === undefined ? parts : following(parts, rest);
  if (status === 200 && !repeated.includes('accept') && wantsEventStream(accept)) {
    exchange.stream(status, [...EVENT_STREAM, ...headers], asEventStream(whole), release);
  } else if (rest === undefined) {
    exchange.send(status, headers, parts, release);
  } else {
    exchange.stream(status, headers, whole, release);
  }
}

function* following(
  parts: Iterable<AnswerPart>,
  rest: Iterable<Uint8Array>,
): Generator<AnswerPart, void, undefined> {
  yield* parts;
  yield* rest;
}
