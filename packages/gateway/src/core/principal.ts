import type { Claims } from '@svc/identity';
import type { CallError } from './call-error.ts';
import type { Permissions } from './permission.ts';

/** Whoever sends a request, once that is proved. */
export type Principal = ApiKeyPrincipal | TokenPrincipal;

interface KnownPrincipal {
  /** `key:<principal>` or `token:<issuer's name>:<subject>`; what is counted or kept for a principal goes by it. */
  readonly id: string;
  /** Equal permissions are one object: what is made for a permission set is cached by it. */
  readonly permissions: Permissions;
  readonly claims: Claims;
  /** `claims` as a JSON object; empty when there are none. */
  readonly claimsJson: string;
}

export interface ApiKeyPrincipal extends KnownPrincipal {
  readonly kind: 'api_key';
  /** The name of the key's record, which is unique. */
  readonly name: string;
}

export interface TokenPrincipal extends KnownPrincipal {
  readonly kind: 'token';
  /** The credential itself, for agents that check it again. It goes nowhere else. */
  readonly token: string;
  readonly issuer: string;
  readonly subject: string;
  /** Empty when the token names no client. */
  readonly clientId: string;
  /** Seconds since 1970; undefined when the token does not say. */
  readonly issuedAt: number | undefined;
  /** The answer (401) when an agent takes no token of this age. */
  readonly refuseAsTooOld: () => CallError;
}
