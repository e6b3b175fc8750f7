import {
  agentKeyId,
  CLOSE,
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

/** The gateway's half of the handshake as pure steps; PROTOCOL.md, "Handshake". */
export interface HandshakeRules {
  /** Raw 32-byte public keys. */
  readonly publicKeys: readonly Uint8Array[];
  /** Normalised audiences; undefined accepts any. */
  readonly audiences: readonly string[] | undefined;
  readonly replicaId: string;
  readonly maxParamsBytes: number;
}

export interface HelloAccepted {
  readonly hello: Hello;
  readonly helloBytes: Uint8Array;
  readonly challengeBytes: Uint8Array;
  readonly connId: string;
  /** The greatest that both sides speak. */
  readonly version: ProtocolVersion;
}

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
  const challenge: Challenge = {
    type: 'challenge',
    conn_id: connId,
    replica_id: rules.replicaId,
    gateway_nonce: Buffer.from(nonce).toString('base64url'),
    version,
    limits: { max_params_bytes: rules.maxParamsBytes },
  };
  return { hello, helloBytes, challengeBytes: Buffer.from(JSON.stringify(challenge)), connId, version };
}

/** Proves who the agent is and that it meant this gateway; throws ProtocolError with code 4401 or 4403. */
export function checkAuth(authBytes: Uint8Array, accepted: HelloAccepted, rules: HandshakeRules): Welcome {
  const { hello } = accepted;
  const signature = Buffer.from(parseAuth(authBytes).signature, 'base64url');
  const transcript = {
    audience: hello.audience,
    keyId: hello.key_id,
    hello: accepted.helloBytes,
    challenge: accepted.challengeBytes,
  };
  const publicKey = rules.publicKeys.find((raw) => agentKeyId(raw) === hello.key_id);
  if (publicKey === undefined || !verifyTranscript(transcript, publicKeyFromRaw(publicKey), signature)) {
    throw new ProtocolError('unknown key or bad signature', CLOSE.unauthorized);
  }
  checkAudience(hello.audience, rules.audiences);
  return { type: 'welcome', replica_count: 1 };
}

/** Only after the signature: the text names our configuration, which an unauthenticated peer must not learn. */
function checkAudience(audience: string, accepted: readonly string[] | undefined): void {
  if (accepted === undefined || accepted.includes(audience)) return;
  if (isLoopbackAudience(audience)) return;
  throw new ProtocolError(
    `the agent dialled ${audience}, this gateway answers to ${accepted.join(', ')}: ` +
      'set gateway.url in the capability file to one of these, or add the URL to GATEWAY_AGENT_URLS',
    CLOSE.wrong_audience,
  );
}

/** The text is the agent's: anything but a normalised audience is simply none. */
function isLoopbackAudience(audience: string): boolean {
  try {
    return normalizeAudience(audience) === audience && isLoopbackHost(new URL(audience).hostname);
  } catch {
    return false;
  }
}
