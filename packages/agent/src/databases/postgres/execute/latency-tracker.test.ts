import { expect, test } from 'vitest';
import { LatencyTracker } from './latency-tracker.ts';

function trackerAfter(...runs: readonly (readonly [ms: number, succeeded: boolean])[]): LatencyTracker {
  const tracker = new LatencyTracker();
  for (const [ms, succeeded] of runs) tracker.record(ms, succeeded);
  return tracker;
}

const QUICK = [1, true] as const;
const SLOW = [11, true] as const;
const FAILED = [1, false] as const;

function times<T>(count: number, value: T): T[] {
  return Array.from({ length: count }, () => value);
}

test('a query is short once three runs in a row were over within 10 ms', () => {
  expect(trackerAfter().shortMs).toBeUndefined();
  expect(trackerAfter(...times(2, QUICK)).shortMs).toBeUndefined();
  expect(trackerAfter(...times(3, QUICK)).shortMs).toBeDefined();
  expect(trackerAfter(...times(3, [10, true] as const)).shortMs).toBeDefined();
});

test.each([
  ['took long', SLOW],
  ['failed', FAILED],
])('one that %s is not trusted any more, and has to earn it again', (_title, bad) => {
  expect(trackerAfter(...times(3, QUICK), bad).shortMs).toBeUndefined();
  expect(trackerAfter(...times(3, QUICK), bad, ...times(2, QUICK)).shortMs).toBeUndefined();
  expect(trackerAfter(...times(3, QUICK), bad, ...times(3, QUICK)).shortMs).toBeDefined();
  expect(trackerAfter(...times(9, bad)).shortMs).toBeUndefined();
  expect(trackerAfter(...times(9, bad), ...times(3, QUICK)).shortMs).toBeDefined();
});

test('a long one among many quick ones is forgiven, a second one at once is not, however many were quick', () => {
  expect(trackerAfter(...times(1000, QUICK), SLOW).shortMs).toBeDefined();
  expect(trackerAfter(...times(1000, QUICK), SLOW, SLOW).shortMs).toBeUndefined();
  expect(trackerAfter(...times(1000, QUICK), SLOW, ...times(4, QUICK), FAILED).shortMs).toBeDefined();
});

test('what is expected follows the quicker runs, and the length of the answers', () => {
  expect(trackerAfter(...times(3, QUICK)).shortMs).toBeLessThan(0.5);
  const steady = trackerAfter(...times(500, [2, true] as const));
  expect(steady.shortMs).toBeGreaterThan(1.5);
  expect(steady.shortMs).toBeLessThan(2.5);
  // A busy machine: one in five takes what the query takes.
  for (let count = 0; count < 2000; count += 1) steady.record(count % 5 === 0 ? 0.2 : 4, true);
  expect(steady.shortMs).toBeLessThan(0.4);
  for (let count = 0; count < 50; count += 1) steady.recordSize(16_384);
  expect(steady.shortMs).toBeCloseTo(2, 1);
});
