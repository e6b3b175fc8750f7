import { bad, good, type Parsed } from './parsed.ts';

/** Reads one base64url Ed25519 public key into its 32 raw bytes. The problem never shows the text. */
export function parseAgentPublicKey(text: string): Parsed<Uint8Array> {
  const accepted = 'accepted: the 43 base64url characters printed by svc-gateway create-agent-secret';
  const unpadded = text.replace(/=$/, '');
  const bytes = Buffer.from(unpadded, 'base64url');
  if (!/^[A-Za-z0-9_-]+$/.test(unpadded) || bytes.toString('base64url') !== unpadded) {
    return bad(`is not base64url; ${accepted}`);
  }
  if (bytes.length === 64) return bad(`holds 64 bytes, which looks like a private key; ${accepted}`);
  if (bytes.length !== 32) return bad(`holds ${bytes.length} bytes instead of 32; ${accepted}`);
  return good(new Uint8Array(bytes));
}
