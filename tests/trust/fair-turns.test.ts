import { ask, startService, testDatabase, type Service } from '@svc/testkit';
import { setMaxListeners } from 'node:events';
import { Agent, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { agentMetricsPort } from '../requirements/metrics-ports.testing.ts';
import { median } from '../../bench/report/statistics.ts';

const CAPABILITIES = `
capabilities:
  get_item:
    description: One item
    sql: select id, name from items where id = :id
    params: { id: { type: integer, required: true } }
    result: { id: { type: integer }, name: { type: string } }
  report:
    description: Takes its time
    sql: select :n as n from pg_sleep(:seconds)
    params: { n: { type: integer, required: true }, seconds: { type: number, required: true } }
    policy: { allow_functions: [pg_sleep] }
    result: { n: { type: integer } }
`;

const SLOW_CALLS = 500;
const SLOW_S = 1;
/** One round is 400 quick calls alone, then as many beside the slow ones; p99 is then the fifth slowest. */
const ROUNDS = 7;
const QUICK_CALLS = 400;
const QUICK_AT_ONCE = 4;

const sockets = new Agent({ keepAlive: true });
let service: Service;
let metricsPort: number;

beforeAll(async () => {
  const items = `create table items as select id, 'item ' || id as name from generate_series(1, 1000) id;
    alter table items add primary key (id)`;
  service = await startService({
    database: await testDatabase({ sql: [items] }),
    capabilities: `${CAPABILITIES}metrics: { addr: "127.0.0.1:0" }\n`,
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

/** Keeps so many slow calls in flight until it is stopped: one that is over is made anew. */
function keepSlowCalls(key: string): { stop(): Promise<void> } {
  const stopping = new AbortController();
  setMaxListeners(SLOW_CALLS + 10, stopping.signal);
  const loops = Array.from({ length: SLOW_CALLS }, async (_, n) => {
    while (!stopping.signal.aborted) {
      try {
        const { status } = await post(key, 'report', { n, seconds: SLOW_S }, stopping.signal);
        // As `Retry-After` has it, else the test would measure a flood of refusals.
        if (status === 503) await pause(1000, undefined, { signal: stopping.signal });
      } catch {
        expect(stopping.signal.aborted).toBe(true);
      }
    }
  });
  return {
    async stop() {
      stopping.abort();
      await Promise.all(loops);
    },
  };
}

/** Calls at the agent, as an operator sees them. */
async function atAgent(): Promise<{ running: number; queued: number }> {
  const { text } = await ask(`http://127.0.0.1:${metricsPort}/metrics`);
  const valueOf = (name: string): number => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]);
  return { running: valueOf('svc_agent_calls_running'), queued: valueOf('svc_agent_calls_queued') };
}

async function callsAtAgent(): Promise<number> {
  const { running, queued } = await atAgent();
  return running + queued;
}

/** Makes quick calls, none of which may be refused; returns how long the slowest of a hundred took. */
async function p99(key: string): Promise<number> {
  const durations: number[] = [];
  let left = QUICK_CALLS;
  const loops = Array.from({ length: QUICK_AT_ONCE }, async () => {
    for (; left > 0; left--) {
      const { status, ms } = await post(key, 'get_item', { id: 1 + (left % 1000) });
      expect(status).toBe(200);
      durations.push(ms);
    }
  });
  await Promise.all(loops);
  return durations.toSorted((a, b) => a - b)[Math.floor(durations.length * 0.99)] ?? Number.NaN;
}

test('a newcomer is served as soon as one of 500 slow calls of another is over', async () => {
  const slow = keepSlowCalls('slow');
  await expect.poll(callsAtAgent, { timeout: 20_000, interval: 50 }).toBeGreaterThanOrEqual(SLOW_CALLS);
  const first = await post('quick', 'get_item', { id: 1 });
  // It waits for a slot, and then for a connection.
  expect(first).toMatchObject({ status: 200 });
  expect(first.ms).toBeLessThan(5 * 2 * SLOW_S * 1000);
  await slow.stop();
  await expect.poll(callsAtAgent, { timeout: 20_000, interval: 50 }).toBe(0);
});

// The machine's speed differs from second to second, so both are measured in turn, and their medians compared.
test(
  '500 slow calls of one principal neither refuse nor delay the calls of another',
  { tags: ['limit:fair-turns'] },
  async () => {
    const [alone, beside]: [number[], number[]] = [[], []];
    await p99('quick');
    for (let round = 0; round < ROUNDS; round++) {
      alone.push(await p99('quick'));
      const slow = keepSlowCalls('slow');
      await expect.poll(callsAtAgent, { timeout: 20_000, interval: 50 }).toBeGreaterThanOrEqual(SLOW_CALLS);
      beside.push(await p99('quick'));
      expect(await callsAtAgent()).toBeGreaterThanOrEqual(SLOW_CALLS - QUICK_AT_ONCE);
      await slow.stop();
      await expect.poll(callsAtAgent, { timeout: 20_000, interval: 50 }).toBe(0);
    }
    console.log(alone, beside, median(beside) / median(alone));
    expect(median(beside)).toBeLessThanOrEqual(2 * median(alone));
  },
);
