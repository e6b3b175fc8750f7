import { CallError } from '../calls/call-error.ts';
import { readCredential, unauthorized } from './credential.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Authentication, Authenticator } from './api-keys/authenticator.ts';
import type { Principal } from './principal.ts';

/** Answers at once for every key in use. */
export type Authenticate = (exchange: Exchange) => Principal | Promise<Principal>;

/** Who sends the request, noted for the log. Throws, or rejects with, CallError (400, 401, 429). */
export function createAuthenticate(authenticator: Authenticator): Authenticate {
  function principalOf(exchange: Exchange, outcome: Authentication): Principal {
    if (outcome === 'invalid') throw unauthorized();
    if (outcome === 'busy')
      throw new CallError('GATEWAY_RATE_LIMITED', 'too many keys are being checked, try again');
    if ('retryAfterSeconds' in outcome) {
      const headers = ['Retry-After', String(outcome.retryAfterSeconds)];
      throw new CallError('GATEWAY_RATE_LIMITED', 'too many wrong keys came from this source', { headers });
    }
    exchange.log.apiKeyName = outcome.id;
    return outcome;
  }
  return (exchange) => {
    const outcome = authenticator.authenticate(readCredential(exchange.headers), exchange.sourceBucket);
    return outcome instanceof Promise
      ? outcome.then((settled) => principalOf(exchange, settled))
      : principalOf(exchange, outcome);
  };
}
