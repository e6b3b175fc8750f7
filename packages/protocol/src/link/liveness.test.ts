import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { heard, wake, type Liveness, type LivenessStep } from './liveness.ts';

const MIDDLE = 0.5;
const pinged: Liveness = { state: 'pinged', wakeAt: 25_000, pingedAt: 15_000, extended: false };

test.each<[string, Liveness, number, number, LivenessStep]>([
  [
    'quiet, nothing heard for the interval: ping',
    { state: 'quiet', wakeAt: 15_000 },
    15_000,
    0,
    { action: 'ping', next: pinged },
  ],
  [
    'quiet, heard since: wait for an interval from then',
    { state: 'quiet', wakeAt: 15_000 },
    15_000,
    9000,
    { action: 'wait', next: { state: 'quiet', wakeAt: 24_000 } },
  ],
  [
    'pinged, heard since: quiet again',
    pinged,
    25_000,
    16_000,
    { action: 'wait', next: { state: 'quiet', wakeAt: 31_000 } },
  ],
  [
    'pinged, answered within the same millisecond: quiet again',
    pinged,
    25_000,
    15_000,
    { action: 'wait', next: { state: 'quiet', wakeAt: 30_000 } },
  ],
  ['pinged, nothing since: dead', pinged, 25_000, 0, { action: 'dead' }],
  ['pinged, nothing since, timer 2 s late: dead', pinged, 27_000, 0, { action: 'dead' }],
  [
    'pinged, nothing since, but our own timer is later than 2 s: wait once more',
    pinged,
    27_001,
    0,
    { action: 'wait', next: { ...pinged, wakeAt: 37_001, extended: true } },
  ],
  [
    'pinged, waited once more, late again: dead',
    { ...pinged, wakeAt: 37_001, extended: true },
    47_000,
    0,
    { action: 'dead' },
  ],
])('%s', (_what, state, now, lastHeardAt, expected) => {
  expect(wake(state, now, lastHeardAt, MIDDLE)).toEqual(expected);
});

test('the silence before a ping is 13.5 to 16.5 s', () => {
  expect(heard(1000, 0)).toEqual({ state: 'quiet', wakeAt: 14_500 });
  expect(heard(1000, 1)).toEqual({ state: 'quiet', wakeAt: 17_500 });
});

const share = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

interface World {
  /** One value for each decision, again from the start when they are used up. */
  readonly jitter: readonly number[];
  /** How late each of our timers fires, in milliseconds; used up in the same way. */
  readonly lateness: readonly number[];
  /** When the peer says something of its own accord. */
  readonly traffic: readonly number[];
  /** From our ping to its answer; Infinity for a peer that is dead. */
  readonly roundTripMs: number;
  readonly untilMs: number;
  /** Our event loop stands still: how long after the ping before it, and for how long. */
  readonly stall?: { readonly afterPingMs: number; readonly lastsMs: number };
}

/** When the link is declared dead, or undefined; as link.ts drives it, the socket read before each decision. */
function diesAt(world: World): number | undefined {
  const { jitter, lateness, roundTripMs, stall, untilMs } = world;
  const arrivals = [0, ...world.traffic];
  let decisions = 0;
  let stallFrom = Infinity;
  let stallTo = Infinity;
  const unblocked = (at: number): number => (at >= stallFrom && at < stallTo ? stallTo : at);
  let state = heard(0, jitter[0] ?? 0);
  for (;;) {
    const late = lateness[decisions % lateness.length] ?? 0;
    const random = jitter[++decisions % jitter.length] ?? 0;
    const now = unblocked(state.wakeAt + late);
    if (now > untilMs) return undefined;
    const read = arrivals.map(unblocked).filter((at) => at <= now);
    const step = wake(state, now, Math.max(...read), random);
    if (step.action === 'dead') return now;
    if (step.action === 'ping') {
      if (stall !== undefined && stallFrom === Infinity) {
        stallFrom = now + stall.afterPingMs;
        stallTo = stallFrom + stall.lastsMs;
      }
      arrivals.push(unblocked(now) + roundTripMs);
    }
    // As link.ts: a timer of at least a millisecond.
    state = { ...step.next, wakeAt: Math.max(step.next.wakeAt, now + 1) };
  }
}

test('I14: silence is noticed within 28 s whatever the jitter', () => {
  fc.assert(
    fc.property(
      fc.array(share, { minLength: 1 }),
      fc.array(fc.integer({ min: 0, max: 600 }), { minLength: 1 }),
      fc.array(fc.integer({ min: 0, max: 200_000 })),
      (jitter, lateness, traffic) => {
        const diedAt = diesAt({ jitter, lateness, traffic, roundTripMs: Infinity, untilMs: 400_000 });
        // The peer may be found dead in a pause before a later word, which a dead peer would not say.
        const heardBefore = [0, ...traffic].filter((at) => at <= (diedAt ?? Infinity));
        expect(diedAt ?? Infinity).toBeLessThanOrEqual(Math.max(...heardBefore) + 28_000);
      },
    ),
    { numRuns: 1000 },
  );
});

test('I15: a peer that answers within 10 s is never declared dead', () => {
  fc.assert(
    fc.property(
      fc.array(share, { minLength: 1 }),
      fc.array(fc.integer({ min: 0, max: 2000 }), { minLength: 1 }),
      fc.array(fc.integer({ min: 0, max: 3_600_000 })),
      fc.integer({ min: 0, max: 9999 }),
      (jitter, lateness, traffic, roundTripMs) => {
        expect(diesAt({ jitter, lateness, traffic, roundTripMs, untilMs: 3_600_000 })).toBeUndefined();
      },
    ),
    { numRuns: 200 },
  );
});

test('I15: our own event loop may stand still for 8 s at any time while an answer is on its way', () => {
  fc.assert(
    fc.property(
      fc.array(share, { minLength: 1 }),
      fc.integer({ min: 1, max: 9999 }),
      fc.integer({ min: 1, max: 30_000 }),
      (jitter, roundTripMs, afterPingMs) => {
        const stall = { afterPingMs, lastsMs: 8000 };
        const world = { jitter, lateness: [0], traffic: [], roundTripMs, stall, untilMs: 200_000 };
        expect(diesAt(world)).toBeUndefined();
      },
    ),
    { numRuns: 2000 },
  );
});

test('I15: our own event loop may stand still for 8 s before the ping has left', () => {
  fc.assert(
    fc.property(
      fc.array(share, { minLength: 1 }),
      fc.integer({ min: 0, max: 1999 }),
      (jitter, roundTripMs) => {
        const stall = { afterPingMs: 0, lastsMs: 8000 };
        const world = { jitter, lateness: [0], traffic: [], roundTripMs, stall, untilMs: 200_000 };
        expect(diesAt(world)).toBeUndefined();
      },
    ),
  );
});
