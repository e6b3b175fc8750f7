import type { webcrypto } from 'node:crypto';

export function findKey(
  keys: readonly VerificationKey[],
  alg: string,
  kid: string | undefined,
): VerificationKey | 'unknown_key' | 'ambiguous_key' | 'algorithm' {
  const named = kid === undefined ? keys : keys.filter((key) => key.kid === kid);
  const [key, another] = named.filter((candidate) => candidate.alg === alg);
  if (another !== undefined) return 'ambiguous_key';
  if (key !== undefined) return key;
  return kid === undefined || named.length === 0 ? 'unknown_key' : 'algorithm';
}

/** The new keys. A key that stays is the same object, so that its verified tokens stay in memory. */
export function replaceKeys(
  keys: readonly VerificationKey[],
  fetched: readonly VerificationKey[],
): readonly VerificationKey[] {
  const before = new Map(keys.map((key) => [key.fingerprint, key]));
  const after = fetched.map((key) => before.get(key.fingerprint) ?? key);
  for (const key of keys) if (!after.includes(key)) key.retired = true;
  return after;
}

/** A public key of an issuer, ready to verify signatures of one algorithm. */
export interface VerificationKey {
  readonly kid: string | undefined;
  readonly alg: string;
  readonly key: webcrypto.CryptoKey;
  /** Equal for the same key under the same `kid`. */
  readonly fingerprint: string;
  /** True once the issuer's set no longer holds the key. Tokens that it signed are no longer trusted. */
  retired: boolean;
}
