import { readJsonBody, type BodyLimits } from '../../http/request/json-body.ts';
import type { Exchange } from '../../http/exchange.ts';
import type { AnswerPart } from '../../http/response-writer.ts';
import type { RefuseOrigin } from '../../access/origin.ts';
import type { Authenticate } from '../../auth/authenticate.ts';
import type { Principal } from '../../core/principal.ts';
import type { RequestHeaders } from '../../http/request/headers.ts';
import type { GatewayTraces } from '../../telemetry/traces.ts';
import { asEventStream, errorAnswer, wantsEventStream, type Answer } from './protocol/answer.ts';
import { serveBatch, type BatchOptions } from './batch.ts';
import { idOf, parseJson, readMessage, RpcError } from './protocol/message.ts';
import type { Transport } from './transport.ts';

export interface McpOptions extends BatchOptions {
  readonly authenticate: Authenticate;
  readonly refuseOrigin: RefuseOrigin;
  readonly bodyLimits: BodyLimits;
  readonly transportOf: (headers: RequestHeaders, principal: Principal) => Transport;
  readonly traces?: GatewayTraces | undefined;
}

const EVENT_STREAM = ['Content-Type', 'text/event-stream', 'X-Accel-Buffering', 'no'];

/** POST /mcp: MCP over Streamable HTTP. From the parsing of the JSON on, errors are JSON-RPC. */
export function createMcpHandler(options: McpOptions): (exchange: Exchange) => Promise<void> {
  const { authenticate, refuseOrigin, bodyLimits, serveMessage, transportOf, traces } = options;

  function serve(body: Buffer, exchange: Exchange, principal: Principal): Answer | Promise<Answer> {
    const { headers, requestId, signal, log } = exchange;
    const sender = {
      principal,
      transport: transportOf(headers, principal),
      requestId,
      signal,
      traceparents: [headers.traceparent],
      beginTrace: traces && ((ofMessage: unknown) => traces.beginMessage(ofMessage, headers)),
    };
    let value: unknown;
    function refuse(error: unknown): Answer {
      if (!(error instanceof RpcError)) throw error;
      log.errorCode = error.logCode;
      return errorAnswer(idOf(value, body), error);
    }
    try {
      value = parseJson(body);
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
