import type { Claims } from './claims.ts';
import type { Issuer } from './issuer.ts';

/** A token that has passed every check. The same object as long as it is remembered. */
export interface VerifiedToken {
  readonly kind: 'verified';
  readonly issuer: Issuer;
  /** `sub`: 1 to 255 characters, none of them a control character. */
  readonly subject: string;
  /** `client_id`, else `azp`, `cid` or `appid`; empty where the token has none. */
  readonly clientId: string;
  /** `jti`, for logs; empty where the token has none. */
  readonly tokenId: string;
  /** Seconds since 1970; undefined where the token does not say and need not. */
  readonly issuedAt: number | undefined;
  readonly expiresAt: number;
  readonly claims: Claims;
  /** `claims` as JSON, at most 8 KiB. */
  readonly claimsJson: string;
  /** The places of the issuer's grants whose condition holds, in their order. */
  readonly grants: readonly number[];
}

/** Why a token is refused: a closed list, for logs. */
export const TOKEN_FAILURES = [
  'malformed',
  'too_large',
  'unknown_issuer',
  'algorithm',
  'type',
  'critical_header',
  'unknown_key',
  'ambiguous_key',
  'signature',
  'expired',
  'not_yet_valid',
  'lifetime',
  'audience',
  'id_token',
  'required_claim',
  'bound_token',
  'subject',
  'claims_too_large',
] as const;
export type TokenFailure = (typeof TOKEN_FAILURES)[number];

export interface RefusedToken {
  readonly kind: 'refused';
  readonly failure: TokenFailure;
  /** Present once the signature is verified. */
  readonly issuer: Issuer | undefined;
}

/** No keys of the issuer are known yet. */
export interface UnavailableIssuer {
  readonly kind: 'unavailable';
  readonly issuer: Issuer;
  readonly retryAfterSeconds: number;
}

export type TokenOutcome = VerifiedToken | RefusedToken | UnavailableIssuer;

export interface TokenVerifier {
  /** Answers at once for a token that is remembered; otherwise a promise, which never rejects. */
  verify(token: string): TokenOutcome | Promise<TokenOutcome>;
  readonly counters: TokenCounters;
  close(): void;
}

/** For the metrics; all grow. */
export interface TokenCounters {
  readonly cacheHits: number;
  readonly cacheMisses: number;
  readonly fetchFailures: number;
}
