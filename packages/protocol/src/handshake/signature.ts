import { createHash, sign, verify, type KeyObject } from 'node:crypto';

/** What the signature covers; the raw messages as they travelled, so no canonical form is needed. */
export interface Transcript {
  readonly audience: string;
  readonly keyId: string;
  readonly hello: Uint8Array;
  readonly challenge: Uint8Array;
}

const DOMAIN = Buffer.from('svc-agent/v1 auth\0', 'latin1');

/** The bytes that are signed (PROTOCOL.md, "Signature"). */
export function signedBytes(transcript: Transcript): Buffer {
  const messages = createHash('sha256')
    .update(lengthPrefixed(transcript.hello))
    .update(lengthPrefixed(transcript.challenge))
    .digest();
  return Buffer.concat([
    DOMAIN,
    lengthPrefixed(Buffer.from(transcript.audience, 'utf8')),
    lengthPrefixed(Buffer.from(transcript.keyId, 'utf8')),
    messages,
  ]);
}

/** 64 bytes of pure Ed25519. */
export function signTranscript(transcript: Transcript, privateKey: KeyObject): Buffer {
  return sign(null, signedBytes(transcript), privateKey);
}

export function verifyTranscript(
  transcript: Transcript,
  publicKey: KeyObject,
  signature: Uint8Array,
): boolean {
  return verify(null, signedBytes(transcript), publicKey, signature);
}

function lengthPrefixed(bytes: Uint8Array): Buffer {
  const prefixed = Buffer.allocUnsafe(4 + bytes.length);
  prefixed.writeUInt32BE(bytes.length, 0);
  prefixed.set(bytes, 4);
  return prefixed;
}
