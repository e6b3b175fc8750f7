import { describe, expect, test } from 'vitest';
import { createRandom } from '@svc/testkit';
import { estimate, intervalRank, shuffled, verdict } from './statistics.ts';

describe('the interval of a median', () => {
  // Of 20 coins, up to five show heads in 21,700 of 1,048,576 throws (2.07 %), up to six in 60,460 (5.77 %).
  test.each([
    [1, 0],
    [5, 0], // 1 of 32 throws has no heads: 3.1 %
    [6, 1], // 1 of 64: 1.6 %; with one heads 7 of 64: 10.9 %
    [8, 1], // 1 of 256: 0.4 %; 9 of 256: 3.5 %
    [9, 2], // 10 of 512: 2.0 %; 46 of 512: 9.0 %
    [10, 2], // 11 of 1,024: 1.1 %; 56 of 1,024: 5.5 %
    [20, 6],
    [100, 40],
    [1000, 469],
  ])('of %i values begins at the %i-th from either end', (count, rank) => {
    expect(intervalRank(count)).toBe(rank);
  });

  test('is the 6th and the 15th of twenty, in any order', () => {
    const values = Array.from({ length: 20 }, (_, at) => ((at * 7) % 20) + 1);
    expect(estimate(values)).toEqual({ median: 10.5, low: 6, high: 15 });
  });

  test('is the least and the most of six', () => {
    expect(estimate([3, 1, 2, 6, 5, 4])).toEqual({ median: 3.5, low: 1, high: 6 });
  });

  test('is not told of five, and nothing is told of none', () => {
    expect(estimate([3, 1, 2, 5, 4])).toEqual({ median: 3, low: Number.NaN, high: Number.NaN });
    expect(estimate([])).toBeUndefined();
  });
});

describe('a goal', () => {
  const interval = { low: 1.1, high: 1.3 };

  test.each([
    [{ least: 1.1 }, 'met'],
    [{ least: 1.11 }, 'open'],
    [{ least: 1.3 }, 'open'],
    [{ least: 1.31 }, 'missed'],
    [{ most: 1.3 }, 'met'],
    [{ most: 1.29 }, 'open'],
    [{ most: 1.1 }, 'open'],
    [{ most: 1.09 }, 'missed'],
  ] as const)('of %o is %s when all of the interval, 1.1 to 1.3, says so', (bound, expected) => {
    expect(verdict(interval, bound)).toBe(expected);
  });

  test.each([{ least: 1 }, { most: 1 }])('of %o is open without an interval', (bound) => {
    expect(verdict({ low: Number.NaN, high: Number.NaN }, bound)).toBe('open');
  });
});

test('an order is drawn by the seed, and has every value once', () => {
  const values = [1, 2, 3, 4, 5, 6, 7, 8];
  const drawn = [1, 1, 2].map((seed) => shuffled(values, createRandom(seed)));
  expect(drawn[0]).toEqual(drawn[1]);
  expect(drawn[0]).not.toEqual(drawn[2]);
  for (const order of drawn) expect(order.toSorted((a, b) => a - b)).toEqual(values);
});
