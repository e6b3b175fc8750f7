import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  freePort,
  nextRecord,
  startFaultProxy,
  startService,
  temporaryFolder,
  testDatabase,
  type Service,
  type TestDatabase,
} from '@svc/testkit';
import type { Calls } from '../../packages/console/src/data.ts';
import { CONSOLE_ENV, consoleUrl, dataOf } from '../console/console.testing.ts';
import { startCollector, type Collector, type Span } from './collector.testing.ts';

const CAPABILITIES = `
capabilities:
  answer:
    sql: select :n::int as n
    params: { n: { type: integer, required: true } }
    result: { n: { type: integer } }
  divide:
    sql: select 1 / :by::int as n
    params: { by: { type: integer, required: true } }
    result: { n: { type: integer } }
  wait:
    sql: select pg_sleep(3)::text as slept
    policy: { timeout: 30s, allow_functions: [pg_sleep] }
    result: { slept: { type: string } }
`;
const TELEMETRY = 'telemetry: { traces: otlp }\n';
/** A caller's own span, which it records. */
const CALLER = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };
const OTHER = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' };
const header = ({ traceId, spanId }: typeof CALLER, flags = '01'): string =>
  `00-${traceId}-${spanId}-${flags}`;

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});

interface Traced {
  readonly service: Service;
  readonly collector: Collector;
}

async function startTraced(
  otel: Readonly<Record<string, string>>,
  options: {
    readonly gateway?: Readonly<Record<string, string>>;
    readonly runtime?: string;
    readonly agents?: number;
  } = {},
): Promise<Traced> {
  const collector = await startCollector();
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '20', ...otel };
  const service = await startService({
    database,
    capabilities: `${TELEMETRY}${options.runtime ?? ''}${CAPABILITIES}`,
    gatewayEnv: { GATEWAY_TRACES: 'otlp', ...env, ...options.gateway },
    agentEnv: env,
    ...(options.agents === undefined ? {} : { agents: options.agents }),
  });
  return { service, collector };
}

async function stop({ service, collector }: Traced): Promise<void> {
  await service.stop();
  await collector.close();
}

const ofTrace =
  (traceId: string) =>
  (span: Span): boolean =>
    span.traceId === traceId;
const byKind = (spans: readonly Span[], kind: 'SERVER' | 'CLIENT'): Span | undefined =>
  spans.find((span) => span.kind === `SPAN_KIND_${kind}`);

