import * as fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { createConcurrencyLimit } from './concurrency-limit.ts';

const FOREVER = new AbortController().signal;
const FAR = 60_000;

/** Lets what is due be settled. */
async function turn(): Promise<void> {
  await new Promise(setImmediate);
}

async function acquireNow(limit: ReturnType<typeof createConcurrencyLimit>): Promise<() => void> {
  const slot = await limit.acquire(FAR, FOREVER);
  if (typeof slot === 'string') throw new Error(slot);
  return slot;
}

test('calls beyond the limit wait, and those beyond the queue are refused', async () => {
  const limit = createConcurrencyLimit(2, 1);
  await acquireNow(limit);
  const release = await acquireNow(limit);
  const waiting = limit.acquire(FAR, FOREVER);
  expect(await limit.acquire(FAR, FOREVER)).toBe('full');
  expect([limit.running, limit.queued]).toEqual([2, 1]);
  release();
  expect(await waiting).toBeTypeOf('function');
  expect([limit.running, limit.queued]).toEqual([2, 0]);
});

test('without a queue no call waits', async () => {
  const limit = createConcurrencyLimit(1, 0);
  const release = await acquireNow(limit);
  expect(await limit.acquire(FAR, FOREVER)).toBe('full');
  release();
  expect(limit.running).toBe(0);
  expect(await limit.acquire(FAR, FOREVER)).toBeTypeOf('function');
});

test('the call that has waited longest gets the next slot', async () => {
  const limit = createConcurrencyLimit(1, 10);
  const order: number[] = [];
  let release = await acquireNow(limit);
  for (const number of [1, 2, 3]) {
    void Promise.resolve(limit.acquire(FAR, FOREVER)).then((slot) => {
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
  const limit = createConcurrencyLimit(2, 0);
  const release = await acquireNow(limit);
  await acquireNow(limit);
  release();
  release();
  expect(limit.running).toBe(1);
});

describe('a call that waits', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  test('leaves when its call is cancelled, and the next in the queue gets the slot', async () => {
    const limit = createConcurrencyLimit(1, 10);
    const release = await acquireNow(limit);
    const caller = new AbortController();
    const leaving = limit.acquire(FAR, caller.signal);
    const staying = limit.acquire(FAR, FOREVER);
    caller.abort();
    expect(await leaving).toBe('aborted');
    expect(limit.queued).toBe(1);
    release();
    expect(await staying).toBeTypeOf('function');
  });

  test('leaves when waiting makes no sense any more, and leaves no timer', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const limit = createConcurrencyLimit(1, 10);
    const release = await acquireNow(limit);
    const late = limit.acquire(100, FOREVER);
    const patient = limit.acquire(200, FOREVER);
    vi.advanceTimersByTime(100);
    expect(await late).toBe('late');
    expect(limit.queued).toBe(1);
    release();
    expect(await patient).toBeTypeOf('function');
    expect(vi.getTimerCount()).toBe(0);
  });

  test('gets no slot when its call was cancelled before', async () => {
    const limit = createConcurrencyLimit(1, 10);
    expect(await limit.acquire(FAR, AbortSignal.abort())).toBe('aborted');
    expect(limit.running).toBe(0);
  });
});

test('in any order of events no more calls run and wait than the limits allow, and in the end none', async () => {
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
        const limit = createConcurrencyLimit(maxRunning, maxQueued);
        const releases: (() => void)[] = [];
        const callers: AbortController[] = [];
        const enter = (): void => {
          const caller = new AbortController();
          callers.push(caller);
          void Promise.resolve(limit.acquire(FAR, caller.signal)).then((slot) => {
            if (typeof slot !== 'string') releases.push(slot);
          });
        };
        for (const step of steps) {
          if (step.do === 'enter') enter();
          else if (step.do === 'abort') callers[step.pick % Math.max(1, callers.length)]?.abort();
          else releases[step.pick % Math.max(1, releases.length)]?.();
          await Promise.resolve();
          expect(limit.running).toBeLessThanOrEqual(maxRunning);
          expect(limit.queued).toBeLessThanOrEqual(maxQueued);
          // Nobody waits beside a free slot.
          if (limit.queued > 0) expect(limit.running).toBe(maxRunning);
        }
        for (const caller of callers) caller.abort();
        await turn();
        for (const release of releases) release();
        expect([limit.running, limit.queued]).toEqual([0, 0]);
      },
    ),
    { numRuns: 100 },
  );
});
