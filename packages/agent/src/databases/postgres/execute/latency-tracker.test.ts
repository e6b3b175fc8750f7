import { expect, test } from 'vitest';
import { createPace, type Pace } from './latency-tracker.ts';

function paceAfter(...runs: readonly (readonly [ms: number, succeeded: boolean])[]): Pace {
  const pace = createPace();
  for (const [ms, succeeded] of runs) pace.ran(ms, succeeded);
  return pace;
}

const QUICK = [1, true] as const;
const SLOW = [11, true] as const;
const FAILED = [1, false] as const;

function times<T>(count: number, value: T): T[] {
  return Array.from({ length: count }, () => value);
}

test('a query is brief once three runs in a row were over within 10 ms', () => {
  expect(paceAfter().isBrief).toBe(false);
  expect(paceAfter(...times(2, QUICK)).isBrief).toBe(false);
  expect(paceAfter(...times(3, QUICK)).isBrief).toBe(true);
  expect(paceAfter(...times(3, [10, true] as const)).isBrief).toBe(true);
});

test.each([
  ['took long', SLOW],
  ['failed', FAILED],
])('one that %s is not trusted any more, and has to earn it again', (_title, bad) => {
  expect(paceAfter(...times(3, QUICK), bad).isBrief).toBe(false);
  expect(paceAfter(...times(3, QUICK), bad, ...times(2, QUICK)).isBrief).toBe(false);
  expect(paceAfter(...times(3, QUICK), bad, ...times(3, QUICK)).isBrief).toBe(true);
  expect(paceAfter(...times(9, bad)).isBrief).toBe(false);
  expect(paceAfter(...times(9, bad), ...times(3, QUICK)).isBrief).toBe(true);
});

test('a long one among many quick ones is forgiven, a second one at once is not, however many were quick', () => {
  expect(paceAfter(...times(1000, QUICK), SLOW).isBrief).toBe(true);
  expect(paceAfter(...times(1000, QUICK), SLOW, SLOW).isBrief).toBe(false);
  expect(paceAfter(...times(1000, QUICK), SLOW, ...times(4, QUICK), FAILED).isBrief).toBe(true);
});
