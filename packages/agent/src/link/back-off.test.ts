import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { afterLoss, FRESH, type BackOff } from './back-off.ts';

const ALMOST_ONE = 1 - 2 ** -53;

/** The longest waits of that many losses in a row. */
function longestWaits(count: number, refused = false, heldMs = 0): number[] {
  const waits: number[] = [];
  let state: BackOff = FRESH;
  for (let loss = 0; loss < count; loss++) {
    const next = afterLoss(state, heldMs, refused, ALMOST_ONE);
    waits.push(next.waitMs);
    state = next.state;
  }
  return waits;
}

test('the ceiling doubles from half a second to 30 s', () => {
  expect(longestWaits(9)).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
});

test('after a refusal that only a change of configuration can mend it goes on to 5 min', () => {
  expect(longestWaits(12, true).slice(6)).toEqual([32_000, 64_000, 128_000, 256_000, 300_000, 300_000]);
});

test('it goes on for ever', () => {
  expect(longestWaits(5000).at(-1)).toBe(30_000);
});

test('a connection that held for a minute starts it anew, a shorter one does not', () => {
  expect(longestWaits(3, false, 60_000)).toEqual([500, 500, 500]);
  expect(longestWaits(3, false, 59_999)).toEqual([500, 1000, 2000]);
});

test('the wait is anything between nothing and the ceiling', () => {
  fc.assert(
    fc.property(
      fc.nat(40),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (failures, random) => {
        const { waitMs } = afterLoss({ failures }, 0, false, random);
        const ceiling = Math.min(30_000, 500 * 2 ** failures);
        expect(Math.abs(waitMs - random * ceiling)).toBeLessThanOrEqual(0.5);
      },
    ),
  );
});
