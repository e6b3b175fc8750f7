import { ask, startService, testDatabase, type Service } from '@svc/testkit';
import { setMaxListeners } from 'node:events';
import { Agent, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { agentMetricsPort } from '../requirements/metrics-ports.testing.ts';
import { median } from '../../bench/report/statistics.ts';

const REPORT = `
  report:
    description: Takes its time
    sql: select :n as n from pg_sleep(:seconds)
    params: { n: { type: integer, required: true }, seconds: { type: number, required: true } }
    policy: { allow_functions: [pg_sleep] }
    result: { n: { type: integer } }
`;
const GET_ITEM = `
  get_item:
    description: One item
    sql: select id, name from items where id = :id
    params: { id: { type: integer, required: true } }
    result: { id: { type: integer }, name: { type: string } }
`;
const METRICS = 'metrics: { addr: "127.0.0.1:0" }';

const SLOW_CALLS = 500;
const SLOW_S = 1;
/** One round is 400 quick calls alone, then as many beside the slow ones; p99 is then the fifth slowest. */
const LEAST_ROUNDS = 3;
const MOST_ROUNDS = 15;
const QUICK_CALLS = 400;
const QUICK_AT_ONCE = 4;
const PATIENTLY = { timeout: 20_000, interval: 50 };

const sockets = new Agent({ keepAlive: true });
let service: Service;
let metricsPort: number;

beforeAll(async () => {
  const items = `create table items as select id, 'item ' || id as name from generate_series(1, 1000) id;
    alter table items add primary key (id)`;
  service = await startService({
    database: await testDatabase({ sql: [items] }),
    capabilities: `${METRICS}\ncapabilities:${REPORT}${GET_ITEM}`,
    gatewayEnv: { GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND: '100000' },
    keys: { slow: '*', quick: '*' },
  });
  metricsPort = await agentMetricsPort(service);
});
afterAll(async () => {
  sockets.destroy();
  await service.stop();
});

interface Answered {
  readonly status: number;
  readonly ms: number;
}

/** Over connections that are kept, since making one costs more than a call. Rejects when the signal aborts. */
function post(key: string, capability: string, params: unknown, signal?: AbortSignal): Promise<Answered> {
  const body = JSON.stringify(params);
  const headers = {
    authorization: `Bearer ${service.apiKeys[key] ?? ''}`,
    'content-type': 'application/json',
    'content-length': body.length,
  };
  return new Promise((resolve, reject) => {
    const startedAt = performance.now();
    const path = `/api/v1/capabilities/${capability}`;
    const target = { host: '127.0.0.1', port: service.port, method: 'POST', path, headers, agent: sockets };
    const sent = request({ ...target, ...(signal === undefined ? {} : { signal }) }, (response) => {
      response.resume();
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, ms: performance.now() - startedAt }),
      );
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

/** What `meanwhile` gives, while 500 slow calls are at the agent: one that is over is made again. */
async function besideSlowCalls<T>(meanwhile: () => Promise<T>): Promise<T> {
  const stopping = new AbortController();
  setMaxListeners(2 * SLOW_CALLS, stopping.signal);
  const { signal } = stopping;
  const loops = Array.from({ length: SLOW_CALLS }, async (_, n) => {
    while (!signal.aborted) {
      const status = await statusUntil(signal, post('slow', 'report', { n, seconds: SLOW_S }, signal));
      // As `Retry-After` has it, else this would measure a flood of refusals.
      if (status === 503) await statusUntil(signal, pause(1000, undefined, { signal }));
    }
  });
  try {
    await expect.poll(() => callsAtAgent(), PATIENTLY).toBeGreaterThanOrEqual(SLOW_CALLS);
    const given = await meanwhile();
    // Some are on their way, more of them on a slow machine.
    expect(await callsAtAgent()).toBeGreaterThan(0.9 * SLOW_CALLS);
    return given;
  } finally {
    stopping.abort();
    await Promise.all(loops);
    await expect.poll(() => callsAtAgent(), PATIENTLY).toBe(0);
  }
}

async function statusUntil(signal: AbortSignal, answer: Promise<Answered | undefined>): Promise<number> {
  try {
    return (await answer)?.status ?? 0;
  } catch (error) {
    if (signal.aborted) return 0;
    throw error;
  }
}

/** Calls at the agent, as an operator sees them. */
async function callsAtAgent(port: number = metricsPort): Promise<number> {
  const { text } = await ask(`http://127.0.0.1:${port}/metrics`);
  const valueOf = (name: string): number => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]);
  return valueOf('svc_agent_calls_running') + valueOf('svc_agent_calls_queued');
}

/** Makes quick calls, none of which may be refused; returns how long the slowest of a hundred took. */
async function p99(capability: string, paramsOf: (n: number) => unknown): Promise<number> {
  const durations: number[] = [];
  let left = QUICK_CALLS;
  const loops = Array.from({ length: QUICK_AT_ONCE }, async () => {
    for (; left > 0; left--) {
      const { status, ms } = await post('quick', capability, paramsOf(left));
      expect(status).toBe(200);
      durations.push(ms);
    }
  });
  await Promise.all(loops);
  return durations.toSorted((a, b) => a - b)[Math.floor(durations.length * 0.99)] ?? Number.NaN;
}

test('a newcomer is served as soon as one of 500 slow calls of another is over', async () => {
  const first = await besideSlowCalls(() => post('quick', 'get_item', { id: 1 }));
  expect(first.status).toBe(200);
  // It waits for a slot, and then for a connection.
  expect(first.ms).toBeLessThan(5 * 2 * SLOW_S * 1000);
});

test('where the agent takes no further call, the newest of the principal with most gives its place to a newcomer', async () => {
  const small = await startService({
    database: await testDatabase(),
    capabilities: `${METRICS}\nruntime: { max_concurrent_requests: 2, queue_size: 2 }\ncapabilities:${REPORT}`,
    keys: { slow: '*', quick: '*' },
  });
  try {
    const port = await agentMetricsPort(small);
    const refused: number[] = [];
    const slow = [0, 1, 2, 3].map(async (n) => {
      const { status } = await small.call('report', { n, seconds: SLOW_S }, { key: 'slow' });
      if (status !== 200) refused.push(status);
    });
    await expect.poll(() => callsAtAgent(port), PATIENTLY).toBe(4);
    const newcomer = await small.call('report', { n: 7, seconds: 0 }, { key: 'quick' });
    expect(newcomer).toMatchObject({ status: 200, text: expect.stringContaining('"n":7') });
    await Promise.all(slow);
    expect(refused).toEqual([503]);
  } finally {
    await small.stop();
  }
});

// The machine's speed differs from second to second, so both are measured in turn, and the medians of all rounds are
// compared. A machine that is busy with something else gets more rounds; what is slower each time stays slower.
test.each([
  ['of another capability', 'get_item', (n: number) => ({ id: n })],
  ['of the same capability with other values', 'report', (n: number) => ({ n, seconds: 0 })],
])(
  '500 slow calls of one principal neither refuse nor delay the calls of another, %s',
  { tags: ['limit:fair-turns'], timeout: 120_000 },
  async (_title, capability, paramsOf) => {
    const [alone, beside]: [number[], number[]] = [[], []];
    await p99(capability, paramsOf);
    const isSlower = (): boolean => median(beside) > 2 * median(alone);
    while (beside.length < LEAST_ROUNDS || (isSlower() && beside.length < MOST_ROUNDS)) {
      alone.push(await p99(capability, paramsOf));
      beside.push(await besideSlowCalls(() => p99(capability, paramsOf)));
    }
    expect(isSlower(), `alone: ${alone.join(', ')} ms; beside: ${beside.join(', ')} ms`).toBe(false);
  },
);
