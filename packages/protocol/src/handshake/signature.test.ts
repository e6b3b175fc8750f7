import { createHash, sign } from 'node:crypto';
import { createKeyPair } from '@svc/testkit';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { signTranscript, signedBytes, verifyTranscript, type Transcript } from './signature.ts';

const { privateKey, publicKey } = createKeyPair();
const transcript = {
  audience: 'wss://gateway.example/ws/agent',
  keyId: 'IeriWYxnFIYyfcV3lzLDzA',
  hello: Buffer.from('{"type":"hello","versions":[2,1],"max_inflight":64}'),
  challenge: Buffer.from('{"type":"challenge","gateway_nonce":"abc","version":2}'),
};
const signature = signTranscript(transcript, privateKey);

/** The definition in PROTOCOL.md, written down a second time. */
function definition(given: Transcript): Buffer {
  const lp = (bytes: Uint8Array): number[] => {
    const size = bytes.length;
    return [(size >>> 24) & 255, (size >>> 16) & 255, (size >>> 8) & 255, size & 255, ...bytes];
  };
  const utf8 = new TextEncoder();
  const hash = createHash('sha256').update(Buffer.from([...lp(given.hello), ...lp(given.challenge)]));
  return Buffer.from([
    ...utf8.encode('svc-agent/v1 auth\u0000'),
    ...lp(utf8.encode(given.audience)),
    ...lp(utf8.encode(given.keyId)),
    ...hash.digest(),
  ]);
}

const transcripts: fc.Arbitrary<Transcript> = fc.record({
  audience: fc.string({ unit: 'binary' }),
  keyId: fc.string({ unit: 'binary' }),
  hello: fc.uint8Array({ maxLength: 600 }),
  challenge: fc.uint8Array({ maxLength: 600 }),
});

test('I22: what is signed is what the definition says', () => {
  fc.assert(
    fc.property(transcripts, (given) => {
      expect(signedBytes(given).equals(definition(given))).toBe(true);
    }),
  );
});

test('I22: the signature is pure Ed25519 over those bytes', () => {
  expect(signature.equals(sign(null, definition(transcript), privateKey))).toBe(true);
  expect(signature).toHaveLength(64);
  expect(verifyTranscript(transcript, publicKey, signature)).toBe(true);
});

const flip = fc.integer({ min: 1, max: 255 });

function flipped(bytes: Uint8Array, at: number, mask: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[at] = (copy[at] ?? 0) ^ mask;
  return copy;
}

test.each(['hello', 'challenge'] as const)('I21: no byte of %s can change', (part) => {
  fc.assert(
    fc.property(flip, (mask) => {
      for (let at = 0; at < transcript[part].length; at++) {
        const changed = { ...transcript, [part]: flipped(transcript[part], at, mask) };
        expect(verifyTranscript(changed, publicKey, signature)).toBe(false);
      }
    }),
    { numRuns: 10 },
  );
});

test.each(['audience', 'keyId'] as const)('I21: no character of %s can change', (part) => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 127 }), (mask) => {
      for (let at = 0; at < transcript[part].length; at++) {
        const changed = flipped(Buffer.from(transcript[part]), at, mask).toString('latin1');
        expect(verifyTranscript({ ...transcript, [part]: changed }, publicKey, signature)).toBe(false);
      }
    }),
    { numRuns: 10 },
  );
});

test('I21: no bit of the signature can change, nor its length', () => {
  for (let bit = 0; bit < 512; bit++) {
    const changed = flipped(signature, bit >> 3, 1 << (bit & 7));
    expect(verifyTranscript(transcript, publicKey, changed)).toBe(false);
  }
  for (const length of [0, 1, 32, 63]) {
    expect(verifyTranscript(transcript, publicKey, signature.subarray(0, length))).toBe(false);
  }
  expect(verifyTranscript(transcript, publicKey, Buffer.concat([signature, Buffer.alloc(1)]))).toBe(false);
});

test('I21: another key does not verify', () => {
  expect(verifyTranscript(transcript, createKeyPair().publicKey, signature)).toBe(false);
});

test('I21: two different transcripts never have the same signed bytes, wherever their texts are divided', () => {
  const cut = (text: string, at: number): [string, string] => [text.slice(0, at), text.slice(at)];
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), fc.nat(), fc.nat(), (text, one, other) => {
      const [left, right] = [one % (text.length + 1), other % (text.length + 1)];
      fc.pre(left !== right);
      const divided = (at: number): Transcript[] => {
        const [first, second] = cut(text, at);
        return [
          { ...transcript, audience: first, keyId: second },
          { ...transcript, hello: Buffer.from(first), challenge: Buffer.from(second) },
        ];
      };
      const all = [...divided(left), ...divided(right)].map((given) => signedBytes(given).toString('hex'));
      expect(new Set(all).size).toBe(4);
    }),
  );
});
