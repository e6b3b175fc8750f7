import type { RateLimiter } from '../access/rate-limit.ts';
import { CallError } from '../calls/call-error.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Authentication, Authenticator } from './api-keys/authenticator.ts';
import { isToken, readCredential, unauthorized } from './credential.ts';
import type { Principal } from './principal.ts';
import type { TokenAuthentication } from './tokens/authenticate-token.ts';
import type { TokenCaller } from './tokens/token-principals.ts';

/** Answers at once for every key, and every token, in use. */
export type Authenticate = (exchange: Exchange) => Principal | Promise<Principal>;

export interface AuthenticateOptions {
  /** Whose keys count. */
  readonly service: string;
  readonly authenticator: Authenticator;
  /** Undefined where no issuer's tokens are taken. */
  readonly tokens: TokenAuthentication | undefined;
  /** Of each principal, whatever its source; undefined for none. */
  readonly principalRate: RateLimiter | undefined;
}

/** Who sends the request, noted for the log. Throws, or rejects with, CallError (400, 401, 403, 429, 503). */
export function createAuthenticate(options: AuthenticateOptions): Authenticate {
  const { service, authenticator, tokens, principalRate } = options;

  function withinRate<Known extends Principal>(principal: Known): Known {
    const rate = principalRate?.take(principal.id);
    if (rate?.ok === false) throw tooMany('too many requests, slow down', rate);
    return principal;
  }

  function ofKey(exchange: Exchange, outcome: Authentication): Principal {
    if (outcome === 'invalid') throw tokens?.refuseKey(exchange) ?? unauthorized();
    if (outcome === 'busy')
      throw new CallError('GATEWAY_RATE_LIMITED', 'too many keys are being checked, try again');
    if ('retryAfterSeconds' in outcome) throw tooMany('too many wrong keys came from this source', outcome);
    exchange.log.apiKeyName = outcome.name;
    if (tokens !== undefined) tokens.noteKey(exchange, outcome);
    // Another service of the gateway takes tokens.
    else if (exchange.log.caller !== undefined) {
      exchange.log.caller = { ...exchange.log.caller, principal: outcome.id };
    }
    return withinRate(outcome);
  }

  return (exchange) => {
    const { headers, sourceBucket } = exchange;
    const credential = readCredential(headers);
    if (credential === undefined) throw tokens?.refuseNone(exchange) ?? unauthorized();
    if (tokens !== undefined && isToken(credential, headers)) {
      const ofToken = (caller: TokenCaller): Principal => {
        withinRate(caller.principal);
        tokens.checkScope(exchange, caller);
        return caller.principal;
      };
      const caller = tokens.authenticate(exchange, credential);
      return caller instanceof Promise ? caller.then(ofToken) : ofToken(caller);
    }
    const outcome = authenticator.authenticate(credential, sourceBucket, service);
    return outcome instanceof Promise
      ? outcome.then((settled) => ofKey(exchange, settled))
      : ofKey(exchange, outcome);
  };
}

function tooMany(message: string, { retryAfterSeconds }: { readonly retryAfterSeconds: number }): CallError {
  return new CallError('GATEWAY_RATE_LIMITED', message, {
    headers: ['Retry-After', String(retryAfterSeconds)],
  });
}
