import { expect, test } from 'vitest';
import type { RateDecision, RequestLimiter } from '../access/rate-limit.ts';
import { createRateLimiter, type Grant, type Rate } from '../access/rate-limit.ts';
import { inProcessWire } from '../cluster/in-process-wire.testing.ts';
import { createPrimaryChannel } from '../cluster/primary/primary-channel.ts';
import { startOrder } from '../cluster/start-order.testing.ts';
import { createWorkerChannel } from '../cluster/worker/worker-channel.ts';
import { createLeasedLimiter, type AskLease } from './leased-limiter.ts';
import type { ValkeyState } from './valkey-state.ts';
import { askForCallSlots, countCalls } from './shared-state.ts';
import { createWorkerState, serveWorkerState } from './worker-state.ts';

const RATE: Rate = { requestsPerSecond: 1, burst: 6 };
const { config } = startOrder({
  GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND: '1',
  GATEWAY_RATE_LIMIT_BURST: '6',
  GATEWAY_VALKEY_URL: 'redis://localhost',
});
const now = (): number => 0;

/** Three workers of a primary; `ask` is how Valkey answers. */
async function startReplica(ask?: AskLease) {
  const primary = createPrimaryChannel();
  primary.answer('start', () => startOrder());
  countCalls(primary, 2);
  const state = { known: false };
  const valkey: ValkeyState | undefined = ask && {
    leases: () => ask,
    revocations: state,
    counters: () => ({ up: true, leases: { granted: 0, refused: 0, unanswered: 0 } }),
    setServices: () => {},
    close: () => {},
  };
  const tellRevocations = serveWorkerState(primary, config, valkey, now);
  const workers = await Promise.all(
    [0, 1, 2].map(async (number) => {
      const wires = inProcessWire();
      primary.attach(number, wires.primary);
      const channel = createWorkerChannel(wires.worker);
      await channel.ask('start', { version: '' });
      const shared = createWorkerState(channel, config);
      const askPrimary = shared.leases?.('source', RATE);
      if (askPrimary === undefined) throw new Error('no leases');
      const limiter: RequestLimiter = createLeasedLimiter({
        rate: RATE,
        local: createRateLimiter({ ...RATE, now }),
        ask: askPrimary,
        now,
      });
      return { shared, limiter, slots: askForCallSlots(channel), wires };
    }),
  );
  return { workers, state, tellRevocations };
}

const passed = (decisions: readonly RateDecision[]): number => decisions.filter(({ ok }) => ok).length;

test('workers keep one limit together without Valkey', async () => {
  const { workers } = await startReplica();
  const decisions = await Promise.all(
    [0, 1, 2, 3].flatMap(() => workers.map(({ limiter }) => Promise.resolve(limiter.take('a')))),
  );
  expect(passed(decisions)).toBe(6);
  expect(decisions.at(-1)).toEqual({ ok: false, retryAfterSeconds: 1 });
});

test('with Valkey it has the last word, below what a replica alone would let pass', async () => {
  const asked: number[] = [];
  const shared = createRateLimiter({ requestsPerSecond: 1, burst: 4, now });
  const { workers } = await startReplica((bucket, least, most) => {
    asked.push(most);
    return Promise.resolve(shared.grant(bucket, least, most));
  });
  let through = 0;
  for (let round = 0; round < 4; round++) {
    for (const { limiter } of workers) through += (await limiter.take('a')).ok ? 1 : 0;
  }
  expect(through).toBe(4);
  expect(asked.every((most) => most >= 1 && most <= 6)).toBe(true);
});

test('while Valkey does not answer, the replica keeps the limit', async () => {
  const unanswered: Promise<Grant | undefined> = Promise.resolve(undefined);
  for (const answer of [unanswered, undefined]) {
    const { workers } = await startReplica(() => answer);
    const decisions = await Promise.all(
      [0, 1, 2].flatMap(() => workers.map(({ limiter }) => Promise.resolve(limiter.take('a')))),
    );
    expect(passed(decisions)).toBe(6);
  }
});

test('a worker whose primary is gone decides alone', async () => {
  const { workers } = await startReplica();
  workers[0]?.wires.worker.cut();
  expect(await workers[0]?.limiter.take('a')).toEqual({ ok: true });
  expect(await workers[0]?.slots.take('a')).toBe(true);
});

test('a worker whose primary answers too late decides alone, and counts it', async () => {
  const { workers } = await startReplica(() => new Promise(() => {}));
  expect(await workers[0]?.limiter.take('a')).toEqual({ ok: true });
  expect(workers.map(({ shared }) => shared.counters?.().leases.unanswered)).toEqual([1, 0, 0]);
});

test('workers know whether revocations are known', async () => {
  const { workers, state, tellRevocations } = await startReplica(() => undefined);
  expect(workers.map(({ shared }) => shared.revocations?.known)).toEqual([false, false, false]);
  state.known = true;
  tellRevocations();
  await expect.poll(() => workers.map(({ shared }) => shared.revocations?.known)).toEqual([true, true, true]);
});

test('calls under way are counted together, and end with their worker', async () => {
  const { workers } = await startReplica();
  const [a, b, c] = workers.map(({ slots }) => slots);
  expect(await a?.take('x')).toBe(true);
  expect(await a?.take('x')).toBe(true);
  expect(await b?.take('x')).toBe(false);
  expect(await b?.take('y')).toBe(true);
  a?.free('x');
  // In the order of its own channel; another's question may come before.
  await a?.take('z');
  expect(await b?.take('x')).toBe(true);
  expect(await c?.take('x')).toBe(false);
  workers[1]?.wires.worker.cut();
  await expect.poll(() => c?.take('x')).toBe(true);
  expect(await c?.take('x')).toBe(false);
});
