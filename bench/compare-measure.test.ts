import { expect, test } from 'vitest';
import { measureUntilQuiet } from './compare-measure.ts';
import { shareOfOthers } from './load/process-tree.ts';

test.each([
  // A second of two processors: 2,000,000 us.
  [{ idle: 0, known: 2_000_000 }, 0],
  [{ idle: 500_000, known: 1_400_000 }, 0.05],
  [{ idle: 500_000, known: 1_300_000 }, 0.1],
])('of %o in a second, others took a share of %f of two processors', (span, share) => {
  expect(shareOfOthers({ milliseconds: 1000, processors: 2, ...span })).toBeCloseTo(share);
});

test.each([
  { name: 'is not repeated when it counts', voids: [false], kept: [false] },
  { name: 'is repeated when it is void', voids: [true, true, false], kept: [true, true, false] },
  {
    name: 'stays void after three repetitions',
    voids: [true, true, true, true, false],
    kept: [true, true, true, true],
  },
])('a slot $name', async ({ voids, kept }) => {
  const left = [...voids];
  const slots = await measureUntilQuiet(() => Promise.resolve({ isVoid: left.shift() ?? false }));
  expect(slots.map(({ isVoid }) => isVoid)).toEqual(kept);
});
