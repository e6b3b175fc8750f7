export { CLAIMS_JSON_MAX_BYTES, type ClaimPath, type Claims, type ClaimValue } from './model/claims.ts';
export { parseClaims, type ParsedClaims } from './config/parse-claims.ts';
export { parseIssuers, type ParsedIssuers } from './config/parse-issuers.ts';
export type { Problem } from './config/problem.ts';
export type { Grant, Issuer, KeySource, RequiredClaim } from './model/issuer.ts';
export { loggedSubject, tokenPrincipalId } from './model/principal-id.ts';
export {
  TOKEN_FAILURES,
  type RefusedToken,
  type TokenCounters,
  type TokenFailure,
  type TokenOutcome,
  type TokenVerifier,
  type UnavailableIssuer,
  type VerifiedToken,
} from './model/verified-token.ts';
export { fetchKeySet, keyFileProblem } from './keys/fetch-keys.ts';
export { followKeySet, type FollowingKeySet, type KeysAnswer } from './keys/followed-keys.ts';
export { createHttpsFetch, type FetchBytes } from './keys/https-fetch.ts';
export type { FollowedKeySet, KeySet, ShownKeys } from './keys/key-set.ts';
export type { KeysEvent } from './keys/keys-event.ts';
export { canBeToken } from './verify/can-be-token.ts';
export { createTokenVerifier } from './verify/token-verifier.ts';
