import {
  audienceMatches,
  CLOSE,
  CURSOR_FEATURE,
  DATABASES_FEATURE,
  FLEET_FEATURE,
  isLoopbackHost,
  normalizeAudience,
  parseAuth,
  parseHello,
  PROTOCOL_VERSIONS,
  ProtocolError,
  publicKeyFromRaw,
  verifyTranscript,
  type Challenge,
  type Hello,
  type ProtocolVersion,
  type Welcome,
} from '@svc/protocol';

/** The gateway's half of the handshake, as pure steps: see "Handshake" in PROTOCOL.md. */
export interface HandshakeRules {
  readonly agentKey: (keyId: string) => AgentKey | undefined;
  /** Normalised audiences; undefined accepts any. */
  readonly audiences: readonly string[] | undefined;
  readonly replicaId: string;
  readonly worker: number;
  readonly replicaCount: () => number;
  readonly linksPerReplica: number;
  readonly maxParamsBytes: number;
}

/** The key with which agents prove that they belong to a service. */
export interface AgentKey {
  /** 32 bytes. */
  readonly publicKey: Uint8Array;
  readonly service: string;
}

export interface HelloAccepted {
  readonly hello: Hello;
  readonly helloBytes: Uint8Array;
  readonly challengeBytes: Uint8Array;
  readonly connId: string;
  /** The highest version that both sides speak. */
  readonly version: ProtocolVersion;
  /** The accepted ones of those that the agent offered; undefined if it offered none, and then they are not mentioned to it. */
  readonly features: readonly string[] | undefined;
}

/** What this gateway can do beyond its versions. */
const FEATURES: readonly string[] = [FLEET_FEATURE, DATABASES_FEATURE, CURSOR_FEATURE];

/** Throws ProtocolError. `nonce` is 32 fresh random bytes, used for this socket only. */
export function answerHello(
  helloBytes: Uint8Array,
  rules: HandshakeRules,
  connId: string,
  nonce: Uint8Array,
): HelloAccepted {
  const hello = parseHello(helloBytes);
  const version = PROTOCOL_VERSIONS.findLast((ours) => hello.versions.includes(ours));
  if (version === undefined) {
    throw new ProtocolError(
      `the agent speaks none of our versions (${PROTOCOL_VERSIONS.join(', ')})`,
      CLOSE.no_common_version,
    );
  }
  const features = hello.features && FEATURES.filter((ours) => hello.features?.includes(ours));
  const challenge: Challenge = {
    type: 'challenge',
    conn_id: connId,
    replica_id: rules.replicaId,
    gateway_nonce: Buffer.from(nonce).toString('base64url'),
    version,
    limits: { max_params_bytes: rules.maxParamsBytes },
    ...(features === undefined ? {} : { features, worker: rules.worker }),
  };
  const challengeBytes = Buffer.from(JSON.stringify(challenge));
  return { hello, helloBytes, challengeBytes, connId, version, features };
}

/** Checks who the agent is and that it meant this gateway. Throws ProtocolError with code 4401 or 4403. */
export function checkAuth(
  authBytes: Uint8Array,
  accepted: HelloAccepted,
  rules: HandshakeRules,
): { readonly welcome: Welcome; readonly service: string } {
  const { hello } = accepted;
  const signature = Buffer.from(parseAuth(authBytes).signature, 'base64url');
  const transcript = {
    audience: hello.audience,
    keyId: hello.key_id,
    hello: accepted.helloBytes,
    challenge: accepted.challengeBytes,
  };
  const key = rules.agentKey(hello.key_id);
  if (key === undefined || !verifyTranscript(transcript, publicKeyFromRaw(key.publicKey), signature)) {
    throw new ProtocolError('unknown key or bad signature', CLOSE.unauthorized);
  }
  if (hello.service !== undefined && hello.service !== key.service) {
    const reason = `the key of the agent does not belong to the service ${hello.service}, which its file names`;
    throw new ProtocolError(reason, CLOSE.unauthorized);
  }
  checkAudience(hello.audience, rules.audiences);
  const welcome: Welcome = {
    type: 'welcome',
    replica_count: rules.replicaCount(),
    ...(accepted.features?.includes(FLEET_FEATURE) === true
      ? { links_per_replica: rules.linksPerReplica }
      : {}),
  };
  return { welcome, service: key.service };
}

/** Called after the signature is checked: the text shows configuration that an unauthenticated peer must not learn. */
function checkAudience(audience: string, accepted: readonly string[] | undefined): void {
  if (accepted === undefined || accepted.some((one) => audienceMatches(one, audience))) return;
  if (isLoopbackAudience(audience)) return;
  throw new ProtocolError(
    `the agent dialled ${audience}, this gateway answers to ${accepted.join(', ')}: ` +
      'set gateway.url in the capability file to one of these, or add the URL to GATEWAY_AGENT_URLS',
    CLOSE.wrong_audience,
  );
}

/** The agent chose the text: only a normalised audience counts. */
function isLoopbackAudience(audience: string): boolean {
  try {
    return normalizeAudience(audience) === audience && isLoopbackHost(new URL(audience).hostname);
  } catch {
    return false;
  }
}
