import { CallError } from '../calls/call-error.ts';
import { readCredential, unauthorized } from './credential.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Authentication, Authenticator } from './api-keys/authenticator.ts';
import type { KeyRecord } from './api-keys/key-record.ts';

/** At once for every key in use. */
export type Identify = (exchange: Exchange) => KeyRecord | Promise<KeyRecord>;

/** Who is calling, noted for the log. Throws, or rejects with, CallError (400, 401, 429). */
export function createIdentify(authenticator: Authenticator): Identify {
  function judge(exchange: Exchange, key: Authentication): KeyRecord {
    if (key === 'invalid') throw unauthorized();
    if (key === 'busy')
      throw new CallError('GATEWAY_RATE_LIMITED', 'too many keys are being checked, try again');
    if ('retryAfterSeconds' in key) {
      const headers = ['Retry-After', String(key.retryAfterSeconds)];
      throw new CallError('GATEWAY_RATE_LIMITED', 'too many wrong keys came from this source', { headers });
    }
    exchange.log.apiKeyName = key.name;
    return key;
  }
  return (exchange) => {
    const outcome = authenticator.authenticate(readCredential(exchange.headers), exchange.sourceBucket);
    return outcome instanceof Promise
      ? outcome.then((key) => judge(exchange, key))
      : judge(exchange, outcome);
  };
}
