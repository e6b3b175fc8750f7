import type { KeyObject } from 'node:crypto';
import {
  CURSOR_FEATURE,
  DATABASES_FEATURE,
  FLEET_FEATURE,
  parseChallenge,
  PROTOCOL_VERSIONS,
  ProtocolError,
  signTranscript,
  type Auth,
  type Challenge,
  type Hello,
  type ProtocolVersion,
} from '@svc/protocol';

/** What the agent tells about itself: PROTOCOL.md, "Handshake". */
export interface AgentIdentity {
  readonly instanceId: string;
  readonly keyId: string;
  readonly privateKey: KeyObject;
  readonly audience: string;
  readonly maxInflight: number;
  readonly manifestSha256: string;
  /** Whether an answer may have a cursor. */
  readonly hasPages: boolean;
  /** Whether tokens or the gateway identify callers, if the file asks; then only version 2, which transmits callers, will do. */
  readonly trust: 'token' | 'gateway' | undefined;
  /** The service whose calls it accepts, if its file names one. */
  readonly service?: string;
}

function offeredVersions({ trust }: AgentIdentity): readonly ProtocolVersion[] {
  return trust === undefined ? PROTOCOL_VERSIONS : [2];
}

/** `nonce` is 32 fresh random bytes. */
export function sayHello(identity: AgentIdentity, nonce: Uint8Array): Buffer {
  const hello: Hello = {
    type: 'hello',
    instance_id: identity.instanceId,
    key_id: identity.keyId,
    versions: offeredVersions(identity),
    agent_nonce: Buffer.from(nonce).toString('base64url'),
    max_inflight: identity.maxInflight,
    manifest_sha256: identity.manifestSha256,
    audience: identity.audience,
    ...(identity.trust === undefined ? {} : { identity: identity.trust }),
    features: [FLEET_FEATURE, DATABASES_FEATURE, ...(identity.hasPages ? [CURSOR_FEATURE] : [])],
    ...(identity.service === undefined ? {} : { service: identity.service }),
  };
  return Buffer.from(JSON.stringify(hello));
}

export interface Agreed {
  readonly challenge: Challenge;
  readonly version: ProtocolVersion;
  readonly hasFleet: boolean;
  readonly hasDatabases: boolean;
  readonly hasCursors: boolean;
}

/** Throws ProtocolError if the gateway chose a version that was not offered. */
export function readChallenge(challengeBytes: Uint8Array, identity: AgentIdentity): Agreed {
  const challenge = parseChallenge(challengeBytes);
  const version = offeredVersions(identity).find((offered) => offered === challenge.version);
  if (version === undefined) throw new ProtocolError('the gateway chose a version not offered');
  const has = (feature: string): boolean => challenge.features?.includes(feature) === true;
  return {
    challenge,
    version,
    hasFleet: has(FLEET_FEATURE),
    hasDatabases: has(DATABASES_FEATURE),
    hasCursors: has(CURSOR_FEATURE),
  };
}

export function answerChallenge(
  challengeBytes: Uint8Array,
  helloBytes: Uint8Array,
  { audience, keyId, privateKey }: AgentIdentity,
): Buffer {
  const signature = signTranscript(
    { audience, keyId, hello: helloBytes, challenge: challengeBytes },
    privateKey,
  );
  const auth: Auth = { type: 'auth', signature: signature.toString('base64url') };
  return Buffer.from(JSON.stringify(auth));
}
