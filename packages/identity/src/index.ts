export type { ClaimPath, Claims, ClaimValue } from './claims.ts';
export type { Grant, Issuer, KeySource, RequiredClaim } from './issuer.ts';
export {
  TOKEN_FAILURES,
  type RefusedToken,
  type TokenCounters,
  type TokenFailure,
  type TokenOutcome,
  type TokenVerifier,
  type UnavailableIssuer,
  type VerifiedToken,
} from './verified-token.ts';
