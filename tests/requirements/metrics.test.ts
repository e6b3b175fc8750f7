import { spawnSync } from 'node:child_process';
import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startService, testDatabase, type Service, type TestDatabase, COST_AS_CREATED } from '@svc/testkit';
import { agentMetricsPort, metricsPortOf } from './metrics-ports.testing.ts';
import { parseExposition, type Family, type Scrape } from './exposition.testing.ts';
import { askOnce } from './lone-gateway.testing.ts';

const CANARY = 'canary4711';
const CAPABILITIES = `
metrics: { addr: "127.0.0.1:0" }
runtime: { max_concurrent_requests: 2 }
capabilities:
  get:
    description: Two rows
    sql: select id, :text as ${CANARY}_column from generate_series(1, 2) id
    params:
      text: { type: string }
    result:
      id: { type: integer }
  slow:
    description: Takes too long
    sql: select pg_sleep(5)::text as slept
    policy: { timeout: 200ms, allow_functions: [pg_sleep] }
    result: { slept: { type: string } }
  sleep:
    description: Takes very long
    sql: select pg_sleep(60)::text as slept
    policy: { timeout: 1m, allow_functions: [pg_sleep] }
    result: { slept: { type: string } }
  large:
    description: Much text
    sql: select repeat('x', 100000) as text from generate_series(1, 240)
    policy: { max_bytes: 64MB }
    result: { text: { type: string } }
  divide:
    description: Fails in the database
    sql: select 1 / :by as quotient
    params:
      by: { type: integer, required: true }
    result: { quotient: { type: integer } }
`;
/** For what happens at once, on a machine that is busy. */
const PATIENCE_MS = 15_000;
const CALL = '/api/v1/capabilities/{name}';

let database: TestDatabase;
let service: Service;
let gatewayPort: number;
let agentPort: number;
/** Everything that was ever scraped. */
let seen = '';
/** What the caller got, to be told apart from what was counted. */
let resultBytes = 0;

beforeAll(async () => {
  database = await testDatabase();
  service = await startService({
    database,
    capabilities: CAPABILITIES,
    gatewayEnv: { GATEWAY_METRICS_ADDR: '127.0.0.1:0' },
    keys: { [`${CANARY}_key`]: 'get' },
    // So that comparing lasts until it is looked at.
    keyCost: COST_AS_CREATED,
  });
  gatewayPort = await metricsPortOf(service.gateway);
  agentPort = await agentMetricsPort(service);
});
afterAll(() => service.stop());

async function scrape(port: number): Promise<Scrape> {
  const { status, body } = await askOnce(port, 'GET', '/metrics');
  expect(status).toBe(200);
  seen += body;
  return parseExposition(body);
}

function samples(scraped: Scrape, name: string): Readonly<Record<string, number>> {
  return Object.fromEntries(family(scraped, name).samples);
}

function family(scraped: Scrape, name: string): Family {
  const found = scraped.get(name);
  if (found === undefined) throw new Error(`no metric is called ${name}`);
  return found;
}

/** The values of metrics without labels. */
function values(scraped: Scrape, ...names: readonly string[]): readonly (number | undefined)[] {
  return names.map((name) => family(scraped, name).samples.get(name));
}

/** Scrapes until the values of those metrics are as expected. */
async function until(port: number, names: readonly string[], expected: readonly number[]): Promise<void> {
  await expect
    .poll(async () => values(await scrape(port), ...names), { interval: 10, timeout: PATIENCE_MS })
    .toEqual(expected);
}

function requests(counts: readonly (readonly [string, string, number, number])[]): object {
  return Object.fromEntries(
    counts.map(([route, capability, status, count]) => [
      `svc_gateway_requests_total{route="${route}",capability="${capability}",status="${status}"}`,
      count,
    ]),
  );
}

