import { randomBytes } from 'node:crypto';
import {
  agentKeyId,
  parseAuth,
  parseHello,
  privateKeyFromSeed,
  ProtocolError,
  publicKeyFromRaw,
  rawPublicKey,
  verifyTranscript,
} from '@svc/protocol';
import { describe, expect, test } from 'vitest';
import { answerChallenge, readChallenge, sayHello, type AgentIdentity } from './handshake.ts';

const privateKey = privateKeyFromSeed(randomBytes(32));
const publicKey = rawPublicKey(privateKey);
const identity: AgentIdentity = {
  instanceId: 'instance',
  keyId: agentKeyId(publicKey),
  privateKey,
  audience: 'wss://gateway.example/ws/agent',
  maxInflight: 64,
  manifestSha256: 'ab'.repeat(32),
  hasPages: false,
  trust: undefined,
};
const challenge = {
  type: 'challenge',
  conn_id: 'c1',
  replica_id: 'r1',
  gateway_nonce: randomBytes(32).toString('base64url'),
  version: 1,
  limits: { max_params_bytes: 1000 },
};

test('hello says who the agent is', () => {
  const nonce = randomBytes(32);
  expect(parseHello(sayHello(identity, nonce))).toEqual({
    type: 'hello',
    instance_id: 'instance',
    key_id: identity.keyId,
    versions: [1, 2],
    agent_nonce: nonce.toString('base64url'),
    max_inflight: 64,
    manifest_sha256: identity.manifestSha256,
    audience: identity.audience,
    features: ['fleet', 'databases'],
  });
});

test.each(['token', 'gateway'] as const)(
  'hello of a file with trust: %s says so and offers version 2 alone',
  (trust) => {
    const hello = parseHello(sayHello({ ...identity, trust }, randomBytes(32)));
    expect(hello).toMatchObject({ versions: [2], identity: trust });
  },
);

describe('I41: the version that is spoken', () => {
  const choose = (version: number, trust?: 'token'): number => {
    const mine = { ...identity, trust };
    const bytes = Buffer.from(JSON.stringify({ ...challenge, version }));
    return readChallenge(bytes, mine).version;
  };

  test('is the one of the challenge, also that of an older gateway', () => {
    expect([choose(1), choose(2), choose(2, 'token')]).toEqual([1, 2, 2]);
  });

  test.each([
    [3, undefined],
    [1, 'token' as const],
  ])('is not %i for a file with trust: %s', (version, trust) => {
    expect(() => choose(version, trust)).toThrow(ProtocolError);
  });
});

test('the signature is for this hello, this challenge and this gateway', () => {
  const hello = sayHello(identity, randomBytes(32));
  const bytes = Buffer.from(JSON.stringify({ ...challenge, field_of_a_later_version: 1 }));
  const authBytes = answerChallenge(bytes, hello, identity);
  expect(readChallenge(bytes, identity).challenge.conn_id).toBe('c1');
  const signature = Buffer.from(parseAuth(authBytes).signature, 'base64url');
  const { audience, keyId } = identity;
  const verify = (transcript: { audience: string; hello: Buffer; challenge: Buffer }): boolean =>
    verifyTranscript({ keyId, ...transcript }, publicKeyFromRaw(publicKey), signature);
  expect(verify({ audience, hello, challenge: bytes })).toBe(true);
  expect(verify({ audience: 'wss://other.example/ws/agent', hello, challenge: bytes })).toBe(false);
  expect(verify({ audience, hello: sayHello(identity, randomBytes(32)), challenge: bytes })).toBe(false);
  const other = Buffer.from(JSON.stringify(challenge));
  expect(verify({ audience, hello, challenge: other })).toBe(false);
});

test.each([
  ['no nonce', { ...challenge, gateway_nonce: undefined }],
  ['another message', { type: 'welcome', replica_count: 1 }],
])('a challenge with %s is not signed', (_title, message) => {
  const bytes = Buffer.from(JSON.stringify(message));
  expect(() => readChallenge(bytes, identity)).toThrow(ProtocolError);
});
