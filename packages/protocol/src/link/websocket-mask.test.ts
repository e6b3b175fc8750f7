import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { mask, unmask } from './websocket-mask.ts';

/** Below and above the length from which whole words are masked. */
const length = fc.oneof(fc.nat(40), fc.integer({ min: 480, max: 1100 }), fc.constant(5003));
const key = fc.uint8Array({ minLength: 4, maxLength: 4 });
const offset = fc.nat(11);

function content(bytes: number): Uint8Array {
  return Uint8Array.from({ length: bytes }, (_, at) => (at * 7 + (at >>> 8)) & 0xff);
}

/** RFC 6455, section 5.3, to the letter. */
function masked(bytes: Uint8Array, maskingKey: Uint8Array): Uint8Array {
  return bytes.map((byte, at) => byte ^ (maskingKey[at % 4] ?? 0));
}

test('masks as RFC 6455 defines, wherever the bytes come from and go to, and touches no others', () => {
  fc.assert(
    fc.property(length, key, offset, offset, (bytes, maskingKey, from, to) => {
      const source = content(bytes + from + 8).subarray(from);
      const output = new Uint8Array(bytes + to + 8).fill(0xaa);
      mask(source, maskingKey, output, to, bytes);
      expect(Buffer.compare(source, content(bytes + from + 8).subarray(from))).toBe(0);
      const expected = new Uint8Array(bytes + to + 8).fill(0xaa);
      expected.set(masked(source.subarray(0, bytes), maskingKey), to);
      expect(Buffer.compare(output, expected)).toBe(0);
    }),
  );
});

test('unmasks in place wherever the bytes lie, and touches no others', () => {
  fc.assert(
    fc.property(length, key, offset, (bytes, maskingKey, from) => {
      const around = content(bytes + from + 8);
      const expected = content(bytes + from + 8);
      expected.set(masked(around.subarray(from, from + bytes), maskingKey), from);
      unmask(around.subarray(from, from + bytes), maskingKey);
      expect(Buffer.compare(around, expected)).toBe(0);
    }),
  );
});