describe('after known requests', () => {
  let gateway: Scrape;
  let agent: Scrape;
  beforeAll(async () => {
    const key = `${CANARY}_key`;
    for (let call = 0; call < 3; call++) {
      const { text } = await service.call('get', { text: `${CANARY} value` });
      resultBytes += Buffer.byteLength(text) - '{"rows":,"count":2}'.length;
    }
    await service.call('get', { text: 5 });
    await service.call('get', [`${CANARY} value`]);
    await service.call('slow', {});
    await service.call('divide', { by: 0 });
    for (let name = 0; name < 30; name++) await service.call(`no_such_${name}`, {});
    await service.call('No%20Such', {});
    await service.call('get', {}, { key });
    await service.call('slow', {}, { key });
    await service.call('no_such', {}, { key });
    await service.call('get', {}, { headers: { authorization: `Bearer ${CANARY}` } });
    await service.get('/healthz', { key: null });
    await service.get(`/${CANARY}/path`, { key: null });
    await service.get('/api/v1/capabilities/get', { key: null });
    gateway = await scrape(gatewayPort);
    agent = await scrape(agentPort);
  });

  test(
    'the gateway has counted each by route, capability and status, and callers cannot make series',
    { tags: ['metrics:requests'] },
    () => {
      expect(samples(gateway, 'svc_gateway_requests_total')).toEqual(
        requests([
          [CALL, 'get', 200, 4],
          [CALL, 'get', 400, 2],
          [CALL, 'slow', 504, 1],
          [CALL, 'slow', 403, 1],
          [CALL, 'divide', 502, 1],
          [CALL, '', 404, 31],
          [CALL, '', 403, 1],
          [CALL, '', 401, 1],
          [CALL, '', 405, 1],
          ['/healthz', '', 200, 1],
          ['', '', 404, 1],
          ['/ws/agent', '', 101, 1],
        ]),
      );
      expect(samples(gateway, 'svc_gateway_request_errors_total')).toEqual({
        'svc_gateway_request_errors_total{code="AGENT_INVALID_PARAMS"}': 1,
        'svc_gateway_request_errors_total{code="GATEWAY_INVALID_REQUEST"}': 1,
        'svc_gateway_request_errors_total{code="AGENT_QUERY_TIMEOUT"}': 1,
        'svc_gateway_request_errors_total{code="AGENT_QUERY_FAILED"}': 1,
        'svc_gateway_request_errors_total{code="GATEWAY_CAPABILITY_NOT_FOUND"}': 31,
        'svc_gateway_request_errors_total{code="GATEWAY_CAPABILITY_NOT_PERMITTED"}': 2,
        'svc_gateway_request_errors_total{code="GATEWAY_UNAUTHORIZED"}': 1,
        'svc_gateway_request_errors_total{code="GATEWAY_METHOD_NOT_ALLOWED"}': 1,
        'svc_gateway_request_errors_total{code="GATEWAY_NOT_FOUND"}': 1,
      });
    },
  );

  test('the agent has counted each call by capability and outcome', { tags: ['metrics:requests'] }, () => {
    expect(samples(agent, 'svc_agent_calls_total')).toEqual({
      'svc_agent_calls_total{capability="get",outcome="OK"}': 4,
      'svc_agent_calls_total{capability="get",outcome="AGENT_INVALID_PARAMS"}': 1,
      'svc_agent_calls_total{capability="slow",outcome="AGENT_QUERY_TIMEOUT"}': 1,
      'svc_agent_calls_total{capability="divide",outcome="AGENT_QUERY_FAILED"}': 1,
    });
    expect(samples(agent, 'svc_agent_rows_total')).toMatchObject({
      'svc_agent_rows_total{capability="get"}': 8,
      'svc_agent_rows_total{capability="divide"}': 0,
    });
    expect(samples(agent, 'svc_agent_result_bytes_total')).toMatchObject({
      'svc_agent_result_bytes_total{capability="get"}': (resultBytes / 3) * 4,
    });
  });

  test('both have timed each, by capability', { tags: ['metrics:latency'] }, () => {
    const ofGateway = samples(gateway, 'svc_gateway_request_duration_seconds');
    const ofAgent = samples(agent, 'svc_agent_call_duration_seconds');
    const histograms = [
      [ofGateway, 'svc_gateway_request_duration_seconds', `route="${CALL}",capability`, 6, 2],
      [ofAgent, 'svc_agent_call_duration_seconds', 'capability', 5, 1],
    ] as const;
    for (const [all, name, label, gets, slows] of histograms) {
      const bounds = Object.keys(all)
        .filter((id) => id.startsWith(`${name}_bucket{`) && id.endsWith(`,${label}="get"}`))
        .map((id) => /le="(.+?)"/.exec(id)?.[1]);
      expect(bounds).toEqual(
        '0.0005 0.001 0.0025 0.005 0.01 0.025 0.05 0.1 0.25 0.5 1 2.5 5 10 30 +Inf'.split(' '),
      );
      expect(all[`${name}_count{${label}="get"}`]).toBe(gets);
      expect(all[`${name}_count{${label}="slow"}`]).toBe(slows);
      expect(all[`${name}_bucket{le="0.1",${label}="slow"}`]).toBe(slows - 1);
      expect(all[`${name}_bucket{le="5",${label}="slow"}`]).toBe(slows);
      const seconds = all[`${name}_sum{${label}="slow"}`];
      expect(seconds).toBeGreaterThanOrEqual(0.2);
      expect(seconds).toBeLessThan(5);
    }
  });

  test('keys: found in the cache or not', { tags: ['metrics:keys'] }, () => {
    // Of 38 calls with the first key and 3 with the second, the first of each; and the wrong key.
    expect(
      values(gateway, 'svc_gateway_auth_cache_hits_total', 'svc_gateway_auth_cache_misses_total'),
    ).toEqual([37 + 2, 1 + 1 + 1]);
    expect(values(gateway, 'svc_gateway_bcrypt_slots', 'svc_gateway_bcrypt_slots_busy')).toEqual([4, 0]);
  });

  test('connections', { tags: ['metrics:agents', 'metrics:pool'] }, () => {
    const names = ['connections', 'connects_total', 'disconnects_total', 'rejections_total'];
    expect(values(gateway, ...names.map((name) => `svc_gateway_agent_${name}`))).toEqual([1, 1, 0, 0]);
    const ofAgent = ['connected', 'reconnects_total', 'connect_failures_total'];
    expect(values(agent, ...ofAgent.map((name) => `svc_agent_${name}`))).toEqual([1, 0, 0]);
    expect(samples(agent, 'svc_agent_database_connections')).toMatchObject({
      'svc_agent_database_connections{state="busy"}': 0,
      'svc_agent_database_connections{state="opening"}': 0,
    });
    expect(values(agent, 'svc_agent_database_connections_max')).toEqual([10]);
  });

  test('each process tells about itself', { tags: ['metrics:process'] }, async () => {
    for (const [scraped, pid] of [
      [gateway, service.gateway.pid],
      [agent, service.agents[0]?.pid],
    ] as const) {
      expect(pid).toBeGreaterThan(0);
      const [memory = 0, cpu = 0, started = 0, lag = -1] = values(
        scraped,
        'process_resident_memory_bytes',
        'process_cpu_seconds_total',
        'process_start_time_seconds',
        'nodejs_eventloop_lag_seconds',
      );
      expect(memory).toBeGreaterThan(10_000_000);
      expect(cpu).toBeGreaterThan(0.01);
      expect(Math.abs(Date.now() / 1000 - started)).toBeLessThan(120);
      expect(lag).toBeGreaterThanOrEqual(0);
      expect(samples(scraped, 'nodejs_version_info')).toEqual({
        [`nodejs_version_info{version="${process.version}",major="${process.versions.node.split('.')[0]}",minor="${process.versions.node.split('.')[1]}",patch="${process.versions.node.split('.')[2]}"}`]: 1,
      });
    }
  });

  const promtool = spawnSync('promtool', ['--version']).status === 0;
  test.skipIf(!promtool)(
    'promtool, the linter of Prometheus, finds nothing in what either says',
    { tags: ['metrics:conventions'] },
    async () => {
      for (const port of [gatewayPort, agentPort]) {
        const { body } = await askOnce(port, 'GET', '/metrics');
        const { status, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: body });
        expect([status, stderr.toString()]).toEqual([0, '']);
      }
    },
  );

  test('names follow the conventions of Prometheus', { tags: ['metrics:conventions'] }, () => {
    for (const [name, { type, help }] of [...gateway, ...agent]) {
      if (name.endsWith('_total')) expect([name, type]).not.toEqual([name, 'gauge']);
      else expect([name, type]).not.toEqual([name, 'counter']);
      expect(help).toMatch(/./);
    }
  });

  test('names of the service are made alike, and each is explained', () => {
    const ours = [...gateway, ...agent].filter(([name]) => name.startsWith('svc_'));
    expect(ours).toHaveLength(38);
    for (const [name, { type, help }] of ours) {
      expect(name).toMatch(/^svc_(gateway|agent)(_[a-z]+)+$/);
      expect(name.endsWith('_total')).toBe(type === 'counter');
      if (type === 'histogram') expect(name).toMatch(/_seconds$/);
      expect(help).toMatch(/^[A-Z0-9].{15,}\.$/);
    }
  });
});