async function callTool(
  { service }: Traced,
  name: string,
  args: unknown,
  meta: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<unknown> {
  const answer = await fetch(`${service.url}/mcp`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${service.apiKeys['all']}`,
      'Content-Type': 'application/json',
      Accept: 'application/json',
      'MCP-Protocol-Version': '2025-11-25',
      ...headers,
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name, arguments: args, _meta: meta },
    }),
  });
  return answer.json();
}

const PROTOCOLS = [
  { gateway: 'http/json', agent: 'http/protobuf', compression: 'none' },
  { gateway: 'http/protobuf', agent: 'http/json', compression: 'gzip' },
];

describe.each(PROTOCOLS)('by $gateway and $agent', ({ gateway, agent, compression }) => {
  let traced: Traced;
  beforeAll(async () => {
    traced = await startTraced(
      {
        OTEL_TRACES_SAMPLER: 'always_on',
        OTEL_SERVICE_NAME: 'ours',
        OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test%20bed,service.name=hidden',
        OTEL_EXPORTER_OTLP_COMPRESSION: compression,
        OTEL_EXPORTER_OTLP_PROTOCOL: agent,
      },
      { gateway: { OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: gateway, OTEL_SERVICE_NAME: 'our gateway' } },
    );
  });
  afterAll(() => stop(traced));

  test('caller, gateway and agent join for a call of REST', { tags: ['traces:joined'] }, async () => {
    const { service, collector } = traced;
    const answer = await service.call('answer', { n: 7 }, { headers: { traceparent: header(CALLER) } });
    expect(answer.json).toEqual({ rows: [{ n: 7 }], count: 1 });
    const spans = await collector.waitFor(ofTrace(CALLER.traceId), 2);
    expect(spans).toHaveLength(2);
    const [server, client] = [byKind(spans, 'SERVER'), byKind(spans, 'CLIENT')];
    expect(server).toMatchObject({
      name: 'POST /api/v1/capabilities/{name}',
      parentSpanId: CALLER.spanId,
      status: 'STATUS_CODE_UNSET',
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/api/v1/capabilities/{name}',
        'http.response.status_code': 200,
        'url.path': '/api/v1/capabilities/answer',
        'url.scheme': 'http',
        'svc.request_id': answer.headers.get('x-request-id'),
      },
      resource: { 'service.name': 'our gateway', 'service.version': expect.stringMatching(/^0\.\d+\.\d+$/) },
    });
    expect(client).toMatchObject({
      name: 'answer',
      parentSpanId: server?.spanId,
      attributes: {
        'db.system.name': 'postgresql',
        'db.query.summary': 'answer',
        'db.response.returned_rows': 1,
        'svc.queue_ms': expect.any(Number),
      },
      resource: { 'service.name': 'ours' },
    });
    // Both clocks are the same one here; a millisecond is what its readings may differ by.
    expect(client?.startMs).toBeGreaterThanOrEqual((server?.startMs ?? 0) - 1);
    expect(client?.endMs).toBeLessThanOrEqual((server?.endMs ?? 0) + 1);
    const types = new Set(
      collector.deliveries.map(({ path, headers }) => `${path} ${headers['content-type']}`),
    );
    expect(types).toEqual(new Set(['/v1/traces application/json', '/v1/traces application/x-protobuf']));
  });

  test(
    'a call of MCP is part of what its message names, and has to do with what the header names',
    { tags: ['traces:joined'] },
    async () => {
      const { collector } = traced;
      await callTool(
        traced,
        'answer',
        { n: 1 },
        { traceparent: header(OTHER) },
        { traceparent: header(CALLER) },
      );
      const spans = await collector.waitFor(ofTrace(OTHER.traceId), 2);
      const [server, client] = [byKind(spans, 'SERVER'), byKind(spans, 'CLIENT')];
      expect(server).toMatchObject({
        name: 'tools/call answer',
        parentSpanId: OTHER.spanId,
        links: [CALLER],
        attributes: {
          'mcp.method.name': 'tools/call',
          'gen_ai.tool.name': 'answer',
          'mcp.protocol.version': '2025-11-25',
          'http.route': '/mcp',
        },
      });
      expect(client).toMatchObject({ name: 'answer', parentSpanId: server?.spanId });
    },
  );

  const nextPair = async (before: number): Promise<readonly Span[]> => {
    await expect.poll(() => traced.collector.spans.length).toBeGreaterThanOrEqual(before + 2);
    return traced.collector.spans.slice(before);
  };

  test(
    'a query that fails: SQLSTATE at the agent, 502 at the gateway',
    { tags: ['traces:failures'] },
    async () => {
      const before = traced.collector.spans.length;
      expect(await traced.service.call('divide', { by: 0 })).toMatchObject({ status: 502 });
      const spans = await nextPair(before);
      expect(byKind(spans, 'SERVER')).toMatchObject({
        status: 'STATUS_CODE_ERROR',
        attributes: { 'http.response.status_code': 502, 'error.type': 'AGENT_QUERY_FAILED' },
      });
      expect(byKind(spans, 'CLIENT')).toMatchObject({
        status: 'STATUS_CODE_ERROR',
        attributes: { 'db.response.status_code': '22012', 'error.type': 'AGENT_QUERY_FAILED' },
      });
    },
  );

  test('a tool that fails is an error although HTTP says 200', { tags: ['traces:failures'] }, async () => {
    const before = traced.collector.spans.length;
    await callTool(traced, 'divide', { by: 0 }, undefined);
    expect(byKind(await nextPair(before), 'SERVER')).toMatchObject({
      status: 'STATUS_CODE_ERROR',
      attributes: { 'error.type': 'tool_error', 'http.response.status_code': 200 },
    });
  });

  test('the logs of both name the trace', { tags: ['traces:log'] }, async () => {
    const before = traced.collector.spans.length;
    await traced.service.call('answer', { n: 3 });
    const spans = await nextPair(before);
    const traceId = spans[0]?.traceId ?? '';
    expect(traceId).toMatch(/^[0-9a-f]{32}$/);
    const names = (line: string): boolean => line.includes(`"trace_id":"${traceId}"`);
    expect(await traced.service.gateway.waitForLine(names)).toContain('"event":"request"');
    const log = join(traced.service.agentFolder(0), 'svc-agent.log');
    const records = async () => (await readFile(log, 'utf8')).split('\n').filter(names);
    await expect.poll(records).toEqual([expect.stringContaining('"event":"call"')]);
  });

  test(
    'names and attributes of the service come from the variables',
    { tags: ['traces:variables', 'setting:GATEWAY_TRACES', 'file:telemetry.traces'] },
    () => {
      const resources = traced.collector.spans.map(({ resource }) => resource);
      expect(resources).not.toEqual([]);
      for (const resource of resources) {
        expect(resource).toMatchObject({
          'service.name': expect.stringMatching(/^our/),
          'deployment.environment.name': 'test bed',
        });
      }
    },
  );

  test('who has no key makes no span', { tags: ['traces:sampling'] }, async () => {
    const stranger = { traceId: 'c'.repeat(32), spanId: 'd'.repeat(16) };
    const refused = await traced.service.call(
      'answer',
      { n: 1 },
      { key: null, headers: { traceparent: header(stranger) } },
    );
    expect(refused.status).toBe(401);
    const before = traced.collector.spans.length;
    await traced.service.call('answer', { n: 1 });
    await nextPair(before);
    expect(traced.collector.spans.filter(ofTrace(stranger.traceId))).toEqual([]);
  });
});

test(
  'a caller has at most 100 traces recorded a second, and one that is not is not',
  { tags: ['traces:sampling'] },
  async () => {
    const traced = await startTraced({ OTEL_TRACES_SAMPLER_ARG: '0' });
    try {
      const { service, collector } = traced;
      await service.call('answer', { n: 0 }, { headers: { traceparent: header(OTHER, '00') } });
      await service.call('answer', { n: 0 });
      const startedAt = performance.now();
      const calls = Array.from({ length: 400 }, (_, at) => {
        const traceId = at.toString(16).padStart(32, 'e');
        return service.call(
          'answer',
          { n: at },
          { headers: { traceparent: header({ ...CALLER, traceId }) } },
        );
      });
      expect(new Set((await Promise.all(calls)).map(({ status }) => status))).toEqual(new Set([200]));
      const seconds = (performance.now() - startedAt) / 1000;
      const ofKind = (kind: string): number => collector.spans.filter((span) => span.kind === kind).length;
      // Each has its span at the agent: the flag goes on as it was decided.
      await expect
        .poll(
          () =>
            ofKind('SPAN_KIND_SERVER') >= 100 && ofKind('SPAN_KIND_CLIENT') === ofKind('SPAN_KIND_SERVER'),
        )
        .toBe(true);
      await service.stop();
      expect(ofKind('SPAN_KIND_CLIENT')).toBe(ofKind('SPAN_KIND_SERVER'));
      expect(ofKind('SPAN_KIND_SERVER')).toBeLessThanOrEqual(100 + 100 * seconds);
      expect(collector.spans.filter(({ traceId }) => !traceId.startsWith('e'))).toEqual([]);
    } finally {
      await stop(traced);
    }
  },
);

test(
  'the console links traces that are recorded, and no others',
  { tags: ['setting:GATEWAY_TRACE_URL'] },
  async () => {
    const traced = await startTraced(
      { OTEL_TRACES_SAMPLER_ARG: '0' },
      { gateway: { ...CONSOLE_ENV, GATEWAY_TRACE_URL: 'https://traces.example.com/t/{trace_id}?from=svc' } },
    );
    try {
      for (const [context, flags] of [
        [CALLER, '01'],
        [OTHER, '00'],
      ] as const) {
        await traced.service.call('answer', { n: 1 }, { headers: { traceparent: header(context, flags) } });
      }
      const { calls } = await dataOf<Calls>(await consoleUrl(traced.service.gateway), 'calls');
      expect(calls.map((call) => [call.trace_id, call.trace_url])).toEqual([
        [OTHER.traceId, undefined],
        [CALLER.traceId, `https://traces.example.com/t/${CALLER.traceId}?from=svc`],
      ]);
    } finally {
      await stop(traced);
    }
  },
);

