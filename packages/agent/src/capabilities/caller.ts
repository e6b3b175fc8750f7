import type { Claims } from '@svc/identity';

/** Who calls, as far as the agent believes it. Unknown texts are empty. */
export interface Caller {
  /** Identifies the caller; no part of it is written by a caller. */
  readonly principal: string;
  /** The name of the API key; empty for a token, so that no subject can pass for a key. */
  readonly keyName: string;
  readonly issuer: string;
  readonly subject: string;
  readonly clientId: string;
  readonly claims: Claims;
  /** `claims` as JSON. */
  readonly claimsJson: string;
  /** What identified the caller: the gateway, or a token that the agent has verified. */
  readonly verifiedBy: 'token' | 'gateway';
}
