import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseDuration } from './duration.ts';

describe('parseDuration', () => {
  test.each([
    ['500ms', 500],
    ['30s', 30_000],
    ['2m', 120_000],
    ['1h', 3_600_000],
    ['1m30s', 90_000],
    ['1h500ms', 3_600_500],
    ['0s', 0],
  ])('%s is %d ms', (text, milliseconds) => {
    expect(parseDuration(text)).toBe(milliseconds);
  });

  test.each(['', '30', 's', '1.5s', '-1s', '30s1m', '1s1s', '30 s', '30S', '1d', '30s\n', '9999999999s'])(
    '%j is no duration',
    (text) => {
      expect(parseDuration(text)).toBeNaN();
    },
  );

  test('adds up its parts', () => {
    const part = fc.option(fc.nat(999), { nil: undefined });
    fc.assert(
      fc.property(part, part, part, part, (h, m, s, ms) => {
        const parts = [
          [h, 'h', 3_600_000],
          [m, 'm', 60_000],
          [s, 's', 1000],
          [ms, 'ms', 1],
        ] as const;
        const given = parts.filter(([count]) => count !== undefined);
        fc.pre(given.length > 0);
        const text = given.map(([count, unit]) => `${count}${unit}`).join('');
        expect(parseDuration(text)).toBe(
          given.reduce((sum, [count = 0, , factor]) => sum + count * factor, 0),
        );
      }),
    );
  });
});
