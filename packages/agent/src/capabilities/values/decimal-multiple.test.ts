import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isDecimalMultiple } from './decimal-multiple.ts';

test.each([
  [0.3, 0.1],
  [1.1, 0.1],
  [19.99, 0.01],
  [0, 7],
  [-0.6, 0.2],
  [9007199254740990, 3],
  [1e21, 1e3],
  [1.5e-7, 5e-8],
])('%d is a multiple of %d', (value, step) => {
  expect(isDecimalMultiple(value, step)).toBe(true);
});

test.each([
  [0.35, 0.1],
  [1, 10_000_000],
  [9007199254740991, 2],
  [1e-9, 1],
  [0.1, 3],
])('%d is no multiple of %d', (value, step) => {
  expect(isDecimalMultiple(value, step)).toBe(false);
});

test('agrees with the remainder of the scaled integers', () => {
  fc.assert(
    fc.property(fc.integer(), fc.integer({ min: 1, max: 10_000 }), fc.nat(4), (count, step, places) => {
      const scale = 10 ** places;
      expect(isDecimalMultiple(count / scale, step / scale)).toBe(count % step === 0);
    }),
  );
});
