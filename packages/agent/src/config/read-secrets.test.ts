import { expect, test } from 'vitest';
import { testKey } from './load.fixture.ts';
import { parsePrivateKey } from './read-secrets.ts';

const seed = Buffer.from(testKey.seed, 'base64url');
const both = Buffer.concat([seed, Buffer.from(testKey.publicKey, 'base64url')]);

test('reads the seed', () => {
  expect(parsePrivateKey(testKey.seed)).toEqual({ seed: new Uint8Array(seed) });
});

test('reads seed and public key', () => {
  expect(parsePrivateKey(both.toString('base64url'))).toEqual({ seed: new Uint8Array(seed) });
});

test('refuses a public key that is not the seed’s', () => {
  const strange = Buffer.concat([seed, seed]);
  expect(parsePrivateKey(strange.toString('base64url'))).toEqual({
    problem: 'holds a public key that does not belong to its private key',
  });
});

test.each([
  ['nothing', ''],
  ['too short', seed.subarray(1).toString('base64url')],
  ['too long', Buffer.concat([both, seed]).toString('base64url')],
  ['plain base64', Buffer.alloc(32, 255).toString('base64')],
  ['a line break', `${testKey.seed}\n`],
  ['hexadecimal', seed.toString('hex')],
])('refuses %s', (_, text) => {
  expect(parsePrivateKey(text)).toHaveProperty('problem');
});
