import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { keepRevocations } from './revocations.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval', 'clearTimeout', 'clearInterval'] });
});
afterEach(() => {
  vi.useRealTimers();
});

test('keys are let in after half a minute without the list, which is said each minute', () => {
  const reasons: string[] = [];
  const known: boolean[] = [];
  const kept = keepRevocations({
    // A port at which nobody listens.
    valkey: {
      host: '127.0.0.1',
      port: 1,
      tls: false,
      username: undefined,
      password: undefined,
      database: 0,
      prefix: 'svc:',
    },
    hasRecord: () => true,
    onChange: (revocations) => known.push(revocations.known),
    onUnknown: (reason) => reasons.push(reason),
  });
  vi.advanceTimersByTime(29_999);
  expect([kept.known, known, reasons]).toEqual([false, [], []]);
  vi.advanceTimersByTime(1);
  expect([kept.known, known, reasons.length]).toEqual([true, [true], 1]);
  vi.advanceTimersByTime(120_000);
  expect([kept.known, known, reasons.length]).toEqual([true, [true], 3]);
  kept.close();
  vi.advanceTimersByTime(120_000);
  expect(reasons).toHaveLength(3);
});
