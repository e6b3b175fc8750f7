import type { KeyObject } from 'node:crypto';
import {
  parseChallenge,
  PROTOCOL_VERSION,
  ProtocolError,
  signTranscript,
  type Auth,
  type Challenge,
  type Hello,
} from '@svc/protocol';

/** What the agent sends of itself; PROTOCOL.md, "Handshake". */
export interface AgentIdentity {
  readonly instanceId: string;
  readonly keyId: string;
  readonly privateKey: KeyObject;
  readonly audience: string;
  readonly maxInflight: number;
  readonly manifestSha256: string;
}

/** The agent's half of the handshake as pure steps. `nonce` is 32 fresh random bytes. */
export function sayHello(identity: AgentIdentity, nonce: Uint8Array): Buffer {
  const hello: Hello = {
    type: 'hello',
    instance_id: identity.instanceId,
    key_id: identity.keyId,
    versions: [PROTOCOL_VERSION],
    agent_nonce: Buffer.from(nonce).toString('base64url'),
    max_inflight: identity.maxInflight,
    manifest_sha256: identity.manifestSha256,
    audience: identity.audience,
  };
  return Buffer.from(JSON.stringify(hello));
}

/** Throws ProtocolError when the gateway chose a version that was not offered. */
export function answerChallenge(
  challengeBytes: Uint8Array,
  helloBytes: Uint8Array,
  identity: AgentIdentity,
): { readonly challenge: Challenge; readonly authBytes: Buffer } {
  const challenge = parseChallenge(challengeBytes);
  if (challenge.version !== PROTOCOL_VERSION)
    throw new ProtocolError('the gateway chose a version not offered');
  const { audience, keyId, privateKey } = identity;
  const signature = signTranscript(
    { audience, keyId, hello: helloBytes, challenge: challengeBytes },
    privateKey,
  );
  const auth: Auth = { type: 'auth', signature: signature.toString('base64url') };
  return { challenge, authBytes: Buffer.from(JSON.stringify(auth)) };
}
