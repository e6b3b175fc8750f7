import type { RequestLimiter } from '../access/rate-limit.ts';
import { CallError, rateLimited } from '../core/call-error.ts';
import { whenKnown } from '../core/when-known.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Authentication, Authenticator } from './api-keys/authenticator.ts';
import { isToken, readCredential } from './credential.ts';
import type { Principal } from '../core/principal.ts';
import type { TokenAuthentication } from './tokens/open-tokens.ts';

/** Answers at once for every key and token in use, unless another process keeps their rate. */
export type Authenticate = (exchange: Exchange) => Principal | Promise<Principal>;

export interface AuthenticateOptions {
  readonly service: string;
  readonly authenticator: Authenticator;
  readonly tokens: TokenAuthentication | undefined;
  /** The rate of each principal, whatever its source. */
  readonly principalRate: RequestLimiter | undefined;
  /** Undefined when no key can be revoked. */
  readonly revocations: { readonly known: boolean } | undefined;
}

/** Finds who sends the request, and notes it for the log. Throws, or rejects with, CallError (400, 401, 403, 429, 503). */
export function createAuthenticate(options: AuthenticateOptions): Authenticate {
  const { service, authenticator, tokens, principalRate, revocations } = options;

  function withinRate<Known extends Principal>(principal: Known): Known | Promise<Known> {
    return whenKnown(principalRate?.take(principal.id), (rate) => {
      if (rate?.ok === false) throw rateLimited(rate);
      return principal;
    });
  }

  function ofKey(exchange: Exchange, outcome: Authentication): Principal | Promise<Principal> {
    if (outcome === 'invalid') throw tokens?.refuseKey(exchange) ?? new CallError('GATEWAY_UNAUTHORIZED');
    if (outcome === 'busy')
      throw new CallError('GATEWAY_RATE_LIMITED', 'too many keys are being checked, try again');
    if (outcome === 'unavailable') throw new CallError('GATEWAY_ISSUER_UNAVAILABLE');
    if ('retryAfterSeconds' in outcome) {
      throw rateLimited(outcome, 'too many wrong keys came from this source');
    }
    exchange.log.apiKeyName = outcome.name;
    if (tokens !== undefined) tokens.noteKey(exchange, outcome);
    // Only another service of the gateway takes tokens.
    else if (exchange.log.caller !== undefined) {
      exchange.log.caller = { ...exchange.log.caller, principal: outcome.id };
    }
    return withinRate(outcome);
  }

  return (exchange) => {
    const { headers, sourceBucket } = exchange;
    const credential = readCredential(headers, tokens !== undefined);
    if (credential === undefined) {
      throw tokens?.refuseNone(exchange) ?? new CallError('GATEWAY_UNAUTHORIZED');
    }
    if (tokens !== undefined && isToken(credential, headers)) {
      return whenKnown(tokens.authenticate(exchange, credential), (caller) =>
        whenKnown(withinRate(caller.principal), (principal) => {
          tokens.checkScope(exchange, caller);
          return principal;
        }),
      );
    }
    if (revocations?.known === false) {
      const message = 'which keys are revoked is not known yet, try again';
      throw new CallError('GATEWAY_ISSUER_UNAVAILABLE', message);
    }
    return whenKnown(authenticator.authenticate(credential, sourceBucket, service), (outcome) =>
      ofKey(exchange, outcome),
    );
  };
}
