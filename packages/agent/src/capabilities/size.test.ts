import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatSize, parseSize } from './size.ts';

describe('parseSize', () => {
  test.each([
    ['0', 0],
    ['17', 17],
    [1048576, 1048576],
    ['17B', 17],
    ['1KB', 1024],
    ['10MB', 10 * 1024 * 1024],
    ['10mb', 10 * 1024 * 1024],
    ['2 Gb', 2 * 1024 ** 3],
  ])('%s is %d bytes', (text, bytes) => {
    expect(parseSize(text)).toBe(bytes);
  });

  test.each(['', 'MB', '1.5MB', '-1', -1, 1.5, '10XB', '10M', ' 1', '1 ', '1\n', '999999999999999GB', '1e3'])(
    '%j is no size',
    (text) => {
      expect(parseSize(text)).toBeNaN();
    },
  );

  test('reads back what formatSize writes', () => {
    fc.assert(
      fc.property(fc.nat(2 ** 31), fc.constantFrom(1, 1024, 1024 ** 2), (count, unit) => {
        expect(parseSize(formatSize(count * unit))).toBe(count * unit);
      }),
    );
  });
});
