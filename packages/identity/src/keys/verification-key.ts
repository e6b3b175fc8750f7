import type { webcrypto } from 'node:crypto';

/** A public key of an issuer, ready to verify signatures of one algorithm. */
export interface VerificationKey {
  readonly kid: string | undefined;
  readonly alg: string;
  readonly key: webcrypto.CryptoKey;
  /** Equal for the same key under the same `kid`. */
  readonly fingerprint: string;
  /** True from when its issuer's set holds it no more: what it has signed is trusted no longer. */
  retired: boolean;
}
