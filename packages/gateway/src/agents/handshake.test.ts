import { randomBytes } from 'node:crypto';
import { CLOSE, parseChallenge, ProtocolError, type Welcome } from '@svc/protocol';
import { describe, expect, test } from 'vitest';
import { answerHello, checkAuth, type HandshakeRules } from './handshake.ts';
import {
  authBytes,
  createAgentKey,
  helloBytes,
  knownKeys,
  type HelloOptions,
} from './unauthenticated-peer.testing.ts';

type HelloOffer = Omit<HelloOptions, 'keyId'>;

const key = createAgentKey();
const other = createAgentKey();
const AUDIENCE = 'wss://gateway.example/ws/agent';
const rules: HandshakeRules = {
  agentKey: knownKeys({ ...other, service: 'default' }, { ...key, service: 'orders' }),
  audiences: ['wss://elsewhere.example/ws/agent', AUDIENCE],
  replicaId: 'replica',
  worker: 2,
  replicaCount: () => 3,
  linksPerReplica: 4,
  maxParamsBytes: 1000,
};

/** The whole exchange with an agent that may be wrong about what it signs. */
function shake(
  options: {
    readonly hello?: Buffer;
    readonly signedHello?: Buffer;
    readonly signedChallenge?: (challenge: Buffer) => Buffer;
    readonly audience?: string;
    readonly auth?: (auth: Buffer) => Buffer;
    readonly rules?: HandshakeRules;
  } = {},
): Welcome {
  const audience = options.audience ?? AUDIENCE;
  const hello = options.hello ?? helloBytes({ keyId: key.keyId, audience });
  const accepted = answerHello(hello, options.rules ?? rules, 'connection', randomBytes(32));
  const sent = Buffer.from(accepted.challengeBytes);
  const challenge = options.signedChallenge?.(sent) ?? sent;
  const auth = authBytes(key, { hello: options.signedHello ?? hello, challenge, audience });
  return checkAuth(options.auth?.(auth) ?? auth, accepted, options.rules ?? rules).welcome;
}

/** The code of the refusal; undefined for a welcome. */
function refusal(attempt: () => unknown): number | undefined {
  try {
    attempt();
    return undefined;
  } catch (error) {
    if (error instanceof ProtocolError) return error.code;
    throw error;
  }
}

function flip(bytes: Buffer, at: number, bit: number): Buffer {
  const flipped = Buffer.from(bytes);
  flipped.writeUInt8(bytes.readUInt8(at) ^ (1 << bit), at);
  return flipped;
}

test('an agent with a configured key is welcome', () => {
  expect(shake()).toEqual({ type: 'welcome', replica_count: 3 });
});

describe('features', () => {
  const hello = (offer: HelloOffer): Buffer => helloBytes({ keyId: key.keyId, audience: AUDIENCE, ...offer });
  const challengeTo = (offer: HelloOffer): Record<string, unknown> => ({
    ...parseChallenge(answerHello(hello(offer), rules, 'connection', randomBytes(32)).challengeBytes),
  });

  test('I43: an agent that offers none is told nothing of them', () => {
    expect(Object.keys(challengeTo({}))).toEqual([
      'type',
      'conn_id',
      'replica_id',
      'gateway_nonce',
      'version',
      'limits',
    ]);
    expect(shake({ hello: hello({}) })).toEqual({ type: 'welcome', replica_count: 3 });
  });

  test.each([1, 2])(
    'of version %i: those that are known are accepted, and what belongs to them is said',
    (version) => {
      const offer = { versions: [version], features: ['later', 'fleet'] };
      expect(challengeTo(offer)).toMatchObject({ version, features: ['fleet'], worker: 2 });
      expect(shake({ hello: hello(offer) })).toEqual({
        type: 'welcome',
        replica_count: 3,
        links_per_replica: 4,
      });
    },
  );

  test('the gateway knows of databases', () => {
    expect(challengeTo({ features: ['databases'] })).toMatchObject({ features: ['databases'] });
  });

  test('an agent that offers others only learns which worker it has reached', () => {
    expect(challengeTo({ features: ['later'] })).toMatchObject({ features: [], worker: 2 });
    expect(shake({ hello: hello({ features: ['later'] }) })).toEqual({ type: 'welcome', replica_count: 3 });
  });
});

test('an agent that names its service is welcome where its key belongs to it: 4401', () => {
  const hello = (service: string): Buffer => helloBytes({ keyId: key.keyId, audience: AUDIENCE, service });
  expect(refusal(() => shake({ hello: hello('orders') }))).toBeUndefined();
  expect(refusal(() => shake({ hello: hello('default') }))).toBe(CLOSE.unauthorized);
});

test('an audience may be that of one replica among many', { tags: ['agent:audience'] }, () => {
  const named = { ...rules, audiences: ['wss://gw-{replica}.example/ws/agent'] };
  const code = (audience: string): number | undefined => refusal(() => shake({ audience, rules: named }));
  expect(code('wss://gw-63.example/ws/agent')).toBeUndefined();
  expect(code('wss://gw-64.example/ws/agent')).toBe(CLOSE.wrong_audience);
  expect(code('wss://gw-{replica}.example/ws/agent')).toBe(CLOSE.wrong_audience);
});

