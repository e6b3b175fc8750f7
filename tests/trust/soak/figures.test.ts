import { expect, test } from 'vitest';
import { slope } from './figures.ts';

test('the slope is that of the nearest line', () => {
  expect(slope([])).toBe(0);
  expect(slope([[1, 5]])).toBe(0);
  expect(
    slope([
      [1, 1],
      [1, 5],
    ]),
  ).toBe(0);
  expect(
    slope([
      [0, 1],
      [1, 3],
      [2, 5],
    ]),
  ).toBeCloseTo(2);
  expect(
    slope([
      [0, 5],
      [1, 5],
      [2, 5],
    ]),
  ).toBeCloseTo(0);
  // By hand: middle (1.5, 2.5), products 6.5 over squares 5.
  expect(
    slope([
      [0, 1],
      [1, 1],
      [2, 4],
      [3, 4],
    ]),
  ).toBeCloseTo(1.2);
});
