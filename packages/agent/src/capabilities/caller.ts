import type { Claims } from '@svc/identity';

/** Who calls, as far as the agent believes it. What is not known is empty. */
export interface Caller {
  /** Equal for calls of one caller, different for those of two; not a word of it comes from a caller. */
  readonly principal: string;
  /** The name of the API key; empty for a token, so that no subject can pass for a key. */
  readonly keyName: string;
  /** `iss` of the token. */
  readonly issuer: string;
  /** `sub` of the token. */
  readonly subject: string;
  /** The client that the token was issued to. */
  readonly clientId: string;
  readonly claims: Claims;
  /** `claims` as JSON. */
  readonly claimsJson: string;
  /** Whose word all this is: the token's, or the gateway's. */
  readonly verifiedBy: 'token' | 'gateway';
}
