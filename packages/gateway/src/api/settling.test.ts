import { expect, test } from 'vitest';
import { createSettling } from './settling.ts';

/** When, in ms, an agent of which service comes. */
test.each([
  { name: 'nobody comes', came: [], settledAt: 15_000 },
  { name: 'one service', came: [[500, 'a']], settledAt: 2500 },
  {
    name: 'further agents of one service are no news',
    came: [
      [500, 'a'],
      [2000, 'a'],
    ],
    settledAt: 2500,
  },
  {
    name: 'one service after the other',
    came: [
      [500, 'a'],
      [2000, 'b'],
      [3999, 'c'],
    ],
    settledAt: 5999,
  },
  {
    name: 'a service that comes later changes nothing',
    came: [
      [500, 'a'],
      [2500, 'b'],
    ],
    settledAt: 2500,
  },
  {
    name: 'new services for ever',
    came: Array.from({ length: 30 }, (_, n) => [n * 1000, `s${n}`] as const),
    settledAt: 15_000,
  },
] as const)('$name: settled at $settledAt', ({ came, settledAt }) => {
  const start = 1_000_000;
  let now = start;
  const settling = createSettling(15_000, () => now);
  const wrong: number[] = [];
  for (let ms = 0; ms < 20_000; ms += 1) {
    now = start + ms;
    for (const [at, service] of came) if (at === ms) settling.came(service);
    // Asked seldom, since the answer must not depend on how often.
    const isAsked = ms % 977 === 0 || Math.abs(ms - settledAt) < 2;
    if (isAsked && settling.settled !== ms >= settledAt) wrong.push(ms);
  }
  expect(wrong).toEqual([]);
});

test('without a time it is settled at once', () => {
  expect(createSettling(0, () => 5).settled).toBe(true);
});
