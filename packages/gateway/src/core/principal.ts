import type { Claims } from '@svc/identity';
import type { CallError } from './call-error.ts';
import type { Permissions } from './permission.ts';

/** Who sends a request, once that is proved. */
export type Principal = ApiKeyPrincipal | TokenPrincipal;

interface KnownPrincipal {
  /** `key:<principal>` or `token:<issuer's name>:<subject>`; what is counted or kept for a principal goes by it. */
  readonly id: string;
  /** Equal permissions are one object: what is made for a permission set is cached by it. */
  readonly permissions: Permissions;
  readonly claims: Claims;
  /** `claims` as a JSON object; empty where there are none. */
  readonly claimsJson: string;
}

export interface ApiKeyPrincipal extends KnownPrincipal {
  readonly kind: 'api_key';
  /** Of the key's record, which no other record has. */
  readonly name: string;
}

export interface TokenPrincipal extends KnownPrincipal {
  readonly kind: 'token';
  /** The credential itself, for agents that check it again. It goes nowhere else. */
  readonly token: string;
  /** The `iss`. */
  readonly issuer: string;
  readonly subject: string;
  /** Empty where the token names no client. */
  readonly clientId: string;
  /** Seconds since 1970; undefined where the token does not say. */
  readonly issuedAt: number | undefined;
  /** The answer where an agent takes no token as old as this one (401). */
  readonly refuseAsTooOld: () => CallError;
}