test('the challenge says what the agent must know, and its nonce is the one of this socket', () => {
  const nonce = randomBytes(32);
  const { challengeBytes } = answerHello(helloBytes({ keyId: key.keyId }), rules, 'connection', nonce);
  expect(parseChallenge(challengeBytes)).toEqual({
    type: 'challenge',
    conn_id: 'connection',
    replica_id: 'replica',
    gateway_nonce: nonce.toString('base64url'),
    version: 1,
    limits: { max_params_bytes: 1000 },
  });
});

describe('I41: the version that is spoken', () => {
  const hello = (versions: readonly number[]): Buffer =>
    helloBytes({ keyId: key.keyId, audience: AUDIENCE, versions });

  test.each([
    [[1], 1],
    [[2], 2],
    [[1, 2], 2],
    [[7, 2, 1, 3], 2],
    [[7, 1], 1],
  ])('of %j is %i', (versions, chosen) => {
    const accepted = answerHello(hello(versions), rules, 'connection', randomBytes(32));
    expect([accepted.version, parseChallenge(accepted.challengeBytes).version]).toEqual([chosen, chosen]);
    expect(shake({ hello: hello(versions) })).toBeDefined();
  });

  test('is none where the agent has none of ours', () => {
    expect(refusal(() => shake({ hello: hello([3, 4]) }))).toBe(CLOSE.no_common_version);
  });
});

describe('one flipped bit', () => {
  const hello = helloBytes({ keyId: key.keyId, audience: AUDIENCE });

  test('anywhere in hello on its way is refused', () => {
    for (let at = 0; at < hello.length; at++) {
      const code = refusal(() => shake({ hello: flip(hello, at, at % 7), signedHello: hello }));
      expect([CLOSE.protocol_error, CLOSE.unauthorized, CLOSE.no_common_version]).toContain(code);
    }
  });

  test('anywhere in the challenge on its way is refused', () => {
    const { length } = answerHello(hello, rules, 'connection', randomBytes(32)).challengeBytes;
    for (let at = 0; at < length; at++) {
      const signedChallenge = (challenge: Buffer): Buffer => flip(challenge, at, at % 8);
      expect(refusal(() => shake({ hello, signedChallenge }))).toBe(CLOSE.unauthorized);
    }
  });

  test('anywhere in the signature is refused', () => {
    for (let at = 0; at < 64; at++) {
      const auth = (bytes: Buffer): Buffer => {
        const message: { signature: string } = JSON.parse(bytes.toString());
        const signature = flip(Buffer.from(message.signature, 'base64url'), at, at % 8);
        return Buffer.from(JSON.stringify({ ...message, signature: signature.toString('base64url') }));
      };
      expect(refusal(() => shake({ hello, auth }))).toBe(CLOSE.unauthorized);
    }
  });
});

test('a recorded answer is worth nothing for the next challenge', () => {
  const hello = helloBytes({ keyId: key.keyId, audience: AUDIENCE });
  const first = answerHello(hello, rules, 'connection', randomBytes(32));
  const auth = authBytes(key, { hello, challenge: Buffer.from(first.challengeBytes), audience: AUDIENCE });
  expect(checkAuth(auth, first, rules)).toBeDefined();
  const second = answerHello(hello, rules, 'connection', randomBytes(32));
  expect(refusal(() => checkAuth(auth, second, rules))).toBe(CLOSE.unauthorized);
});

describe('the audience', () => {
  test('that is not ours is refused, and the reason names both sides and the settings', () => {
    const attempt = (): unknown => shake({ audience: 'wss://typo.example/ws/agent' });
    expect(refusal(attempt)).toBe(CLOSE.wrong_audience);
    expect(attempt).toThrow(
      /wss:\/\/typo\.example\/ws\/agent.*wss:\/\/elsewhere\.example\/ws\/agent, wss:\/\/gateway\.example.*gateway\.url.*GATEWAY_AGENT_URLS/,
    );
  });

  test('is judged only when the signature is good', () => {
    const hello = helloBytes({ keyId: key.keyId, audience: 'wss://typo.example/ws/agent' });
    expect(refusal(() => shake({ hello, signedHello: Buffer.from('other') }))).toBe(CLOSE.unauthorized);
  });

  test.each(['ws://localhost:8080/ws/agent', 'ws://127.0.0.1/ws/agent', 'ws://[::1]:1/ws/agent'])(
    '%s is always accepted',
    (audience) => {
      expect(shake({ audience })).toBeDefined();
    },
  );

  test.each([
    'wss://gateway.example/ws/agent/',
    'WSS://gateway.example/ws/agent',
    'wss://gateway.example:443/ws/agent',
    'ws://LOCALHOST/ws/agent',
    'ws://localhost.example/ws/agent',
    'ws://localhost@gateway.evil/ws/agent',
    'http://localhost/ws/agent',
    'no url',
  ])('%s is compared character by character', (audience) => {
    expect(refusal(() => shake({ audience }))).toBe(CLOSE.wrong_audience);
  });

  test('is not asked for when no URL is configured', () => {
    const open = { ...rules, audiences: undefined };
    expect(shake({ audience: 'wss://anything.example/ws/agent', rules: open })).toBeDefined();
  });
});
