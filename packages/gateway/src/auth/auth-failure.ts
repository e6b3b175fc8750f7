import { TOKEN_FAILURES, type TokenFailure } from '@svc/identity';

const OF_THE_GATEWAY = [
  'no_credential',
  'api_key',
  'max_age',
  'insufficient_scope',
  'issuer_unavailable',
] as const;

/** Why a credential was not taken, for the log of a gateway that takes tokens. */
export type AuthFailure = (typeof OF_THE_GATEWAY)[number] | TokenFailure;

export const AUTH_FAILURES: readonly AuthFailure[] = [...OF_THE_GATEWAY, ...TOKEN_FAILURES];