test(
  'what is in flight, queued and busy is told, and is zero again afterwards',
  { tags: ['metrics:in-flight', 'metrics:pool'] },
  async () => {
    const ofGateway = ['svc_gateway_requests_in_flight', 'svc_gateway_agent_calls_in_flight'];
    const ofAgent = ['svc_agent_calls_running', 'svc_agent_calls_queued', 'svc_agent_database_waiting_calls'];
    const before = await scrape(gatewayPort);
    expect(values(before, ...ofGateway)).toEqual([0, 0]);
    const abort = new AbortController();
    const calls = [1, 2, 3].map(() =>
      service.call('sleep', {}, { signal: abort.signal }).catch(() => 'gone'),
    );
    await until(gatewayPort, ofGateway, [3, 3]);
    await until(agentPort, ofAgent, [2, 1, 0]);
    const pool = samples(await scrape(agentPort), 'svc_agent_database_connections');
    expect(pool).toMatchObject({ 'svc_agent_database_connections{state="busy"}': 2 });
    abort.abort();
    expect(await Promise.all(calls)).toEqual(['gone', 'gone', 'gone']);
    await until(gatewayPort, ofGateway, [0, 0]);
    await until(agentPort, ofAgent, [0, 0, 0]);
    await expect
      .poll(async () => samples(await scrape(agentPort), 'svc_agent_database_connections'), {
        timeout: PATIENCE_MS,
      })
      .toMatchObject({ 'svc_agent_database_connections{state="busy"}': 0 });
    expect(samples(await scrape(gatewayPort), 'svc_gateway_requests_total')).toMatchObject(
      requests([[CALL, 'sleep', 499, 3]]),
    );
  },
);

