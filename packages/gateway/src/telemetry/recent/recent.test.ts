import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RequestEvent } from '../events.ts';
import { RECORDS_MAX, STEP_MS } from './batch.ts';
import { createBusiest } from './busiest.ts';
import { createHistory, type History } from './history.ts';
import { LATENCY_BUCKETS, latencyBucket, p95Ms } from './latency-buckets.ts';
import { createTally, type Tally } from './tally.ts';

const EVENT: RequestEvent = {
  event: 'request',
  request_id: 'one',
  api_key_name: 'reports',
  capability: 'get_film',
  http_status: 200,
  method: 'POST',
  route: '/api/v1/capabilities/{name}',
  source: '192.0.2.1',
  duration_ms: 8,
  error_code: '',
};

const EPOCH_MS = 1_800_000_000_000;

interface Scene {
  /** The monotonic clock, and how far the system's is ahead of it. */
  readonly clock: { ms: number; aheadMs: number };
  readonly history: History;
  readonly tally: Tally;
  readonly step: () => number;
}

function scene(): Scene {
  const clock = { ms: 5_000_000, aheadMs: EPOCH_MS };
  const history = createHistory();
  const tally = createTally({
    isCapability: (name) => name.startsWith('get_'),
    state: () => ({ inFlight: [], offers: undefined }),
    onBatch: (batch) => history.add(batch),
    wallClock: () => clock.ms + clock.aheadMs,
    now: () => clock.ms,
  });
  return { clock, history, tally, step: () => Math.floor(clock.ms / STEP_MS) };
}

describe('counts', () => {
  test('go into the step in which they come, and leave after a quarter of an hour', () => {
    const { clock, history, tally, step } = scene();
    tally.observe(EVENT);
    clock.ms += STEP_MS;
    tally.observe({ ...EVENT, error_code: 'AGENT_BUSY', http_status: 503 });
    tally.flush();
    tally.observe(EVENT);
    tally.flush();
    const [film, ...others] = history.capabilities;
    expect(others).toEqual([]);
    expect(film?.at(step() - 1)).toMatchObject({ calls: 1, errors: 0 });
    expect(film?.at(step())).toMatchObject({ calls: 2, errors: 1 });
    expect(film?.recent(step())).toMatchObject({ calls: 3, errors: 1 });
    expect(film?.lastError).toBe('AGENT_BUSY');
    expect(history.useOf('', 'reports')).toEqual({
      requests: 3,
      last: { atMs: clock.ms, timeMs: EPOCH_MS + clock.ms },
    });
    clock.ms += 60_000;
    expect(film?.recent(step())).toMatchObject({ calls: 0, errors: 0, p95Ms: null });
    expect(film?.at(step() - 12)).toMatchObject({ calls: 2 });
    clock.ms += 900_000;
    expect(film?.at(step() - 179)).toMatchObject({ calls: 0 });
  });

  test('are those of calls alone, of capabilities that there are, and of no probe', () => {
    const { history, tally, step } = scene();
    tally.observe({
      ...EVENT,
      capability: 'made_up',
      http_status: 403,
      error_code: 'GATEWAY_CAPABILITY_NOT_PERMITTED',
    });
    tally.observe({ ...EVENT, capability: '', http_status: 401, error_code: 'GATEWAY_UNAUTHORIZED' });
    tally.observe({ ...EVENT, capability: '', route: '/openapi.json' });
    tally.observe({ ...EVENT, capability: '', route: '/healthz' });
    tally.flush();
    expect([...history.capabilities]).toEqual([]);
    expect(history.total.recent(step())).toMatchObject({ calls: 2, errors: 2 });
    expect(history.records.map(({ event }) => event.http_status)).toEqual([200, 401, 403]);
  });
});

test('a thousand records are kept, the newest ones, and the rest is counted', () => {
  const { history, tally } = scene();
  for (let id = 0; id < RECORDS_MAX + 500; id++) tally.observe({ ...EVENT, request_id: String(id) });
  tally.flush();
  for (let id = 0; id < 10; id++) tally.observe({ ...EVENT, request_id: `later-${id}` });
  tally.flush();
  const ids = history.records.map(({ event }) => event.request_id);
  expect(ids).toHaveLength(RECORDS_MAX);
  expect(ids.slice(0, 11)).toEqual([...Array.from({ length: 10 }, (_, id) => `later-${9 - id}`), '1499']);
  expect(ids.at(-1)).toBe('510');
  expect(history.dropped).toBe(500);
});

test('links of agents come and go, also while nobody calls or looks', () => {
  const { clock, history, tally } = scene();
  const agent = {
    conn_id: 'link-1',
    instance_id: 'one',
    key_id: 'key',
    source: '192.0.2.1',
    capabilities: 3,
  };
  tally.observe({ event: 'agent_connected', ...agent });
  clock.ms += STEP_MS;
  tally.observe({ event: 'agent_connected', ...agent, conn_id: 'link-2' });
  expect([...history.links]).toEqual([expect.objectContaining({ instanceId: 'one', capabilities: 3 })]);
  tally.observe({ event: 'agent_disconnected', conn_id: 'link-1', instance_id: 'one', reason: '' });
  tally.flush();
  expect(Array.from(history.links, ({ sinceMs }) => sinceMs)).toEqual([EPOCH_MS + clock.ms]);
});

test('a system clock that was ahead once keeps nothing out that comes later', () => {
  const { clock, history, tally, step } = scene();
  clock.aheadMs += 86_400_000;
  tally.observe({ ...EVENT, request_id: 'ahead' });
  tally.flush();
  clock.ms += STEP_MS;
  clock.aheadMs = EPOCH_MS;
  tally.observe({ ...EVENT, request_id: 'after' });
  tally.flush();
  expect(history.total.at(step())).toMatchObject({ calls: 1 });
  expect(history.total.recent(step())).toMatchObject({ calls: 2 });
  expect([...history.capabilities][0]?.recent(step())).toMatchObject({ calls: 2 });
  expect(history.records.map(({ event }) => event.request_id)).toEqual(['after', 'ahead']);
  expect(history.useOf('', 'reports')).toMatchObject({ last: { timeMs: EPOCH_MS + clock.ms } });
});

test('the busiest capabilities take the places of others within a minute', () => {
  const busiest = createBusiest(2);
  const counted = (capability: string, calls: number) => ({
    service: '',
    capability,
    calls,
    errors: 0,
    lastError: '',
    latency: new Uint32Array(LATENCY_BUCKETS),
  });
  const names = (): readonly string[] => Array.from(busiest.all, ({ capability }) => capability).toSorted();
  for (let step = 1000; step < 1014; step++) {
    busiest.add(step, counted('quiet', 1));
    busiest.add(step, counted('busy', 50));
    busiest.add(step, counted('busier', 70));
    busiest.add(step, counted('quieter', step % 2));
  }
  expect(names()).toEqual(['busier', 'busy']);
});

test('a time is told from its bucket within a half', () => {
  fc.assert(
    fc.property(fc.double({ min: 0.2, max: 59_000, noNaN: true }), (ms) => {
      const counts = new Uint32Array(LATENCY_BUCKETS);
      counts[latencyBucket(ms)] = 1;
      const told = p95Ms(counts) ?? 0;
      expect(told / ms).toBeGreaterThan(0.6);
      expect(told / ms).toBeLessThan(1.51);
    }),
  );
  expect(latencyBucket(0)).toBe(0);
  expect(latencyBucket(1e9)).toBeLessThan(LATENCY_BUCKETS);
  expect(p95Ms(new Uint32Array(LATENCY_BUCKETS))).toBeNull();
});
