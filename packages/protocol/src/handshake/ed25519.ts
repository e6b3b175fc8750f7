import { createHash, createPrivateKey, createPublicKey, randomBytes, type KeyObject } from 'node:crypto';

/** DER of an Ed25519 PKCS #8 key up to the seed (RFC 8410, section 7). */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');

/** Both keys as base64url of their 32 bytes. */
export interface RawKeyPair {
  readonly seed: string;
  readonly publicKey: string;
}

/**
 * An Ed25519 seed is any 32 random bytes (RFC 8032, section 5.1.5). `generateKeyPair` of Node.js is not used: when the
 * garbage collector runs while such a key is exported as JWK, the process waits for its own lock for ever.
 */
export function createRawKeyPair(): RawKeyPair {
  const seed = randomBytes(32);
  const publicKey = rawPublicKey(privateKeyFromSeed(seed));
  return { seed: seed.toString('base64url'), publicKey: publicKey.toString('base64url') };
}

/** `seed` is the 32-byte Ed25519 private key. */
export function privateKeyFromSeed(seed: Uint8Array): KeyObject {
  if (seed.length !== 32) throw new TypeError('cannot use the private key: the seed must be 32 bytes');
  return createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, seed]), format: 'der', type: 'pkcs8' });
}

/** `raw` is the 32-byte Ed25519 public key. */
export function publicKeyFromRaw(raw: Uint8Array): KeyObject {
  const x = Buffer.from(raw).toString('base64url');
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
}

export function rawPublicKey(privateKey: KeyObject): Buffer {
  const { x } = createPublicKey(privateKey).export({ format: 'jwk' });
  if (x === undefined) throw new TypeError('cannot read the public key: it is not an Ed25519 key');
  return Buffer.from(x, 'base64url');
}

/** Names a public key without being one: the first half of its SHA-256. */
export function agentKeyId(rawKey: Uint8Array): string {
  return createHash('sha256').update(rawKey).digest().subarray(0, 16).toString('base64url');
}
