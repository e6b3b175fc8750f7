import { expect, test } from 'vitest';
import { restartDelay } from './restart-delay.ts';

test('what ends at once is started again later each time, and soon after it has lasted', () => {
  const delays: number[] = [];
  for (const livedMs of [20_000, 50, 50, 50, 50, 50, 50, 50, 10_000, 9999]) {
    delays.push(restartDelay(livedMs, delays.at(-1) ?? 0));
  }
  expect(delays).toEqual([100, 200, 400, 800, 1600, 3200, 5000, 5000, 100, 200]);
});
