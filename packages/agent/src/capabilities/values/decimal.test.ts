import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compareDecimals, integerText, isDecimalMultiple, readDecimal } from './decimal.ts';

const isMultiple = (value: number, step: number): boolean =>
  isDecimalMultiple(readDecimal(String(value)), readDecimal(String(step)));

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
  expect(isMultiple(value, step)).toBe(true);
});

test.each([
  [0.35, 0.1],
  [1, 10_000_000],
  [9007199254740991, 2],
  [1e-9, 1],
  [0.1, 3],
])('%d is no multiple of %d', (value, step) => {
  expect(isMultiple(value, step)).toBe(false);
});

test('agrees with the remainder of the scaled integers', () => {
  fc.assert(
    fc.property(fc.integer(), fc.integer({ min: 1, max: 10_000 }), fc.nat(4), (count, step, places) => {
      const scale = 10 ** places;
      expect(isMultiple(count / scale, step / scale)).toBe(count % step === 0);
    }),
  );
});

test('multiples are found among numbers of more digits than a double has', () => {
  const three = readDecimal('3');
  expect(isDecimalMultiple(readDecimal('9223372036854775807'), readDecimal('7'))).toBe(true);
  expect(isDecimalMultiple(readDecimal('9223372036854775806'), readDecimal('7'))).toBe(false);
  expect(isDecimalMultiple(readDecimal('3.0000000000000000001'), three)).toBe(false);
  expect(isDecimalMultiple(readDecimal('1e-999999999'), three)).toBe(false);
});

test('decimals are in the order of their values, whatever they are written like', () => {
  const ascending = [
    ['-18446744073709551615', '-1.8446744073709551615e19'],
    ['-9007199254740993', '-9007199254740993.0'],
    ['-9007199254740992'],
    ['-0.10'],
    ['0', '-0', '0e5', '0.000'],
    ['1e-999999999'],
    ['0.1', '1e-1', '10E-2'],
    ['0.11'],
    ['9', '9.0'],
    ['10', '1e1', '1E+1'],
    ['9007199254740992'],
    ['9007199254740993', '9007199254740993.000', '9.007199254740993e15'],
  ];
  for (const [at, alike] of ascending.entries()) {
    for (const [other, others] of ascending.entries()) {
      for (const a of alike) {
        for (const b of others) {
          const order = compareDecimals(readDecimal(a), readDecimal(b));
          expect(Math.sign(order), `${a} and ${b}`).toBe(Math.sign(at - other));
        }
      }
    }
  }
});

test.each([
  ['18446744073709551615', '18446744073709551615'],
  ['-9223372036854775808.0', '-9223372036854775808'],
  ['1.2e19', '12000000000000000000'],
  ['-0', '0'],
  ['00e9', '0'],
  ['1.5', undefined],
  ['9007199254740992.5', undefined],
  ['1e-400', undefined],
])('%s as an integer is %s', (text, digits) => {
  expect(integerText(readDecimal(text))).toBe(digits);
});
