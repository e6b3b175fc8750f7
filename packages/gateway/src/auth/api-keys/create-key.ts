import type { Claims } from '@svc/identity';
import { hashSync } from 'bcryptjs';

interface WrittenKeyRecord {
  readonly name: string;
  readonly key_id: string;
  readonly key_hash: string;
  readonly capabilities: readonly string[];
  readonly principal?: string;
  readonly claims?: Claims;
  readonly expires_at?: string;
}

export interface CreatedKey {
  /** The plaintext, which nothing stores. */
  readonly apiKey: string;
  readonly record: WrittenKeyRecord;
}

/** About 70 ms. A created key is too random to be guessed, so more would gain nothing. */
const BCRYPT_COST = 10;
const KEY_ID_BYTES = 6;
/** 192 bits. In hex the whole key takes 65 of bcrypt's 72 bytes. */
const SECRET_BYTES = 24;

/** Makes `svc_<key_id>_<secret>` and its record. The options are already checked. */
export function createKey(options: {
  readonly name: string;
  readonly capabilities: readonly string[];
  readonly principal?: string | undefined;
  readonly claims?: Claims | undefined;
  readonly expiresAt?: string | undefined;
  readonly randomBytes: (length: number) => Buffer;
}): CreatedKey {
  const { name, capabilities, principal, claims, expiresAt, randomBytes } = options;
  const keyId = randomBytes(KEY_ID_BYTES).toString('hex');
  const apiKey = `svc_${keyId}_${randomBytes(SECRET_BYTES).toString('hex')}`;
  const record = {
    name,
    key_id: keyId,
    key_hash: hashSync(apiKey, BCRYPT_COST),
    capabilities,
    ...(principal !== undefined && { principal }),
    ...(claims !== undefined && { claims }),
    ...(expiresAt !== undefined && { expires_at: expiresAt }),
  };
  return { apiKey, record };
}
