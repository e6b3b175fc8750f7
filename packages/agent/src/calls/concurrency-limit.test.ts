import { createAbort } from '@svc/edge';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createCallerLoads, type CallerLoad } from './caller-loads.ts';
import { createConcurrencyLimit } from './concurrency-limit.ts';

const FOREVER = createAbort().signal;
const FAR = 60_000;

let alone: CallerLoad;
beforeEach(() => {
  alone = createCallerLoads().of('alone');
});

/** Lets what is due be settled. */
async function turn(): Promise<void> {
  await new Promise(setImmediate);
}

async function acquireNow(
  limit: ReturnType<typeof createConcurrencyLimit>,
  caller: CallerLoad = alone,
): Promise<() => void> {
  const slot = await limit.acquire(FAR, FOREVER, caller);
  if (typeof slot === 'string') throw new Error(slot);
  return slot;
}

test('calls beyond the limit wait, and those beyond the queue are refused', async () => {
  const limit = createConcurrencyLimit(2, 1);
  await acquireNow(limit);
  const release = await acquireNow(limit);
  const waiting = limit.acquire(FAR, FOREVER, alone);
  expect(await limit.acquire(FAR, FOREVER, alone)).toBe('full');
  expect([limit.running, limit.queued]).toEqual([2, 1]);
  release();
  expect(await waiting).toBeTypeOf('function');
  expect([limit.running, limit.queued]).toEqual([2, 0]);
});

test('without a queue no call waits', async () => {
  const limit = createConcurrencyLimit(1, 0);
  const release = await acquireNow(limit);
  expect(await limit.acquire(FAR, FOREVER, alone)).toBe('full');
  release();
  expect(limit.running).toBe(0);
  expect(await limit.acquire(FAR, FOREVER, alone)).toBeTypeOf('function');
});

