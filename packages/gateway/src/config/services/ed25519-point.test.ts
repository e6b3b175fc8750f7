import { createKeyPair } from '@svc/testkit';
import { expect, test } from 'vitest';
import { hasSmallOrder, isEd25519Point } from './ed25519-point.ts';

const hex = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'hex'));

test('every public key is a point, and none of small order', () => {
  for (let n = 0; n < 20; n++) {
    const { x } = createKeyPair().publicKey.export({ format: 'jwk' });
    const bytes = new Uint8Array(Buffer.from(x ?? '', 'base64url'));
    expect({ x, point: isEd25519Point(bytes), small: hasSmallOrder(bytes) }).toEqual({
      x,
      point: true,
      small: false,
    });
  }
});

// RFC 8032, section 7.1, test 1: its public key and, as a value that is none, its secret key.
test.each([
  ['a public key', 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a', true],
  ['the private key of it', '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60', false],
  [
    'a coordinate beyond the field',
    'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
    false,
  ],
  ['one', `01${'00'.repeat(31)}`, true],
  ['one with the wrong sign', `01${'00'.repeat(30)}80`, false],
  ['two', `02${'00'.repeat(31)}`, false],
  ['31 bytes', '00'.repeat(31), false],
])('%s', (_title, bytes, expected) => {
  expect(isEd25519Point(hex(bytes))).toBe(expected);
});

// The points of order 1, 2, 4, 4 and 8, 8, 8, 8.
test.each([
  `01${'00'.repeat(31)}`,
  `ec${'ff'.repeat(30)}7f`,
  '00'.repeat(32),
  `${'00'.repeat(31)}80`,
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85',
])('%s is a point of small order', (bytes) => {
  expect([isEd25519Point(hex(bytes)), hasSmallOrder(hex(bytes))]).toEqual([true, true]);
});
