import { CAPABILITY_NAME_PATTERN } from '@svc/protocol';

const CAPABILITY_NAME = new RegExp(CAPABILITY_NAME_PATTERN);

/** The public part of a created key, `svc_<key_id>_<secret>`. */
export function isKeyId(text: string): boolean {
  return /^[A-Za-z0-9]{1,32}$/.test(text);
}

/** The same rule as in the capability file. */
export function isCapabilityName(text: string): boolean {
  return CAPABILITY_NAME.test(text);
}

export const KEY_NAME_ACCEPTED = '1 to 128 characters without control characters';

/** The name travels into logs and into the database session; both need whole, printable text. */
export function isKeyName(text: string): boolean {
  return /^(?=.*\S)[^\p{Cc}\p{Cs}\u2028\u2029]{1,128}$/u.test(text);
}

/** Printable ASCII, 1 to 72 bytes: bcrypt ignores further bytes. Nothing else is ever hashed. */
export function canBeKey(plaintext: string): boolean {
  return /^[\x20-\x7e]{1,72}$/.test(plaintext);
}

export type KeyForm =
  | { readonly kind: 'other' }
  /** `complete` when the secret is as long as 160 random bits need; shorter ones may be made by hand. */
  | { readonly kind: 'created'; readonly keyId: string; readonly complete: boolean };

export function keyFormOf(plaintext: string): KeyForm {
  const [, keyId, secret] = /^svc_([A-Za-z0-9]{1,32})_(.+)$/.exec(plaintext) ?? [];
  if (keyId === undefined || secret === undefined) return { kind: 'other' };
  return { kind: 'created', keyId, complete: /^[A-Za-z0-9_-]{27,}$/.test(secret) };
}
