import { webcrypto } from 'node:crypto';
import { ALGORITHMS } from '../keys/algorithms.ts';
import type { VerificationKey } from '../keys/verification-key.ts';

/** Whether this key has signed these bytes. Off the event loop. */
export async function hasSignature(
  { alg, key }: VerificationKey,
  signature: Uint8Array,
  bytes: Uint8Array,
): Promise<boolean> {
  const scheme = ALGORITHMS.get(alg)?.scheme;
  if (scheme === undefined) return false;
  try {
    return await webcrypto.subtle.verify(scheme, key, signature, bytes);
  } catch {
    // A signature of a form that no key makes.
    return false;
  }
}
