import { hasSmallOrder, isEd25519Point } from './ed25519-point.ts';
import { bad, good, type Parsed } from '../parse/parsed.ts';

const ACCEPTED = 'accepted: the 43 base64url characters that svc-gateway create-agent-secret prints for it';
const PRIVATE_KEY_HINT =
  'the private key belongs in gateway.agent_private_key of the agent and nowhere else: if it was put here, ' +
  'make a new pair with svc-gateway create-agent-secret';

/** As many keys as there can be. */
const REMEMBERED_MAX = 10_000;

/** Checking a key takes a millisecond, and files of many keys are read again while calls are served. */
const accepted = new Map<string, Uint8Array>();

/** Reads one base64url Ed25519 public key into its 32 raw bytes. The problem never shows the text. */
export function parseAgentPublicKey(text: string): Parsed<Uint8Array> {
  const known = accepted.get(text);
  if (known !== undefined) return good(known);
  const parsed = parse(text);
  if (!parsed.ok) return parsed;
  if (accepted.size >= REMEMBERED_MAX) accepted.clear();
  accepted.set(text, parsed.value);
  return parsed;
}

function parse(text: string): Parsed<Uint8Array> {
  const unpadded = text.replace(/=$/, '');
  const bytes = Buffer.from(unpadded, 'base64url');
  if (!/^[A-Za-z0-9_-]+$/.test(unpadded) || bytes.toString('base64url') !== unpadded) {
    return bad(`is not base64url; ${ACCEPTED}`);
  }
  if (bytes.length === 64) return bad(`holds 64 bytes, as private keys do; ${ACCEPTED}; ${PRIVATE_KEY_HINT}`);
  if (bytes.length !== 32) return bad(`holds ${bytes.length} bytes instead of 32; ${ACCEPTED}`);
  if (!isEd25519Point(bytes)) return bad(`is not an Ed25519 public key; ${ACCEPTED}; ${PRIVATE_KEY_HINT}`);
  if (hasSmallOrder(bytes)) return bad(`is a key that anybody can sign for; ${ACCEPTED}`);
  return good(new Uint8Array(bytes));
}
