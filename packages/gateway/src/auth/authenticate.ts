import type { RateDecision, RequestLimiter } from '../access/rate-limit.ts';
import { CallError } from '../core/call-error.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Authentication, Authenticator } from './api-keys/authenticator.ts';
import { isToken, readCredential, unauthorized } from './credential.ts';
import type { Principal } from '../core/principal.ts';
import type { TokenAuthentication } from './tokens/authenticate-token.ts';
import type { TokenCaller } from './tokens/token-principals.ts';

/** Answers at once for every key, and every token, in use, unless their rate is asked for elsewhere. */
export type Authenticate = (exchange: Exchange) => Principal | Promise<Principal>;

export interface AuthenticateOptions {
  /** Whose keys count. */
  readonly service: string;
  readonly authenticator: Authenticator;
  /** Undefined where no issuer's tokens are taken. */
  readonly tokens: TokenAuthentication | undefined;
  /** Of each principal, whatever its source; undefined for none. */
  readonly principalRate: RequestLimiter | undefined;
  /** Undefined where no key can be revoked. */
  readonly revocations: { readonly known: boolean } | undefined;
}

/** Who sends the request, noted for the log. Throws, or rejects with, CallError (400, 401, 403, 429, 503). */
export function createAuthenticate(options: AuthenticateOptions): Authenticate {
  const { service, authenticator, tokens, principalRate, revocations } = options;

  function withinRate<Known extends Principal>(principal: Known): Known | Promise<Known> {
    const rate = principalRate?.take(principal.id);
    return rate instanceof Promise
      ? rate.then((decided) => unlessRefused(principal, decided))
      : unlessRefused(principal, rate);
  }

  function ofKey(exchange: Exchange, outcome: Authentication): Principal | Promise<Principal> {
    if (outcome === 'invalid') throw tokens?.refuseKey(exchange) ?? unauthorized();
    if (outcome === 'busy')
      throw new CallError('GATEWAY_RATE_LIMITED', 'too many keys are being checked, try again');
    if (outcome === 'unavailable')
      throw new CallError('GATEWAY_ISSUER_UNAVAILABLE', 'keys cannot be checked now, try again');
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
    const credential = readCredential(headers, tokens !== undefined);
    if (credential === undefined) throw tokens?.refuseNone(exchange) ?? unauthorized();
    if (tokens !== undefined && isToken(credential, headers)) {
      const ofToken = (caller: TokenCaller): Principal | Promise<Principal> => {
        const counted = withinRate(caller.principal);
        const inScope = (principal: Principal): Principal => {
          tokens.checkScope(exchange, caller);
          return principal;
        };
        return counted instanceof Promise ? counted.then(inScope) : inScope(counted);
      };
      const caller = tokens.authenticate(exchange, credential);
      return caller instanceof Promise ? caller.then(ofToken) : ofToken(caller);
    }
    if (revocations?.known === false) {
      const message = 'which keys are revoked is not known yet, try again';
      throw new CallError('GATEWAY_ISSUER_UNAVAILABLE', message);
    }
    const outcome = authenticator.authenticate(credential, sourceBucket, service);
    return outcome instanceof Promise
      ? outcome.then((settled) => ofKey(exchange, settled))
      : ofKey(exchange, outcome);
  };
}

function unlessRefused<Known extends Principal>(principal: Known, rate: RateDecision | undefined): Known {
  if (rate?.ok === false) throw tooMany('too many requests, slow down', rate);
  return principal;
}

function tooMany(message: string, { retryAfterSeconds }: { readonly retryAfterSeconds: number }): CallError {
  return new CallError('GATEWAY_RATE_LIMITED', message, {
    headers: ['Retry-After', String(retryAfterSeconds)],
  });
}
