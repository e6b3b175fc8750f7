import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRateLimiter } from './rate-limit.ts';

function setUp(requestsPerSecond: number, burst: number, maxSources?: number) {
  const clock = { ms: 0 };
  const limits = { requestsPerSecond, burst, now: () => clock.ms };
  const limiter = createRateLimiter(maxSources === undefined ? limits : { ...limits, maxSources });
  const passed = (bucket: string, count: number): number =>
    Array.from({ length: count }, () => limiter.take(bucket)).filter((decision) => decision.ok).length;
  return { clock, limiter, passed };
}

describe('createRateLimiter', () => {
  it('lets a burst through, then the rate', () => {
    const { clock, passed } = setUp(2, 5);
    expect(passed('a', 10)).toBe(5);
    clock.ms += 500;
    expect(passed('a', 10)).toBe(1);
    clock.ms += 60_000;
    expect(passed('a', 10)).toBe(5);
  });

  it('counts each source apart', () => {
    const { passed } = setUp(1, 3);
    expect(passed('a', 5)).toBe(3);
    expect(passed('b', 5)).toBe(3);
  });

  it.each([3, 7, 0.3, 1000])('lets all of a burst through at %d per second, late in the day too', (rate) => {
    const { clock, passed } = setUp(rate, 10);
    clock.ms = 123_456_789.123;
    expect(passed('a', 20)).toBe(10);
  });

  it('says after how many seconds a request passes again', () => {
    const { clock, limiter, passed } = setUp(0.25, 1);
    passed('a', 1);
    clock.ms = 500;
    expect(limiter.take('a')).toEqual({ ok: false, retryAfterSeconds: 4 });
    clock.ms = 3500;
    expect(limiter.take('a')).toEqual({ ok: false, retryAfterSeconds: 1 });
    clock.ms = 4000;
    expect(limiter.take('a')).toEqual({ ok: true });
  });

  it('spends what is not there, and that is waited for', () => {
    const { clock, limiter, passed } = setUp(1, 3);
    limiter.spend('a', 5);
    expect(limiter.take('a')).toEqual({ ok: false, retryAfterSeconds: 3 });
    clock.ms += 3000;
    expect(passed('a', 2)).toBe(1);
    clock.ms += 60_000;
    expect(passed('a', 5)).toBe(3);
  });

  it('takes several tokens at once, or none', () => {
    const { limiter, passed } = setUp(1, 5);
    expect(limiter.take('a', 3)).toEqual({ ok: true });
    expect(limiter.take('a', 3)).toEqual({ ok: false, retryAfterSeconds: 1 });
    expect(passed('a', 5)).toBe(2);
  });

  it('agrees with a bucket that is counted in tokens', () => {
    const step = fc.record({
      bucket: fc.constantFrom('a', 'b', 'c'),
      waitMs: fc.constantFrom(0, 0, 0, 125, 250, 1000, 10_000),
      cost: fc.constantFrom(1, 1, 1, 2, 3),
    });
    // Powers of two keep both ways of counting exact, so that they must agree to the last request.
    const rates = fc.constantFrom(0.5, 1, 2, 4, 8);
    fc.assert(
      fc.property(
        rates,
        fc.integer({ min: 1, max: 6 }),
        fc.array(step, { maxLength: 80 }),
        (rate, burst, steps) => {
          const { clock, limiter } = setUp(rate, burst);
          const model = new Map<string, { tokens: number; at: number }>();
          for (const { bucket, waitMs, cost } of steps) {
            clock.ms += waitMs;
            const before = model.get(bucket) ?? { tokens: burst, at: clock.ms };
            const tokens = Math.min(burst, before.tokens + ((clock.ms - before.at) * rate) / 1000);
            const decision = limiter.take(bucket, cost);
            expect(decision.ok).toBe(tokens >= cost);
            if (!decision.ok) {
              const seconds = (cost - tokens) / rate;
              expect(decision.retryAfterSeconds).toBe(Math.max(1, Math.ceil(seconds)));
            }
            model.set(bucket, { tokens: decision.ok ? tokens - cost : tokens, at: clock.ms });
          }
        },
      ),
    );
  });

  it('does not free a blocked source however many others come', () => {
    const { passed } = setUp(0.001, 3, 100);
    expect(passed('blocked', 5)).toBe(3);
    for (let index = 0; index < 10_000; index++) passed(`other ${index}`, 1);
    expect(passed('blocked', 1)).toBe(0);
  });

  it('still serves newcomers when the table is full of sources that have tokens left', () => {
    const { passed } = setUp(0.001, 3, 100);
    for (let index = 0; index < 1000; index++) expect(passed(`source ${index}`, 1)).toBe(1);
  });

  it('refuses newcomers only while the table is full of blocked sources', () => {
    const { clock, limiter, passed } = setUp(0.1, 2, 50);
    for (let index = 0; index < 50; index++) passed(`blocked ${index}`, 3);
    expect(limiter.take('newcomer')).toEqual({ ok: false, retryAfterSeconds: 10 });
    expect(passed('blocked 7', 1)).toBe(0);
    clock.ms = 10_000;
    expect(limiter.take('newcomer')).toEqual({ ok: true });
  });

  it('serves newcomers again once the others have refilled', () => {
    const { clock, passed } = setUp(10, 2, 50);
    for (let round = 0; round < 5; round++) {
      for (let index = 0; index < 50; index++) expect(passed(`round ${round} source ${index}`, 3)).toBe(2);
      clock.ms += 1000;
    }
  });
});
