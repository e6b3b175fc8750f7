import { privateKeyFromSeed, rawPublicKey } from '@svc/protocol';

const SEED_BYTES = 32;

export type PrivateKey = { readonly seed: Uint8Array } | { readonly problem: string };

/** Reads an Ed25519 private key: base64url of the 32-byte seed, or of seed and public key. */
export function parsePrivateKey(text: string): PrivateKey {
  const bytes = Buffer.from(text, 'base64url');
  const proper = bytes.toString('base64url') === text;
  if (!proper || (bytes.length !== SEED_BYTES && bytes.length !== 2 * SEED_BYTES)) {
    return {
      problem:
        'must be a base64url Ed25519 private key of 43 or 86 characters, as `svc-gateway create-agent-secret` prints it',
    };
  }
  const seed = new Uint8Array(bytes.subarray(0, SEED_BYTES));
  if (
    bytes.length > SEED_BYTES &&
    !rawPublicKey(privateKeyFromSeed(seed)).equals(bytes.subarray(SEED_BYTES))
  ) {
    return { problem: 'holds a public key that does not belong to its private key' };
  }
  return { seed };
}
