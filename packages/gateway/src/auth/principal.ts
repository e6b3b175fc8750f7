import type { Permissions } from './permission.ts';

/** Who sends a request, once that is proved. */
export type Principal = ApiKeyPrincipal;

interface ApiKeyPrincipal {
  readonly kind: 'api_key';
  /** The name of the key's record, which no other record has. */
  readonly id: string;
  /** One object for as long as the key is configured: what is made for a permission set is cached by it. */
  readonly permissions: Permissions;
}
