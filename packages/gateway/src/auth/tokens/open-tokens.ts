import {
  createTokenVerifier,
  type FetchBytes,
  type Issuer,
  type KeysEvent,
  type KeySet,
  type TokenCounters,
  type TokenOutcome,
} from '@svc/identity';
import { CallError } from '../../core/call-error.ts';
import type { ApiKeyPrincipal } from '../../core/principal.ts';
import { whenKnown } from '../../core/when-known.ts';
import type { Exchange } from '../../http/exchange.ts';
import { UNKNOWN_CALLER } from '../../telemetry/events.ts';
import type { AuthFailure } from '../auth-failure.ts';
import { unauthorizedByEither } from '../credential.ts';
import type { SharePermissions } from '../permission-sets.ts';
import { createChallenges, REFUSED_KEY } from './challenges.ts';
import { createTokenPrincipals, type TokenCaller } from './token-principals.ts';

/** What a gateway does beyond keys when it takes tokens. Each `refuse` notes the reason for the log. */
export interface TokenAuthentication {
  /** Answers at once for every token in use. Throws, or rejects with, CallError (401, 503). */
  authenticate(exchange: Exchange, token: string): TokenCaller | Promise<TokenCaller>;
  /** Throws CallError (403) for a token whose scopes permit nothing. */
  checkScope(exchange: Exchange, caller: TokenCaller): void;
  noteKey(exchange: Exchange, principal: ApiKeyPrincipal): void;
  refuseNone(exchange: Exchange): CallError;
  refuseKey(exchange: Exchange): CallError;
}

export interface OpenTokens {
  readonly authentication: TokenAuthentication;
  readonly counters: TokenCounters;
  close(): void;
}

/** Takes tokens of these issuers, and fetches their keys from now on. */
export function openTokens(options: {
  readonly service: string;
  readonly issuers: readonly Issuer[];
  readonly clockSkewMs: number;
  readonly refreshMs: number;
  readonly maxStaleMs: number;
  readonly metadataUrl: string;
  readonly sharePermissions: SharePermissions;
  readonly fetchBytes: FetchBytes;
  readonly onKeys: (event: KeysEvent) => void;
  /** For processes in which another one fetches the keys. */
  readonly openKeySet?: ((issuer: Issuer, onChange: () => void) => KeySet) | undefined;
}): OpenTokens {
  const verifier = createTokenVerifier(options, options.fetchBytes);
  const principals = createTokenPrincipals(options.sharePermissions, options.service);
  const challenges = createChallenges(options.metadataUrl, options.issuers);

  function note(exchange: Exchange, failure: AuthFailure, issuer?: Issuer): void {
    const { caller = UNKNOWN_CALLER } = exchange.log;
    exchange.log.caller = { ...caller, issuer: issuer?.name ?? caller.issuer, auth_failure: failure };
  }

  function refuseToken(exchange: Exchange, failure: AuthFailure, issuer?: Issuer): CallError {
    note(exchange, failure, issuer);
    const expired = failure === 'expired' || failure === 'max_age';
    return unauthorizedByEither(challenges.refusedToken(targetOf(exchange), expired));
  }

  function settle(exchange: Exchange, token: string, outcome: TokenOutcome): TokenCaller {
    switch (outcome.kind) {
      case 'verified': {
        const caller = principals(outcome, token, () => refuseToken(exchange, 'max_age'));
        const { principal, loggedSubject } = caller;
        exchange.log.caller = {
          principal: principal.id,
          issuer: outcome.issuer.name,
          subject: loggedSubject,
          client_id: outcome.clientId,
          token_id: outcome.tokenId,
          auth_failure: '',
        };
        return caller;
      }
      case 'refused':
        throw refuseToken(exchange, outcome.failure, outcome.issuer);
      case 'unavailable': {
        const { issuer, retryAfterSeconds } = outcome;
        note(exchange, 'issuer_unavailable', issuer);
        const message = 'the keys of the issuer of the access token are not known yet, try again';
        const headers = ['Retry-After', String(retryAfterSeconds)];
        throw new CallError('GATEWAY_ISSUER_UNAVAILABLE', message, { headers });
      }
    }
  }

  const authentication: TokenAuthentication = {
    authenticate(exchange, token) {
      return whenKnown(verifier.verify(token), (outcome) => settle(exchange, token, outcome));
    },
    checkScope(exchange, { lacksScope }) {
      if (!lacksScope) return;
      note(exchange, 'insufficient_scope');
      const headers = ['WWW-Authenticate', challenges.insufficientScope(targetOf(exchange))];
      const message = 'the access token has none of the scopes that permit a call';
      throw new CallError('GATEWAY_CAPABILITY_NOT_PERMITTED', message, { headers });
    },
    noteKey(exchange, principal) {
      exchange.log.caller = { ...UNKNOWN_CALLER, principal: principal.id };
    },
    refuseNone(exchange) {
      note(exchange, 'no_credential');
      return unauthorizedByEither(challenges.noCredential(targetOf(exchange)));
    },
    refuseKey(exchange) {
      note(exchange, 'api_key');
      return unauthorizedByEither(REFUSED_KEY);
    },
  };
  return { authentication, counters: verifier.counters, close: () => verifier.close() };
}

function targetOf({ request }: Exchange): string {
  return request.url ?? '';
}
