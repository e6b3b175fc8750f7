import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { afterGoAway, afterLoss, FRESH, type BackOff } from './back-off.ts';

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

test('a connection that held for a minute starts it anew', () => {
  expect(longestWaits(3, false, 60_000)).toEqual([500, 500, 500]);
});

test('a proxy that ends every connection after half a minute never makes the waits grow beyond 2 s', () => {
  expect(longestWaits(50, false, 30_000)).toEqual([500, 1000, ...Array.from({ length: 48 }, () => 2000)]);
});

test('a connection of 10 s ends the long waits, one that was lost before counts like none', () => {
  const long: BackOff = { failures: 20, hurried: false };
  expect(afterLoss(long, 10_000, false, ALMOST_ONE).waitMs).toBe(2000);
  expect(afterLoss(long, 9999, false, ALMOST_ONE).waitMs).toBe(30_000);
});

test('I39: a gateway that leaves is dialled anew within half a second, whatever failed before', () => {
  const { state, waitMs } = afterGoAway({ failures: 20, hurried: false }, 0, ALMOST_ONE);
  expect(waitMs).toBe(500);
  expect(afterLoss(state, 0, false, ALMOST_ONE).waitMs, 'what failed before is not forgotten').toBe(30_000);
  expect(afterGoAway(FRESH, 5000, ALMOST_ONE).state.failures, 'nor is it a failure').toBe(0);
});

test('I39: gateways that welcome only to leave are dialled less and less often', () => {
  const waits: number[] = [];
  let state: BackOff = FRESH;
  for (let leaving = 0; leaving < 8; leaving++) {
    const next = afterGoAway(state, 9999, ALMOST_ONE);
    waits.push(next.waitMs);
    state = next.state;
  }
  expect(waits).toEqual([500, 500, 1000, 2000, 4000, 8000, 16_000, 30_000]);
  expect(afterGoAway(state, 10_000, ALMOST_ONE).waitMs, 'until one stays').toBe(500);
});

test('the wait is anything between nothing and the ceiling', () => {
  fc.assert(
    fc.property(
      fc.nat(40),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (failures, random) => {
        const { waitMs } = afterLoss({ failures, hurried: false }, 0, false, random);
        const ceiling = Math.min(30_000, 500 * 2 ** failures);
        expect(Math.abs(waitMs - random * ceiling)).toBeLessThanOrEqual(0.5);
      },
    ),
  );
});
