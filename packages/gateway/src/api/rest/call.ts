import { JsonError, parseStrictJson } from '@svc/protocol';
import type { PermitCall } from '../../calls/permit-call.ts';
import { CallError } from '../../core/call-error.ts';
import { readJsonBody, type BodyLimits } from '../../http/request/json-body.ts';
import type { Exchange } from '../../http/exchange.ts';
import type { GatewayTraces } from '../../telemetry/traces.ts';
import type { Authenticate } from '../../auth/authenticate.ts';
import { sendResult, type SendResultOptions } from './send-result.ts';

export interface RestOptions extends SendResultOptions {
  readonly authenticate: Authenticate;
  readonly permitCall: PermitCall;
  readonly bodyLimits: BodyLimits;
  readonly traces?: GatewayTraces | undefined;
}

/** POST /api/v1/capabilities/{name}. */
export function createRestCall(options: RestOptions): (exchange: Exchange, name: string) => Promise<void> {
  return async (exchange, name) => {
    const principal = await options.authenticate(exchange);
    const { requestId, signal, log, headers } = exchange;
    log.trace = options.traces?.begin(headers.traceparent);
    const traceparents = [log.trace?.traceparent ?? headers.traceparent];
    const call = options.permitCall({ principal, requestId, traceparents, signal, log }, name);
    const body = readJsonBody(exchange, options.bodyLimits);
    // The body has nearly always arrived by now, and an await costs garbage.
    const params = body instanceof Promise ? await body : body;
    checkParams(params);
    sendResult(exchange, name, await call(params), options);
  };
}

/** Checks only the form; the agent judges the values. */
function checkParams(body: Uint8Array): void {
  if (body.length === 0) throw invalid('the body is empty; send {} when there are no parameters');
  let value: unknown;
  try {
    value = parseStrictJson(body);
  } catch (error) {
    if (error instanceof JsonError) throw invalid(`the body is refused: ${error.message}`);
    throw error;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalid('the body must be a JSON object of parameters');
  }
}

function invalid(message: string): CallError {
  return new CallError('GATEWAY_INVALID_REQUEST', message);
}
