import * as fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { createAdmission } from './concurrency-limit.ts';

const FOREVER = new AbortController().signal;
const FAR = 60_000;

/** Lets what is due be settled. */
async function turn(): Promise<void> {
  await new Promise(setImmediate);
}

async function enterNow(admission: ReturnType<typeof createAdmission>): Promise<() => void> {
  const slot = await admission.enter(FAR, FOREVER);
  if (typeof slot === 'string') throw new Error(slot);
  return slot;
}

test('as many run as may, as many wait as may, the next is turned away', async () => {
  const admission = createAdmission(2, 1);
  await enterNow(admission);
  const release = await enterNow(admission);
  const waiting = admission.enter(FAR, FOREVER);
  expect(await admission.enter(FAR, FOREVER)).toBe('full');
  expect([admission.running, admission.queued]).toEqual([2, 1]);
  release();
  expect(await waiting).toBeTypeOf('function');
  expect([admission.running, admission.queued]).toEqual([2, 0]);
});

test('without a queue nobody waits', async () => {
  const admission = createAdmission(1, 0);
  const release = await enterNow(admission);
  expect(await admission.enter(FAR, FOREVER)).toBe('full');
  release();
  expect(admission.running).toBe(0);
  expect(await admission.enter(FAR, FOREVER)).toBeTypeOf('function');
});

test('who waits longest is served first', async () => {
  const admission = createAdmission(1, 10);
  const order: number[] = [];
  let release = await enterNow(admission);
  for (const number of [1, 2, 3]) {
    void Promise.resolve(admission.enter(FAR, FOREVER)).then((slot) => {
      order.push(number);
      if (typeof slot !== 'string') release = slot;
    });
  }
  for (let count = 0; count < 3; count++) {
    release();
    await turn();
  }
  expect(order).toEqual([1, 2, 3]);
});

test('a slot given back twice counts once', async () => {
  const admission = createAdmission(2, 0);
  const release = await enterNow(admission);
  await enterNow(admission);
  release();
  release();
  expect(admission.running).toBe(1);
});

describe('who waits', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  test('leaves when its call is cancelled, and the next in line gets the slot', async () => {
    const admission = createAdmission(1, 10);
    const release = await enterNow(admission);
    const caller = new AbortController();
    const leaving = admission.enter(FAR, caller.signal);
    const staying = admission.enter(FAR, FOREVER);
    caller.abort();
    expect(await leaving).toBe('aborted');
    expect(admission.queued).toBe(1);
    release();
    expect(await staying).toBeTypeOf('function');
  });

  test('leaves when waiting makes no sense any more, and leaves no timer', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const admission = createAdmission(1, 10);
    const release = await enterNow(admission);
    const late = admission.enter(100, FOREVER);
    const patient = admission.enter(200, FOREVER);
    vi.advanceTimersByTime(100);
    expect(await late).toBe('late');
    expect(admission.queued).toBe(1);
    release();
    expect(await patient).toBeTypeOf('function');
    expect(vi.getTimerCount()).toBe(0);
  });

  test('is not let in when its call was cancelled before', async () => {
    const admission = createAdmission(1, 10);
    expect(await admission.enter(FAR, AbortSignal.abort())).toBe('aborted');
    expect(admission.running).toBe(0);
  });
});

test('whatever comes and goes, never more than may run or wait, and at the end nobody', async () => {
  const step = fc.oneof(
    fc.constant({ do: 'enter' as const, pick: 0 }),
    fc.record({ do: fc.constantFrom('release' as const, 'abort' as const), pick: fc.nat(20) }),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 3 }),
      fc.nat(3),
      fc.array(step, { maxLength: 40 }),
      async (maxRunning, maxQueued, steps) => {
        const admission = createAdmission(maxRunning, maxQueued);
        const releases: (() => void)[] = [];
        const callers: AbortController[] = [];
        const enter = (): void => {
          const caller = new AbortController();
          callers.push(caller);
          void Promise.resolve(admission.enter(FAR, caller.signal)).then((slot) => {
            if (typeof slot !== 'string') releases.push(slot);
          });
        };
        for (const step of steps) {
          if (step.do === 'enter') enter();
          else if (step.do === 'abort') callers[step.pick % Math.max(1, callers.length)]?.abort();
          else releases[step.pick % Math.max(1, releases.length)]?.();
          await Promise.resolve();
          expect(admission.running).toBeLessThanOrEqual(maxRunning);
          expect(admission.queued).toBeLessThanOrEqual(maxQueued);
          // Nobody waits beside a free slot.
          if (admission.queued > 0) expect(admission.running).toBe(maxRunning);
        }
        for (const caller of callers) caller.abort();
        await turn();
        for (const release of releases) release();
        expect([admission.running, admission.queued]).toEqual([0, 0]);
      },
    ),
    { numRuns: 100 },
  );
});
