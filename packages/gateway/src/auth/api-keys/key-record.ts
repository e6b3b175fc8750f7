import type { Claims } from '@svc/identity';
import type { Permissions } from '../../core/permission.ts';

/** One API key, as configured in GATEWAY_API_KEYS_JSON and checked at start. */
export interface KeyRecord {
  readonly name: string;
  readonly keyHash: string;
  /** Present for keys made by `create-key`: the public part of `svc_<key_id>_<secret>`. */
  readonly keyId: string | undefined;
  readonly capabilities: Permissions;
  /** Keys of one principal have equal capabilities and claims. */
  readonly principal: string;
  readonly claims: Claims;
  /** Milliseconds since 1970; from then on the key is unknown. Undefined for never. */
  readonly expiresAtMs: number | undefined;
}
