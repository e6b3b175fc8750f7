import { describe, expect, it } from 'vitest';
import { createSigningKey, type Jwk } from '../model/issuer.testing.ts';
import { importKeys } from './import-keys.ts';

const ALL = ['RS256', 'PS256', 'ES256', 'ES384', 'ES512', 'EdDSA'];
const EC = createSigningKey('ES256').jwk;
const RSA = createSigningKey('RS256').jwk;

/** Nobody can sign with it. */
const rsaOf = (bits: number): Jwk => ({ ...RSA, n: Buffer.alloc(bits / 8, 0xff).toString('base64url') });
const setOf = (...keys: readonly unknown[]): Buffer => Buffer.from(JSON.stringify({ keys }));

describe('importKeys', () => {
  it.each<[string, Jwk, readonly string[]]>([
    ['an RSA key without alg', { ...RSA, alg: undefined }, ['RS256', 'PS256']],
    ['an RSA key with alg', RSA, ['RS256']],
    ['an RSA key of 4096 bits', rsaOf(4096), ['RS256']],
    ['a P-256 key', { ...EC, alg: undefined }, ['ES256']],
    ['a P-384 key', { ...createSigningKey('ES384').jwk, alg: undefined }, ['ES384']],
    ['a P-521 key', { ...createSigningKey('ES512').jwk, alg: undefined }, ['ES512']],
    ['an Ed25519 key', { ...createSigningKey('EdDSA').jwk, alg: undefined }, ['EdDSA']],
    ['a key without use', { ...EC, use: undefined }, ['ES256']],
    ['a key for verifying', { ...EC, key_ops: ['verify'] }, ['ES256']],
    ['a key with a certificate', { ...EC, x5c: ['MIIB'], x5t: 'a', extra: { a: 1 } }, ['ES256']],
  ])('takes %s', async (_what, jwk, algorithms) => {
    const { keys, used, leftOut } = await importKeys(setOf(jwk), ALL);
    expect(keys.map(({ alg }) => alg)).toEqual(algorithms);
    expect({ used, leftOut }).toEqual({ used: 1, leftOut: 0 });
  });

  it('takes only what the issuer may sign with', async () => {
    expect(await importKeys(setOf(EC, RSA), ['RS256'])).toMatchObject({
      keys: [{ alg: 'RS256' }],
      used: 1,
      leftOut: 1,
    });
  });

  it.each<[string, unknown]>([
    ['a key for encryption', { ...RSA, use: 'enc' }],
    ['a key that may not verify', { ...RSA, key_ops: ['encrypt'] }],
    ['a shared secret', { kty: 'oct', k: 'c2VjcmV0', alg: 'HS256' }],
    ['a shared secret that says RS256', { kty: 'oct', k: 'c2VjcmV0', alg: 'RS256' }],
    ['a shared secret with the numbers of an RSA key', { ...RSA, kty: 'oct' }],
    ['a key of another algorithm', { ...RSA, alg: 'RSA-OAEP' }],
    ['a key whose alg is of another kind', { ...RSA, alg: 'ES256' }],
    ['a private key', createSigningKey('ES256').privateKey.export({ format: 'jwk' })],
    ['RSA of 1024 bits', rsaOf(1024)],
    ['RSA of 4104 bits', rsaOf(4104)],
    ['RSA of 16384 bits', rsaOf(16_384)],
    ['RSA with a long exponent', { ...RSA, e: Buffer.alloc(5, 0xff).toString('base64url') }],
    ['RSA without a modulus', { ...RSA, n: undefined }],
    ['a curve that is not known', { ...EC, crv: 'secp256k1' }],
    ['a point off its curve', { ...EC, x: EC['y'] }],
    ['X25519', { ...createSigningKey('EdDSA').jwk, crv: 'X25519' }],
    ['a name that is no text', { ...EC, kid: 1 }],
    ['no object', 'text'],
    ['nothing', null],
  ])('leaves %s out', async (_what, jwk) => {
    const { keys, used, leftOut } = await importKeys(setOf(jwk, EC), ALL);
    expect(keys.map(({ alg }) => alg)).toEqual(['ES256']);
    expect({ used, leftOut }).toEqual({ used: 1, leftOut: 1 });
  });

  it('takes a key that is there twice once', async () => {
    expect((await importKeys(setOf(EC, EC), ALL)).keys).toHaveLength(1);
  });

  it('takes 100 keys and no more', async () => {
    const keys = Array.from({ length: 101 }, (_, index) => ({ ...EC, kid: `k${index}` }));
    expect(await importKeys(setOf(...keys.slice(1)), ALL)).toMatchObject({ used: 100 });
    await expect(importKeys(setOf(...keys), ALL)).rejects.toThrow('has 101 keys; accepted: at most 100');
  });

  it.each([
    ['no JSON', '<html>', 'the key set is refused: '],
    ['a name twice', '{"keys":[],"keys":[]}', 'the key set is refused: '],
    ['a list', '[]', 'the key set has no list of keys'],
    ['no keys', '{}', 'the key set has no list of keys'],
    ['keys that are no list', '{"keys":{}}', 'the key set has no list of keys'],
  ])('refuses %s', async (_what, text, problem) => {
    await expect(importKeys(Buffer.from(text), ALL)).rejects.toThrow(problem);
  });
});
