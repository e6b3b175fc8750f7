import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { afterGoAway, afterLoss, FRESH, type BackOff, type Loss } from './back-off.ts';

const ALMOST_ONE = 1 - 2 ** -53;

const LOST: Loss = { at: 0, heldMs: 0, refused: false, retryAfterMs: 0 };

interface Retried {
  /** Since the first loss, by the clock. */
  readonly lostForMs: number;
  readonly waitMs: number;
}

/** That many losses in a row, each dialled again after its wait, which fails at once. */
function losses(count: number, loss: Partial<Loss> = {}, random = ALMOST_ONE): Retried[] {
  const retried: Retried[] = [];
  let state: BackOff = FRESH;
  let at = 0;
  while (retried.length < count) {
    const next = afterLoss(state, { ...LOST, at, ...loss }, random);
    retried.push({ lostForMs: at, waitMs: next.waitMs });
    state = next.state;
    at += next.waitMs;
  }
  return retried;
}

const longestWaits = (...parameters: Parameters<typeof losses>): number[] =>
  losses(...parameters).map(({ waitMs }) => waitMs);

test('the ceiling doubles from half a second to 5 s, and from there to 30 s once a minute has passed', () => {
  const aMinute = Array.from({ length: 11 }, () => 5000);
  expect(longestWaits(18)).toEqual([500, 1000, 2000, 4000, ...aMinute, 8000, 16_000, 30_000]);
});

test('in the first minute of a loss no wait is longer than 5 s', { tags: ['agent:reconnect'] }, () => {
  fc.assert(
    fc.property(fc.double({ min: 0.01, max: 1, maxExcluded: true, noNaN: true }), (random) => {
      for (const { lostForMs, waitMs } of losses(200, {}, random)) {
        expect(waitMs).toBeLessThanOrEqual(lostForMs < 60_000 ? 5000 : 30_000);
      }
    }),
  );
});

test('after a refusal that lasts until the configuration is changed the ceiling grows to 5 min', () => {
  expect(longestWaits(12, { refused: true }).slice(6)).toEqual([
    32_000, 64_000, 128_000, 256_000, 300_000, 300_000,
  ]);
});

test('a refusal after a long outage is waited for as long as the outage before it, not for minutes at once', () => {
  let state: BackOff = FRESH;
  for (let at = 0; at < 3_600_000; at += 10_000) state = afterLoss(state, { ...LOST, at }, 0).state;
  expect(afterLoss(state, { ...LOST, at: 3_600_000, refused: true }, ALMOST_ONE).waitMs).toBe(32_000);
});

test('after 5000 failures the agent still dials every 30 s', () => {
  expect(longestWaits(5000).at(-1)).toBe(30_000);
});

test('after a connection that held for a minute the waits begin from the bottom', () => {
  expect(longestWaits(3, { heldMs: 60_000 })).toEqual([500, 500, 500]);
});

test('a proxy that ends every connection after half a minute never makes the waits grow beyond 2 s', () => {
  expect(longestWaits(50, { heldMs: 30_000 })).toEqual([
    500,
    1000,
    ...Array.from({ length: 48 }, () => 2000),
  ]);
});

const LONG: BackOff = { failures: 20, dialledAtOnce: false, lostAt: 0 };
const LATER = { ...LOST, at: 60_000 };

test('a connection that held for 10 s ends the long waits, a shorter one does not', () => {
  expect(afterLoss(LONG, { ...LATER, heldMs: 10_000 }, ALMOST_ONE)).toEqual({
    state: { failures: 3, dialledAtOnce: false, lostAt: 60_000 },
    waitMs: 2000,
  });
  expect(afterLoss(LONG, { ...LATER, heldMs: 9999 }, ALMOST_ONE).waitMs).toBe(30_000);
});

describe('a gateway that says when to come back', () => {
  test('is not dialled before', () => {
    expect(afterLoss(FRESH, { ...LOST, retryAfterMs: 3000 }, 0).waitMs).toBe(3000);
  });

  test('is dialled at any time from then to the ceiling, half a second later at least', () => {
    expect(afterLoss(FRESH, { ...LOST, retryAfterMs: 1000 }, ALMOST_ONE).waitMs).toBe(1500);
    expect(afterLoss(LONG, { ...LOST, retryAfterMs: 1000 }, ALMOST_ONE).waitMs).toBe(5000);
    expect(afterLoss(LONG, { ...LATER, retryAfterMs: 1000 }, ALMOST_ONE).waitMs).toBe(30_000);
  });

  test('is dialled after half a minute, however late it says', () => {
    expect(afterLoss(FRESH, { ...LOST, retryAfterMs: 86_400_000 }, 0).waitMs).toBe(30_000);
  });
});

test('I39: a gateway that leaves is dialled again within half a second, whatever failed before', () => {
  const { state, waitMs } = afterGoAway(LONG, 60_000, 0, ALMOST_ONE);
  expect(waitMs).toBe(500);
  expect(afterLoss(state, LATER, ALMOST_ONE).waitMs, 'what failed before is not forgotten').toBe(30_000);
  expect(afterGoAway(FRESH, 0, 5000, ALMOST_ONE).state.failures, 'nor is it a failure').toBe(0);
});

test('I39: gateways that welcome only to leave are dialled less and less often', () => {
  const waits: number[] = [];
  let state: BackOff = FRESH;
  for (let leaving = 0; leaving < 9; leaving++) {
    const next = afterGoAway(state, leaving * 9999, 9999, ALMOST_ONE);
    waits.push(next.waitMs);
    state = next.state;
  }
  expect(waits).toEqual([500, 500, 1000, 2000, 4000, 5000, 5000, 5000, 8000]);
  expect(afterGoAway(state, 100_000, 10_000, ALMOST_ONE).waitMs, 'until one stays').toBe(500);
});

test('the wait is anything between nothing and the ceiling', () => {
  fc.assert(
    fc.property(
      fc.nat(40),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (failures, random) => {
        const { waitMs } = afterLoss({ ...LONG, failures }, LATER, random);
        const ceiling = Math.min(30_000, 500 * 2 ** failures);
        expect(Math.abs(waitMs - random * ceiling)).toBeLessThanOrEqual(0.5);
      },
    ),
  );
});
