import type { webcrypto } from 'node:crypto';

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
