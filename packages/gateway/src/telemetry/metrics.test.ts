import { createMetricsRegister, type Sample } from '@svc/edge';
import { expect, test } from 'vitest';
import type { RequestEvent } from './events.ts';
import { createGatewayMetrics } from './metrics.ts';

const REQUEST: RequestEvent = {
  event: 'request',
  request_id: 'r1',
  api_key_name: 'reporting',
  capability: 'find_book',
  http_status: 200,
  method: 'POST',
  route: '/x',
  source: '203.0.113.7',
  duration_ms: 1.25,
  error_code: '',
};

async function metricsKnowing(names: ReadonlySet<string>, services?: readonly string[]) {
  const register = await createMetricsRegister();
  const observe = createGatewayMetrics(register, {
    hasServices: services !== undefined,
    reloads: true,
    requestsInFlight: () => 0,
    agents: {
      connections: () => services?.map((service): Sample => [[service], 1]) ?? 0,
      callsInFlight: () => services?.map((service): Sample => [[service], 2]) ?? 0,
    },
    fleet: { replicas: () => 1, linksMissing: () => 0, singleLinks: () => 0 },
    resultBytesReserved: () => 0,
    authentication: () => ({ cacheHits: 0, cacheMisses: 0, slotsInUse: 0, slots: 4 }),
    tokens: () => ({ cacheHits: 1, cacheMisses: 2, fetchFailures: 3 }),
    valkey: undefined,
    logRecordsLost: () => 7,
    isCapability: (name) => names.has(name),
  });
  const requestLines = async (): Promise<readonly string[]> =>
    (await register.text()).split('\n').filter((line) => line.startsWith('svc_gateway_requests_total{'));
  return { observe, requestLines, text: () => register.text() };
}

test('a name gets a series of its own once it is known', async () => {
  const names = new Set<string>();
  const gateway = await metricsKnowing(names);
  for (let at = 0; at < 1000; at++) gateway.observe({ ...REQUEST, capability: `name_${at}` });
  gateway.observe(REQUEST);
  expect(await gateway.requestLines()).toEqual([
    'svc_gateway_requests_total{route="/x",capability="",status="200"} 1001',
  ]);
  names.add('find_book');
  gateway.observe(REQUEST);
  names.delete('find_book');
  gateway.observe(REQUEST);
  expect(await gateway.requestLines()).toEqual([
    'svc_gateway_requests_total{route="/x",capability="",status="200"} 1001',
    'svc_gateway_requests_total{route="/x",capability="find_book",status="200"} 2',
  ]);
});

test('lost log records, remembered tokens and keys that could not be fetched are counted', async () => {
  const gateway = await metricsKnowing(new Set());
  expect(await gateway.text()).toMatch(/^svc_gateway_log_records_lost_total 7$/m);
  expect(await gateway.text()).toMatch(/^svc_gateway_token_cache_hits_total 1$/m);
  expect(await gateway.text()).toMatch(/^svc_gateway_token_cache_misses_total 2$/m);
  expect(await gateway.text()).toMatch(/^svc_gateway_issuer_keys_fetch_failures_total 3$/m);
});

test('files that were refused are told until files are taken', async () => {
  const gateway = await metricsKnowing(new Set());
  expect(await gateway.text()).toMatch(/^svc_gateway_reload_refused 0$/m);
  gateway.observe({ event: 'keys_reload_failed', faults: 1, message: 'no such file' });
  expect(await gateway.text()).toMatch(/^svc_gateway_reload_refused 1$/m);
  gateway.observe({ event: 'keys_reloaded', services: 1, keys: 1 });
  expect(await gateway.text()).toMatch(/^svc_gateway_reload_refused 0$/m);
});

test('with several services each sample of requests and agents names its own, up to a hundred of them', async () => {
  const gateway = await metricsKnowing(new Set(['find_book']), ['default', 'inventory']);
  gateway.observe({ ...REQUEST, service: 'default' });
  gateway.observe({ ...REQUEST, service: 'inventory', error_code: 'AGENT_BUSY' });
  gateway.observe({ ...REQUEST, service: '', capability: '' });
  for (let at = 0; at < 200; at++) gateway.observe({ ...REQUEST, service: `s${at}`, capability: '' });
  const lines = await gateway.requestLines();
  expect(lines.slice(0, 3)).toEqual([
    'svc_gateway_requests_total{service="default",route="/x",capability="find_book",status="200"} 1',
    'svc_gateway_requests_total{service="inventory",route="/x",capability="find_book",status="200"} 1',
    'svc_gateway_requests_total{service="",route="/x",capability="",status="200"} 103',
  ]);
  expect(lines).toHaveLength(101);
  const text = await gateway.text();
  expect(text).toContain('svc_gateway_request_errors_total{service="inventory",code="AGENT_BUSY"} 1');
  expect(text).toContain('svc_gateway_agent_connections{service="inventory"} 1');
  expect(text).toContain('svc_gateway_agent_calls_in_flight{service="default"} 2');
});