test('the call that has waited longest gets the next slot', async () => {
  const limit = createConcurrencyLimit(1, 10);
  const order: number[] = [];
  let release = await acquireNow(limit);
  for (const number of [1, 2, 3]) {
    void Promise.resolve(limit.acquire(FAR, FOREVER, alone)).then((slot) => {
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
    const leaving = limit.acquire(FAR, caller.signal, alone);
    const staying = limit.acquire(FAR, FOREVER, alone);
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
    const late = limit.acquire(100, FOREVER, alone);
    const patient = limit.acquire(200, FOREVER, alone);
    vi.advanceTimersByTime(100);
    expect(await late).toBe('late');
    expect(limit.queued).toBe(1);
    release();
    expect(await patient).toBeTypeOf('function');
    expect(vi.getTimerCount()).toBe(0);
  });

  test('gets no slot when its call was cancelled before', async () => {
    const limit = createConcurrencyLimit(1, 10);
    expect(await limit.acquire(FAR, AbortSignal.abort(), alone)).toBe('aborted');
    expect(limit.running).toBe(0);
  });
});

describe('beside other callers', () => {
  /** What a caller asks for, and what it got. */
  function callsOf(limit: ReturnType<typeof createConcurrencyLimit>, caller: CallerLoad) {
    const releases: (() => void)[] = [];
    const outcomes: string[] = [];
    return {
      releases,
      outcomes,
      ask(count: number) {
        for (let left = count; left > 0; left--) {
          void Promise.resolve(limit.acquire(FAR, FOREVER, caller)).then((slot) => {
            outcomes.push(typeof slot === 'string' ? slot : 'slot');
            if (typeof slot !== 'string') releases.push(slot);
          });
        }
      },
    };
  }

  test('slots that become free go to the callers in turn', async () => {
    const callers = createCallerLoads();
    const limit = createConcurrencyLimit(1, 10);
    const release = await acquireNow(limit, callers.of('first'));
    const order: string[] = [];
    for (const name of ['first', 'first', 'first', 'second', 'second', 'third']) {
      void Promise.resolve(limit.acquire(FAR, FOREVER, callers.of(name))).then((slot) => {
        order.push(name);
        if (typeof slot !== 'string') slot();
      });
    }
    release();
    await turn();
    expect(order).toEqual(['first', 'second', 'third', 'first', 'second', 'first']);
  });

  test('when the queue is full, the newest of the caller with most leaves it', async () => {
    const callers = createCallerLoads();
    const limit = createConcurrencyLimit(1, 4);
    const many = callsOf(limit, callers.of('many'));
    const few = callsOf(limit, callers.of('few'));
    many.ask(5);
    few.ask(2);
    await turn();
    expect([many.outcomes, few.outcomes]).toEqual([['slot', 'full', 'full'], []]);
    few.ask(1);
    many.ask(1);
    await turn();
    expect([many.outcomes, few.outcomes]).toEqual([['slot', 'full', 'full', 'full'], ['full']]);
    expect(limit.queued).toBe(4);
  });

  test('a caller with 500 calls leaves to another what that had at once, and takes all when it is alone again', async () => {
    let now = 0;
    const callers = createCallerLoads(() => now);
    const limit = createConcurrencyLimit(16, 1000);
    const quick = callsOf(limit, callers.of('quick'));
    // Often enough to be steady.
    for (let round = 0; round < 3; round++) {
      quick.ask(4);
      await turn();
      for (const release of quick.releases.splice(0)) release();
    }
    const slow = callsOf(limit, callers.of('slow'));
    slow.ask(500);
    await turn();
    expect([limit.running, limit.queued]).toEqual([12, 488]);
    for (let round = 0; round < 20; round++) {
      now += 1000;
      quick.ask(4);
      await turn();
      expect(quick.releases).toHaveLength(4);
      for (const release of quick.releases.splice(0)) release();
      slow.releases.shift()?.();
      await turn();
    }
    now += 120_000;
    callers.of('slow');
    slow.releases.shift()?.();
    await turn();
    expect(limit.running).toBe(16);
  });

  test('a newcomer gets what becomes free until it has its share', async () => {
    const callers = createCallerLoads();
    const limit = createConcurrencyLimit(4, 1000);
    const slow = callsOf(limit, callers.of('slow'));
    slow.ask(100);
    const newcomer = callsOf(limit, callers.of('newcomer'));
    newcomer.ask(10);
    await turn();
    expect(slow.releases).toHaveLength(4);
    for (const release of slow.releases.splice(0, 3)) release();
    await turn();
    expect([slow.releases.length, newcomer.releases.length]).toEqual([2, 2]);
  });
});

const step = fc.record({
  do: fc.constantFrom('enter', 'enter', 'enter', 'release', 'abort', 'wait', 'late'),
  who: fc.nat(2),
  pick: fc.nat(20),
});

interface Entered {
  readonly who: number;
  readonly abort: AbortController;
  outcome: (() => void) | string | undefined;
  isBack: boolean;
}

test('in any order of events slots are neither lost nor given twice, callers keep their order, and nobody waits for ever', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  const property = fc.asyncProperty(
    fc.integer({ min: 1, max: 4 }),
    fc.nat(5),
    fc.array(step, { maxLength: 60 }),
    async (maxRunning, maxQueued, steps) => {
      const callers = createCallerLoads();
      const limit = createConcurrencyLimit(maxRunning, maxQueued);
      const entered: Entered[] = [];
      const served: Entered[] = [];
      const running = (): Entered[] =>
        entered.filter(({ outcome, isBack }) => typeof outcome === 'function' && !isBack);
      const waiting = (): Entered[] => entered.filter(({ outcome }) => outcome === undefined);

      async function settle(): Promise<void> {
        for (let turns = 0; turns < 4; turns++) await Promise.resolve();
        expect(limit.running).toBe(running().length);
        expect(limit.queued).toBe(waiting().length);
        expect(limit.running).toBeLessThanOrEqual(maxRunning);
        expect(limit.queued).toBeLessThanOrEqual(maxQueued);
        // Whoever has nothing that runs waits beside no free slot.
        const idle = waiting().filter(({ who }) => running().every((each) => each.who !== who));
        if (idle.length > 0) expect(limit.running).toBe(maxRunning);
      }

      function enter(who: number): void {
        const call: Entered = { who, abort: new AbortController(), outcome: undefined, isBack: false };
        entered.push(call);
        const acquired = limit.acquire(100, call.abort.signal, callers.of(String(who)));
        void Promise.resolve(acquired).then((outcome) => {
          call.outcome = outcome;
          if (typeof outcome === 'function') served.push(call);
        });
      }

      function giveBack(call: Entered | undefined): void {
        if (typeof call?.outcome !== 'function') return;
        call.isBack = true;
        call.outcome();
        call.outcome();
      }

      for (const { do: what, who, pick } of steps) {
        if (what === 'enter') enter(who);
        else if (what === 'abort') entered[pick % Math.max(1, entered.length)]?.abort.abort();
        else if (what === 'release') giveBack(running()[pick % Math.max(1, running().length)]);
        else vi.advanceTimersByTime(what === 'late' ? 100 : pick);
        await settle();
      }
      // With every slot that is given back at least one that waits is served.
      for (let left = waiting().length; left > 0; left = waiting().length) {
        giveBack(running()[0]);
        await settle();
        expect(waiting().length).toBeLessThanOrEqual(left);
        if (running().length === 0) expect(waiting()).toEqual([]);
      }
      for (const call of running()) giveBack(call);
      expect([limit.running, limit.queued, vi.getTimerCount()]).toEqual([0, 0, 0]);
      for (const who of [0, 1, 2]) {
        const order = served.filter((call) => call.who === who).map((call) => entered.indexOf(call));
        expect(order).toEqual(order.toSorted((a, b) => a - b));
      }
    },
  );
  try {
    await fc.assert(property, { numRuns: 300 });
  } finally {
    vi.useRealTimers();
  }
});