test(
  'headers come from a file, and win',
  { tags: ['traces:headers-file', 'setting:GATEWAY_TRACES_HEADERS_FILE', 'file:telemetry.headers_file'] },
  async () => {
    const folder = await temporaryFolder('headers');
    const file = join(folder.path, 'headers');
    await writeFile(file, 'Authorization: Bearer of the file\nx-tenant=a%20b\n');
    const collector = await startCollector();
    const env = {
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/intake`,
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20of%20the%20variable,x-other=1',
      OTEL_BSP_SCHEDULE_DELAY: '20',
    };
    const service = await startService({
      database,
      capabilities: `telemetry: { traces: otlp, headers_file: ${file} }\n${CAPABILITIES}`,
      gatewayEnv: { ...env, GATEWAY_TRACES: 'otlp', GATEWAY_TRACES_HEADERS_FILE: file },
      agentEnv: env,
    });
    try {
      await service.call('answer', { n: 1 }, { headers: { traceparent: header(CALLER) } });
      await collector.waitFor(ofTrace(CALLER.traceId), 2);
      expect(collector.deliveries.length).toBeGreaterThanOrEqual(2);
      for (const delivery of collector.deliveries) {
        expect(delivery).toMatchObject({
          path: '/intake',
          headers: { authorization: 'Bearer of the file', 'x-tenant': 'a b', 'x-other': '1' },
        });
      }
    } finally {
      await service.stop();
      await collector.close();
      await folder.remove();
    }
  },
);

test(
  'a collector that hangs or refuses harms no call, and what it does not take is counted',
  { tags: ['traces:collector'] },
  async () => {
    const traced = await startTraced(
      { OTEL_TRACES_SAMPLER: 'always_on', OTEL_BSP_MAX_QUEUE_SIZE: '10', OTEL_EXPORTER_OTLP_TIMEOUT: '300' },
      { gateway: { GATEWAY_METRICS_ADDR: '127.0.0.1:0' } },
    );
    const { service, collector } = traced;
    try {
      const listening = await service.gateway.waitForLine((line) => line.includes('"metrics_listening"'));
      const { port }: { port: number } = JSON.parse(listening);
      const dropped = async (): Promise<number> => {
        const page = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
        return Number(/^svc_gateway_traces_dropped_total (\d+)$/m.exec(page)?.[1]);
      };
      expect(await dropped()).toBe(0);
      for (const how of [503, 'hang'] as const) {
        collector.respond(how);
        const before = await dropped();
        const calls = Array.from({ length: 60 }, (_, n) => service.call('answer', { n }));
        expect(new Set((await Promise.all(calls)).map(({ status }) => status))).toEqual(new Set([200]));
        // Those that found no room, and a batch that was not taken.
        await expect.poll(dropped).toBeGreaterThanOrEqual(before + 50);
      }
      expect((await service.gateway.stop()).code).toBe(0);
    } finally {
      await stop(traced);
    }
  },
);

test(
  'each try of a call has a span of its own at its agent',
  { tags: ['traces:retries', 'traces:exemplars'] },
  async () => {
    const collector = await startCollector();
    const port = await freePort();
    const network = await startFaultProxy({ target: { host: '127.0.0.1', port } });
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '20' };
    const service = await startService({
      database,
      capabilities: `${TELEMETRY}${CAPABILITIES}`,
      gatewayEnv: {
        GATEWAY_ADDR: `127.0.0.1:${port}`,
        GATEWAY_TRACES: 'otlp',
        GATEWAY_AGENT_WAIT: '10s',
        GATEWAY_METRICS_ADDR: '127.0.0.1:0',
        ...env,
      },
      agentEnv: env,
      linkPort: network.port,
    });
    try {
      const calling = service.call('wait', {}, { headers: { traceparent: header(CALLER) } });
      await untilRuns('pg_sleep(3)');
      const back = nextRecord(service.gateway, 'agent_connected');
      network.cut();
      await back;
      expect(await calling).toMatchObject({ status: 200 });
      const spans = await collector.waitFor(ofTrace(CALLER.traceId), 3);
      const server = byKind(spans, 'SERVER');
      const tries = spans.filter(({ parentSpanId }) => parentSpanId === server?.spanId);
      expect(tries).toHaveLength(2);
      const outcomes = tries.map(({ attributes }) => attributes['error.type']);
      expect(new Set(outcomes)).toEqual(new Set(['AGENT_CANCELLED', undefined]));
      const listening = await service.gateway.waitForLine((line) => line.includes('"metrics_listening"'));
      const metrics: { port: number } = JSON.parse(listening);
      const page = await fetch(`http://127.0.0.1:${metrics.port}/metrics`, {
        headers: { accept: 'application/openmetrics-text' },
      });
      expect(await page.text()).toMatch(
        new RegExp(
          `^svc_gateway_request_duration_seconds_bucket\\{.*capability="wait".*\\} 1 # \\{trace_id="${CALLER.traceId}"\\}`,
          'm',
        ),
      );
    } finally {
      await service.stop();
      await network.close();
      await collector.close();
    }
  },
);

