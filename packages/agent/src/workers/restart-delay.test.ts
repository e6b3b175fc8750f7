import { expect, test } from 'vitest';
import { createRestartDelay } from './restart-delay.ts';

test('a worker that ends at once is started again later each time, and soon after it has lasted', () => {
  const delayAfter = createRestartDelay();
  const lived = [20_000, 50, 50, 50, 50, 50, 50, 50, 10_000, 9999];
  expect(lived.map(delayAfter)).toEqual([100, 200, 400, 800, 1600, 3200, 5000, 5000, 100, 200]);
});
