import { createHash, sign, verify, type KeyObject } from 'node:crypto';
import { createKeyPair } from '@svc/testkit';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { agentKeyId, privateKeyFromSeed, publicKeyFromRaw, rawPublicKey } from './ed25519.ts';

/** RFC 8032, section 7.1, test 1. */
const RFC_SEED = '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60';
const RFC_PUBLIC = 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a';

const seedOf = (key: KeyObject): Buffer => Buffer.from(key.export({ format: 'jwk' }).d ?? '', 'base64url');

test('the public key of a seed is the one that RFC 8032 gives', () => {
  expect(rawPublicKey(privateKeyFromSeed(Buffer.from(RFC_SEED, 'hex'))).toString('hex')).toBe(RFC_PUBLIC);
});

test('a key that Node made survives the way through its raw bytes', () => {
  for (let count = 0; count < 20; count++) {
    const pair = createKeyPair();
    const raw = rawPublicKey(pair.privateKey);
    expect(raw).toHaveLength(32);
    expect(publicKeyFromRaw(raw).equals(pair.publicKey)).toBe(true);
    expect(privateKeyFromSeed(seedOf(pair.privateKey)).equals(pair.privateKey)).toBe(true);
  }
});

test('what a seed signs, its raw public key verifies', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), fc.uint8Array(), (seed, message) => {
      const key = privateKeyFromSeed(seed);
      const signature = sign(null, message, key);
      expect(verify(null, message, publicKeyFromRaw(rawPublicKey(key)), signature)).toBe(true);
    }),
  );
});

test.each([0, 31, 33, 64])('a seed of %i bytes is refused', (length) => {
  expect(() => privateKeyFromSeed(Buffer.alloc(length))).toThrow(TypeError);
});

test.each([0, 31, 33])('a public key of %i bytes is refused', (length) => {
  expect(() => publicKeyFromRaw(Buffer.alloc(length))).toThrow(/key|JWK/i);
});

test('a key id is the first half of the SHA-256 of the raw public key, base64url', () => {
  const raw = Buffer.from(RFC_PUBLIC, 'hex');
  const hash = createHash('sha256').update(raw).digest('hex');
  const keyId = agentKeyId(raw);
  expect(Buffer.from(keyId, 'base64url').toString('hex')).toBe(hash.slice(0, 32));
  expect(keyId).toMatch(/^[A-Za-z0-9_-]{22}$/);
});