/** Whether the database runs it now. */
async function untilRuns(sql: string): Promise<void> {
  const running = async (): Promise<number> => {
    const rows = await database.query(
      `select 1 from pg_stat_activity where state = 'active' and pid <> pg_backend_pid()
        and datname = current_database() and position('${sql}' in query) > 0`,
    );
    return rows.length;
  };
  await expect.poll(running, { interval: 20 }).toBe(1);
}

test('workers of gateway and agent, and their hops', { tags: ['traces:workers'] }, async () => {
  const traced = await startTraced(
    { OTEL_TRACES_SAMPLER: 'always_on' },
    {
      gateway: { GATEWAY_WORKERS: '2', GATEWAY_LINKS_PER_REPLICA: '1' },
      runtime: 'runtime: { workers: 2 }\n',
    },
  );
  try {
    const { service, collector } = traced;
    const calls = Array.from({ length: 20 }, (_, n) => service.call('answer', { n }));
    expect((await Promise.all(calls)).every(({ status }) => status === 200)).toBe(true);
    await collector.waitFor(({ kind }) => kind === 'SPAN_KIND_CLIENT', 20);
    await collector.waitFor(({ kind }) => kind === 'SPAN_KIND_SERVER', 20);
    const servers = new Map(
      collector.spans.filter(({ kind }) => kind === 'SPAN_KIND_SERVER').map((span) => [span.spanId, span]),
    );
    expect(servers.size).toBe(20);
    const clients = collector.spans.filter(({ kind }) => kind === 'SPAN_KIND_CLIENT');
    expect(
      clients.map(({ parentSpanId, traceId }) => servers.get(parentSpanId)?.traceId === traceId),
    ).toEqual(clients.map(() => true));
  } finally {
    await stop(traced);
  }
});

test(
  'without GATEWAY_TRACES and telemetry, the variables change nothing',
  { tags: ['traces:variables', 'traces:log'] },
  async () => {
    const collector = await startCollector();
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_TRACES_SAMPLER: 'always_on' };
    const service = await startService({
      database,
      capabilities: CAPABILITIES,
      gatewayEnv: { ...env, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
      agentEnv: env,
    });
    try {
      const traceparent = header(CALLER);
      await service.call('answer', { n: 1 }, { headers: { traceparent } });
      const request = await service.gateway.waitForLine((line) => line.includes('"event":"request"'));
      expect(request).not.toContain('trace_');
      await service.stop();
      expect(collector.deliveries).toEqual([]);
    } finally {
      await service.stop();
      await collector.close();
    }
  },
);
