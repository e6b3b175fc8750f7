import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { ProtocolError } from '../rules/close-code.ts';
import { joinPieces, receiveBody } from './body.ts';

const content = Buffer.from(Array.from({ length: 5000 }, (_, at) => at % 251));

/** Bytes and the places where they are cut; neighbouring cuts make empty pieces. */
const splitBody = fc
  .tuple(fc.nat(content.length), fc.array(fc.nat(content.length), { maxLength: 30 }))
  .map(([total, cuts]) => {
    const ends = [...cuts.map((cut) => Math.min(cut, total)), total].toSorted((a, b) => a - b);
    return { total, pieces: ends.map((end, at) => content.subarray(ends[at - 1] ?? 0, end)) };
  });

test('I4: a body is whole again however it was split', () => {
  fc.assert(
    fc.property(splitBody, ({ total, pieces }) => {
      const body = receiveBody(total);
      let received = 0;
      let complete = false;
      for (const piece of pieces) {
        received += piece.length;
        complete = body.add(piece, received === total);
        expect(complete).toBe(received === total);
        expect(body.missing).toBe(total - received);
        if (complete) break;
      }
      expect(complete).toBe(true);
      expect(Buffer.compare(joinPieces(body.pieces), content.subarray(0, total))).toBe(0);
    }),
  );
});

test('I4: a body longer than announced is refused at the first byte too many', () => {
  fc.assert(
    fc.property(splitBody, fc.integer({ min: 1, max: 100 }), ({ total, pieces }, excess) => {
      const body = receiveBody(total + 1);
      for (const piece of pieces) body.add(piece, false);
      expect(() => body.add(content.subarray(0, 1 + excess), true)).toThrow(ProtocolError);
    }),
  );
});

test('I4: an end before the announced length is refused', () => {
  fc.assert(
    fc.property(splitBody, fc.integer({ min: 1, max: 100 }), ({ total, pieces }, missing) => {
      const body = receiveBody(total + missing);
      for (const piece of pieces.slice(0, -1)) body.add(piece, false);
      expect(() => body.add(pieces.at(-1) ?? content, true)).toThrow(ProtocolError);
    }),
  );
});

test('I4: the announced length without an end is refused', () => {
  expect(() => receiveBody(3).add(content.subarray(0, 3), false)).toThrow(ProtocolError);
});

test('I5: memory follows what arrived, at most twice as much, not what was announced', () => {
  fc.assert(
    fc.property(splitBody, ({ total, pieces }) => {
      const body = receiveBody(64 * 1024 * 1024);
      let received = 0;
      for (const piece of pieces) {
        body.add(piece, false);
        received += piece.length;
        expect(memoryOf(body.pieces)).toBeLessThanOrEqual(2 * received);
      }
      expect(received).toBe(total);
    }),
  );
});

test('I5: a body in many small pieces is kept in few', () => {
  const body = receiveBody(1_000_000);
  for (let at = 0; at < 1000; at++) body.add(content.subarray(0, 1000), at === 999);
  expect(body.pieces.length).toBeLessThan(20);
});

test('I5: a large piece is kept as it came, but not for a fraction of the message that it came in', () => {
  const whole = Buffer.alloc(65_536);
  const body = receiveBody(65_528 + 5000);
  body.add(whole.subarray(8), false);
  body.add(whole.subarray(0, 5000), true);
  expect(body.pieces.map(({ buffer, length }) => [buffer === whole.buffer, length])).toEqual([
    [true, 65_528],
    [false, 5000],
  ]);
});

/** Of each piece what it keeps in memory. */
function memoryOf(pieces: readonly Uint8Array[]): number {
  const buffers = new Set(pieces.map(({ buffer }) => buffer));
  return [...buffers].reduce((sum, { byteLength }) => sum + byteLength, 0);
}
