import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  createRateLimiter,
  type Grant,
  type Rate,
  type RateDecision,
  type RequestLimiter,
} from '../access/rate-limit.ts';
import { createLeasedLimiter, type AskLease } from './leased-limiter.ts';

/** Gateways that share one bucket, on a clock that stands still while they talk. */
function createFleet(rate: Rate, gateways: number) {
  const clock = { ms: 1000 };
  const now = (): number => clock.ms;
  const bucket = createRateLimiter({ ...rate, now });
  const questions: { least: number; most: number; granted: number }[] = [];
  const ask: AskLease = (name, least, most) => {
    const grant = bucket.grant(name, least, most);
    questions.push({ least, most, granted: grant.granted });
    return Promise.resolve(grant);
  };
  const limiters = Array.from({ length: gateways }, () => gateway(rate, ask, now));
  return { clock, limiters, questions };
}

function gateway(rate: Rate, ask: AskLease, now: () => number, maxLeases?: number): RequestLimiter {
  const local = createRateLimiter({ ...rate, now });
  return createLeasedLimiter({ rate, local, ask, now, ...(maxLeases === undefined ? {} : { maxLeases }) });
}

/** All at once: those that are there already beside those that are waited for. */
function decided(decisions: readonly (RateDecision | Promise<RateDecision>)[]): Promise<RateDecision[]> {
  return Promise.all(decisions.map((decision) => Promise.resolve(decision)));
}

async function passed(decisions: readonly (RateDecision | Promise<RateDecision>)[]): Promise<number> {
  return (await decided(decisions)).filter(({ ok }) => ok).length;
}

describe('a limit of three gateways', () => {
  test.each([
    { rate: { requestsPerSecond: 400, burst: 400 }, each: 1000, seconds: 20 },
    { rate: { requestsPerSecond: 400, burst: 20 }, each: 1000, seconds: 20 },
    { rate: { requestsPerSecond: 50, burst: 1 }, each: 300, seconds: 20 },
    { rate: { requestsPerSecond: 1, burst: 5 }, each: 20, seconds: 60 },
  ])('is neither exceeded nor wasted: $rate', async ({ rate, each, seconds }) => {
    const { clock, limiters, questions } = createFleet(rate, 3);
    let through = 0;
    for (let tick = 0; tick < each * seconds; tick++) {
      clock.ms += 1000 / each;
      through += await passed(limiters.map((limiter) => limiter.take('one')));
    }
    const allowed = rate.burst + rate.requestsPerSecond * seconds;
    expect(through).toBeLessThanOrEqual(allowed);
    expect(through).toBeGreaterThanOrEqual(Math.floor(allowed * 0.99) - 1);
    // At most some fifty leases a second for each, and as many refusals.
    expect(questions.length / seconds / 3).toBeLessThanOrEqual(110);
  });

  test('a slow caller costs one token at a time, wherever it comes', async () => {
    const { clock, limiters, questions } = createFleet({ requestsPerSecond: 400, burst: 400 }, 3);
    for (let call = 0; call < 30; call++) {
      expect(await limiters[call % 3]?.take('slow')).toEqual({ ok: true });
      clock.ms += 700;
    }
    expect(questions.every(({ granted }) => granted === 1)).toBe(true);
  });
});

test('a quick caller is asked for ever more rarely, up to a fiftieth of a second', async () => {
  const { clock, limiters, questions } = createFleet({ requestsPerSecond: 1000, burst: 1000 }, 1);
  for (let call = 0; call < 2000; call++) {
    clock.ms += 2;
    expect(await limiters[0]?.take('quick')).toEqual({ ok: true });
  }
  expect(Math.max(...questions.map(({ most }) => most))).toBe(20);
  expect(questions.length).toBeLessThan(2000 / 20 + 10);
});

test('what a lease has left after a second is lost', async () => {
  const { clock, limiters, questions } = createFleet({ requestsPerSecond: 1000, burst: 1000 }, 1);
  for (let call = 0; call < 20; call++) await limiters[0]?.take('one');
  const before = questions.length;
  const left = questions.reduce((sum, { granted }) => sum + granted, 0) - 20;
  expect(left).toBeGreaterThan(0);
  clock.ms += 1000;
  await limiters[0]?.take('one');
  expect(questions.length).toBe(before + 1);
});

test('requests of one key wait for one answer, and each gets its own part of it', async () => {
  const rate = { requestsPerSecond: 10, burst: 10 };
  const answers: ((grant: Grant | undefined) => void)[] = [];
  const asked: [number, number][] = [];
  const ask: AskLease = (_bucket, least, most) => {
    asked.push([least, most]);
    return new Promise((resolve) => answers.push(resolve));
  };
  const limiter = gateway(rate, ask, () => 0);
  const decisions = [limiter.take('a'), limiter.take('a'), limiter.take('a', 3), limiter.take('a')];
  expect(asked).toEqual([[1, 1]]);
  answers[0]?.({ granted: 1, aheadMs: 100 });
  expect(await decisions[0]).toEqual({ ok: true });
  expect(asked).toEqual([
    [1, 1],
    [1, 5],
  ]);
  // Two of five: the first waiting gets one, the batch none, the last the other.
  answers[1]?.({ granted: 2, aheadMs: 1000 });
  expect(await decided(decisions.slice(1))).toEqual([
    { ok: true },
    { ok: false, retryAfterSeconds: 1 },
    { ok: true },
  ]);
});

