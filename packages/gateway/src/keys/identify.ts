import { CallError } from '../errors/call-error.ts';
import { readCredential, unauthorized } from '../http/credential.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Authenticator } from './authenticator.ts';
import type { KeyRecord } from './key-record.ts';

export type Identify = (exchange: Exchange) => Promise<KeyRecord>;

/** Who is calling, noted for the log. Throws CallError (400, 401, 429). */
export function createIdentify(authenticator: Authenticator): Identify {
  return async (exchange) => {
    const outcome = authenticator.authenticate(readCredential(exchange.headers), exchange.sourceBucket);
    const key = outcome instanceof Promise ? await outcome : outcome;
    if (key === 'invalid') throw unauthorized();
    if (key === 'busy')
      throw new CallError('GATEWAY_RATE_LIMITED', 'too many keys are being checked, try again');
    if ('retryAfterSeconds' in key) {
      const headers = ['Retry-After', String(key.retryAfterSeconds)];
      throw new CallError('GATEWAY_RATE_LIMITED', 'too many wrong keys came from this source', { headers });
    }
    exchange.log.apiKeyName = key.name;
    return key;
  };
}