test('memory that large results hold is told', { tags: ['metrics:in-flight'] }, async () => {
  const name = 'svc_gateway_result_reserved_bytes';
  const slow = httpRequest({
    port: service.port,
    host: '127.0.0.1',
    method: 'POST',
    path: '/api/v1/capabilities/large',
    headers: { 'content-type': 'application/json', 'x-api-key': service.apiKeys['all'] ?? '' },
    agent: false,
  });
  slow.on('error', () => {});
  // Taken, but not read.
  slow.on('response', () => {});
  slow.end('{}');
  await expect
    .poll(async () => values(await scrape(gatewayPort), name)[0], { timeout: PATIENCE_MS })
    .toBeGreaterThan(24_000_000);
  slow.destroy();
  await until(gatewayPort, [name], [0]);
});

test('busy bcrypt slots are told', { tags: ['metrics:keys'] }, async () => {
  const known = service.apiKeys['all'] ?? '';
  const wrong = ['a', 'b', 'c', 'd'].map((letter) => known.slice(0, -4) + letter.repeat(4));
  const refused = wrong.map((key) =>
    service.get('/openapi.json', { headers: { 'x-api-key': key }, key: null }),
  );
  await expect
    .poll(async () => values(await scrape(gatewayPort), 'svc_gateway_bcrypt_slots_busy')[0], {
      interval: 1,
      timeout: PATIENCE_MS,
    })
    .toBeGreaterThan(0);
  for (const { status } of await Promise.all(refused)) expect(status).toBe(401);
  await until(gatewayPort, ['svc_gateway_bcrypt_slots_busy'], [0]);
});

test(
  'the agent tells how it fares without its gateway',
  { tags: ['metrics:agents', 'file:metrics.addr'] },
  async () => {
    expect((await service.gateway.stop()).code).toBe(0);
    await until(agentPort, ['svc_agent_connected'], [0]);
    await expect
      .poll(async () => values(await scrape(agentPort), 'svc_agent_connect_failures_total')[0], {
        timeout: PATIENCE_MS,
      })
      .toBeGreaterThan(0);
    await service.restartGateway();
    gatewayPort = await metricsPortOf(service.gateway);
    await expect
      .poll(
        async () => values(await scrape(agentPort), 'svc_agent_connected', 'svc_agent_reconnects_total'),
        {
          timeout: PATIENCE_MS,
        },
      )
      .toEqual([1, 1]);
    await until(gatewayPort, ['svc_gateway_agent_connections', 'svc_gateway_agent_connects_total'], [1, 1]);
  },
);

test(
  'both answer until the last call is done, and end with the process',
  { tags: ['setting:GATEWAY_METRICS_ADDR', 'file:metrics.addr'] },
  async () => {
    const [agent] = service.agents;
    if (agent === undefined) throw new Error('no agent');
    const abort = new AbortController();
    const call = service.call('sleep', {}, { signal: abort.signal }).catch(() => 'gone');
    await until(agentPort, ['svc_agent_calls_running'], [1]);
    service.gateway.signal('SIGTERM');
    agent.signal('SIGTERM');
    await service.gateway.waitForLine((line) => line.includes('"event":"shutting_down"'));
    await agent.waitForLine((line) => line.includes('SIGTERM: finishing 1 call'));
    await until(gatewayPort, ['svc_gateway_requests_in_flight'], [1]);
    await until(agentPort, ['svc_agent_calls_running'], [1]);
    abort.abort();
    expect(await call).toBe('gone');
    expect(await Promise.all([service.gateway.exited, agent.exited])).toMatchObject([
      { code: 0 },
      { code: 0 },
    ]);
  },
);

test('no scrape held a secret, a name of a key, a value or SQL', { tags: ['metrics:canary'] }, () => {
  expect(seen.length).toBeGreaterThan(50_000);
  const { apiKeys } = service;
  for (const secret of [CANARY, ...Object.values(apiKeys), database.name, 'pg_sleep', 'generate_series']) {
    expect(secret.length).toBeGreaterThan(7);
    expect(seen).not.toContain(secret);
  }
  expect(seen).not.toMatch(/no_such|select |127\.0\.0\.1|\$2b\$/i);
});