test('where nobody can be asked it decides at once, and alone', () => {
  const limiter = gateway(
    { requestsPerSecond: 1, burst: 2 },
    () => undefined,
    () => 0,
  );
  expect([limiter.take('a'), limiter.take('a'), limiter.take('a')]).toEqual([
    { ok: true },
    { ok: true },
    { ok: false, retryAfterSeconds: 1 },
  ]);
});

test('where no answer comes it decides alone, for all who waited', async () => {
  let answer: ((grant: undefined) => void) | undefined;
  const limiter = gateway(
    { requestsPerSecond: 1, burst: 2 },
    () => new Promise((resolve) => (answer = resolve)),
    () => 0,
  );
  const waiting = [limiter.take('a'), limiter.take('a'), limiter.take('a')];
  expect(waiting[2]).toEqual({ ok: false, retryAfterSeconds: 1 });
  answer?.(undefined);
  expect(await decided(waiting)).toEqual([{ ok: true }, { ok: true }, { ok: false, retryAfterSeconds: 1 }]);
});

test.each([
  { answeredAtMs: 18, leftMs: 7 },
  // A process that was busy itself sees the first answer late.
  { answeredAtMs: 40, leftMs: 0 },
])(
  'all who wait for a second answer wait no longer than twenty milliseconds in all: $leftMs after $answeredAtMs',
  async ({ answeredAtMs, leftMs }) => {
    const clock = { ms: 0 };
    const within: number[] = [];
    const answers: ((grant: Grant) => void)[] = [];
    const ask: AskLease = (_bucket, _least, _most, withinMs) => {
      within.push(withinMs);
      return new Promise((resolve) => answers.push(resolve));
    };
    const limiter = gateway({ requestsPerSecond: 10, burst: 10 }, ask, () => clock.ms);
    const first = limiter.take('a');
    clock.ms = 5;
    void limiter.take('a');
    clock.ms = answeredAtMs;
    answers[0]?.({ granted: 1, aheadMs: 100 });
    await first;
    expect(within).toEqual([20, leftMs]);
  },
);

test('a refusal is remembered until a token may be there', async () => {
  const { clock, limiters, questions } = createFleet({ requestsPerSecond: 1, burst: 1 }, 2);
  const [one, other] = limiters;
  expect(await one?.take('a')).toEqual({ ok: true });
  expect(await other?.take('a')).toEqual({ ok: false, retryAfterSeconds: 1 });
  clock.ms += 999;
  expect(other?.take('a')).toEqual({ ok: false, retryAfterSeconds: 1 });
  expect(questions.length).toBe(2);
  clock.ms += 1;
  expect(await other?.take('a')).toEqual({ ok: true });
});

test('a batch says when all of it fits', async () => {
  const { limiters } = createFleet({ requestsPerSecond: 1, burst: 10 }, 2);
  expect(await limiters[0]?.take('a', 8)).toEqual({ ok: true });
  expect(await limiters[1]?.take('a', 4, 5)).toEqual({ ok: false, retryAfterSeconds: 3 });
  expect(await limiters[1]?.take('a', 0, 5)).toEqual({ ok: true });
});

test('sources that have refilled are forgotten, and others when there are too many', async () => {
  const clock = { ms: 0 };
  const now = (): number => clock.ms;
  const rate = { requestsPerSecond: 1000, burst: 1000 };
  const bucket = createRateLimiter({ ...rate, now });
  let asked = 0;
  const ask: AskLease = (name, least, most) => {
    asked++;
    return Promise.resolve(bucket.grant(name, least, most));
  };
  const limiter = gateway(rate, ask, now, 100);
  for (let source = 0; source < 5000; source++)
    expect(await limiter.take(`source ${source}`)).toEqual({ ok: true });
  expect(asked).toBe(5000);
});

test('gateways together never let more through than one bucket would', async () => {
  const step = fc.record({
    gateway: fc.integer({ min: 0, max: 2 }),
    bucket: fc.constantFrom('a', 'b'),
    waitMs: fc.constantFrom(0, 0, 1, 5, 20, 125, 1000, 3000),
    cost: fc.constantFrom(1, 1, 1, 2, 3),
  });
  const rates = fc.constantFrom(0.5, 2, 64, 512);
  await fc.assert(
    fc.asyncProperty(
      rates,
      fc.integer({ min: 3, max: 20 }),
      fc.array(step, { maxLength: 120 }),
      async (requestsPerSecond, burst, steps) => {
        const { clock, limiters } = createFleet({ requestsPerSecond, burst }, 3);
        const tokens = new Map<string, { left: number; at: number }>();
        for (const { gateway: index, bucket, waitMs, cost } of steps) {
          clock.ms += waitMs;
          const before = tokens.get(bucket) ?? { left: burst, at: clock.ms };
          const left = Math.min(burst, before.left + ((clock.ms - before.at) * requestsPerSecond) / 1000);
          const decision = await limiters[index]?.take(bucket, cost);
          // What a lease of each holds may be spent up to a second later; leases of one token are spent at once.
          const lent = 3 * Math.floor(requestsPerSecond / 50);
          if (decision?.ok === true) expect(left + lent + 1e-6).toBeGreaterThanOrEqual(cost);
          if (decision?.ok === false) expect(decision.retryAfterSeconds).toBeGreaterThanOrEqual(1);
          tokens.set(bucket, { left: decision?.ok === true ? left - cost : left, at: clock.ms });
        }
      },
    ),
  );
});
