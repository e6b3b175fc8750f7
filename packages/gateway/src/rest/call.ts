import { CAPABILITY_NAME_PATTERN, JsonError, parseStrictJson } from '@svc/protocol';
import type { CallCapability } from '../calls/call-capability.ts';
import { CallError } from '../errors/call-error.ts';
import { permits } from '../calls/permission.ts';
import { readJsonBody, type BodyLimits } from '../http/body.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Identify } from '../keys/identify.ts';

export interface RestOptions {
  readonly identify: Identify;
  readonly callCapability: CallCapability;
  readonly bodyLimits: BodyLimits;
}

const CAPABILITY_NAME = new RegExp(CAPABILITY_NAME_PATTERN);
const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;
const ROWS = Buffer.from('{"rows":');

/** POST /api/v1/capabilities/{name} (specification, section 4.1). */
export function createRestCall(options: RestOptions): (exchange: Exchange, name: string) => Promise<void> {
  return async (exchange, name) => {
    const key = await options.identify(exchange);
    if (CAPABILITY_NAME.test(name)) exchange.log.capability = name;
    if (!permits(key.capabilities, name)) {
      throw new CallError('GATEWAY_CAPABILITY_NOT_PERMITTED', 'the API key may not call this capability');
    }
    const params = await readJsonBody(exchange, options.bodyLimits);
    checkParams(params);
    const { traceparent } = exchange.headers;
    const result = await options.callCapability({
      capability: name,
      params,
      apiKeyName: key.name,
      requestId: exchange.requestId,
      traceparent: traceparent !== undefined && TRACEPARENT.test(traceparent) ? traceparent : undefined,
      signal: exchange.signal,
    });
    const tail = Buffer.from(`,"count":${result.count}${result.truncated ? ',"truncated":true' : ''}}`);
    exchange.send(200, [], [ROWS, result.rows, tail], result.release);
  };
}

/** Only the form is checked here; what the values mean is the agent's to judge. */
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
