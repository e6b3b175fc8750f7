import { Agent, request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startService, testDatabase, type Service, type TestDatabase } from '@svc/testkit';
import { parseExposition } from './exposition.testing.ts';
import { askOnce, recordsOf } from './lone-gateway.testing.ts';
import { createMcpCaller, modernRequest, type McpCaller } from './mcp-caller.testing.ts';
import { gatewayVersion } from './mcp-gateway-version.testing.ts';
import { metricsPortOf } from './metrics-ports.testing.ts';
import { speak } from './raw-http.testing.ts';
import { LEGACY, NEWEST, REVISIONS } from './mcp-schemas.testing.ts';

const CAPABILITIES = `
capabilities:
  echo:
    sql: select :text::text as text
    params: { text: { type: string } }
    result: { text: { type: string } }
  sleep:
    sql: select pg_sleep(50)::text as slept
    policy: { timeout: 1m, allow_functions: [pg_sleep] }
    result: { slept: { type: string } }
`;
const SLEEPING = `select pid from pg_stat_activity where datname = current_database() and query like '%pg_sleep(50)%'
  and state <> 'idle' and pid <> pg_backend_pid()`;
const VERSION = 'io.modelcontextprotocol/protocolVersion';
const CLIENT = 'io.modelcontextprotocol/clientCapabilities';
const SERVER_INFO = 'io.modelcontextprotocol/serverInfo';
const ECHO = { name: 'echo', arguments: { text: 'a' } };

let database: TestDatabase;
let service: Service;
let mcp: McpCaller;
/** What is in every result. */
let common: object;
beforeAll(async () => {
  database = await testDatabase();
  const gatewayEnv = { GATEWAY_METRICS_ADDR: '127.0.0.1:0' };
  service = await startService({ database, capabilities: CAPABILITIES, gatewayEnv });
  mcp = createMcpCaller(service.port, service.apiKeys['all'] ?? '');
  await mcp.learnTools();
  const serverInfo = { name: 'svc-gateway', title: 'Test', version: await gatewayVersion() };
  common = { resultType: 'complete', _meta: { [SERVER_INFO]: serverInfo } };
});
afterAll(() => service.stop());

const refusal = (code: number, data?: object, id: unknown = 1): unknown => ({
  jsonrpc: '2.0',
  id,
  error: { code, message: expect.any(String), ...(data === undefined ? {} : { data }) },
});

test('server/discover says all that is served', { tags: ['mcp:13'] }, async () => {
  const answer = await mcp.modern('server/discover');
  expect([answer.status, answer.header('content-type')]).toEqual([200, 'application/json']);
  expect(answer.json).toEqual({
    jsonrpc: '2.0',
    id: 1,
    result: {
      ...common,
      supportedVersions: ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'],
      capabilities: { tools: {} },
      ttlMs: 60_000,
      cacheScope: 'private',
    },
  });
});

test('tools/list and tools/call answer in the form of the revision', { tags: ['mcp:13'] }, async () => {
  const list = await mcp.modern('tools/list', {}, { id: 'list' });
  const tools = await mcp.tools();
  expect(tools.map(({ name }) => name)).toEqual(['echo', 'sleep']);
  expect([list.status, list.json]).toEqual([
    200,
    { jsonrpc: '2.0', id: 'list', result: { ...common, tools, ttlMs: 60_000, cacheScope: 'private' } },
  ]);
  const call = await mcp.modern('tools/call', ECHO, { id: 'call' });
  expect([call.status, call.json]).toEqual([
    200,
    {
      jsonrpc: '2.0',
      id: 'call',
      result: {
        ...common,
        content: [{ type: 'text', text: '{"rows":[{"text":"a"}],"count":1}' }],
        structuredContent: { rows: [{ text: 'a' }], count: 1 },
      },
    },
  ]);
  const refused = await mcp.modern('tools/call', { name: 'echo', arguments: { text: 1 } });
  expect([refused.status, refused.json]).toEqual([
    200,
    {
      jsonrpc: '2.0',
      id: 1,
      result: {
        ...common,
        content: [{ type: 'text', text: expect.stringContaining('text: must be a string') }],
        isError: true,
      },
    },
  ]);
});

test.each([
  'initialize',
  'ping',
  'notifications/initialized',
  'logging/setLevel',
  'resources/list',
  'resources/subscribe',
  'subscriptions/listen',
  'prompts/list',
  'completion/complete',
  'tasks/get',
  'no/such',
  '',
  'constructor',
])('the method %j is 404', { tags: ['mcp:13'] }, async (method) => {
  for (const id of [1, 'one']) {
    const answer = await mcp.modern(method, {}, { id });
    expect([answer.status, answer.json]).toEqual([404, refusal(-32601, undefined, id)]);
    expect(answer.header('content-type')).toBe('application/json');
  }
});

test('errors before parsing have no id', { tags: ['mcp:13'] }, async () => {
  const headers = { 'MCP-Protocol-Version': NEWEST, 'Mcp-Method': 'tools/list' };
  const { status, json } = await mcp.post('{"jsonrpc":"2.0","id":1,', { headers });
  expect([status, json]).toEqual([
    400,
    { jsonrpc: '2.0', error: { code: -32700, message: expect.any(String) } },
  ]);
});

describe('_meta', { tags: ['mcp:12'] }, () => {
  test.each([
    ['no clientCapabilities', { [CLIENT]: undefined }],
    ['clientCapabilities null', { [CLIENT]: null }],
    ['clientCapabilities in a list', { [CLIENT]: [] }],
    ['clientCapabilities in a text', { [CLIENT]: 's3cret' }],
    ['no protocolVersion', { [VERSION]: undefined }],
    ['a number as protocolVersion', { [VERSION]: 20260728 }],
    ['null as protocolVersion', { [VERSION]: null }],
    ['a list as protocolVersion', { [VERSION]: [NEWEST] }],
  ])('with %s is refused', async (_title, meta) => {
    for (const [method, params] of [
      ['server/discover', {}],
      ['tools/list', {}],
      ['tools/call', ECHO],
    ] as const) {
      const { status, json, body } = await mcp.modern(method, params, { meta, id: 'x' });
      expect([status, json]).toEqual([400, refusal(-32602, undefined, 'x')]);
      expect(body).not.toContain('s3cret');
    }
  });

  test('may hold more than the protocol knows', async () => {
    const meta = { [CLIENT]: { roots: {}, x: [1] }, progressToken: 1, 'example.com/x': { a: 1 } };
    expect(await mcp.modern('tools/call', ECHO, { meta })).toMatchObject({ status: 200 });
  });

  test.each(['2026-07-27', '2099-01-01', 'x', ''])('of the version %j is not served', async (requested) => {
    const headers = { 'MCP-Protocol-Version': requested };
    const { status, json } = await mcp.modern('tools/list', {}, { meta: { [VERSION]: requested }, headers });
    expect([status, json]).toEqual([400, refusal(-32022, { supported: REVISIONS, requested })]);
  });

  test.each(LEGACY)('of the version %s is answered by its rules', async (revision) => {
    const meta = { [VERSION]: revision };
    for (const header of [revision, undefined]) {
      const headers = { 'MCP-Protocol-Version': header };
      const { status, json } = await mcp.modern('ping', {}, { meta, headers });
      expect([status, json]).toEqual([200, { jsonrpc: '2.0', id: 1, result: {} }]);
    }
  });
});

describe('a header', { tags: ['mcp:12'] }, () => {
  const CASES = [
    ['server/discover', {}],
    ['tools/list', {}],
    ['tools/call', ECHO],
  ] as const;

  test.each([
    ['no MCP-Protocol-Version', { 'MCP-Protocol-Version': undefined }],
    ['another MCP-Protocol-Version', { 'MCP-Protocol-Version': '2025-11-25' }],
    ['an unknown MCP-Protocol-Version', { 'MCP-Protocol-Version': 'x' }],
    ['no Mcp-Method', { 'Mcp-Method': undefined }],
    ['an empty Mcp-Method', { 'Mcp-Method': '' }],
    ['another Mcp-Method', { 'Mcp-Method': 'tools/lists' }],
    ['Mcp-Method in capitals', { 'Mcp-Method': 'TOOLS/LIST' }],
  ])('missing or different from the body is refused: %s', async (_title, headers) => {
    for (const [method, params] of CASES) {
      const { status, json } = await mcp.modern(method, params, { headers, id: 'x' });
      expect([status, json]).toEqual([400, refusal(-32020, undefined, 'x')]);
    }
  });

  test.each([
    undefined,
    '',
    'sleep',
    'Echo',
    '=?base64?c2xlZXA=?=',
    '=?base64?ZWNobw==',
    '=?base64?!?=',
    '=?base64?ZWNob?=',
    '=?base64??=',
    '=?base64?ZWNo bw==?=',
    '=?BASE64?ZWNobw==?=x',
    'echo, echo',
  ])('Mcp-Name %j does not name echo', async (name) => {
    const { status, json } = await mcp.modern('tools/call', ECHO, { headers: { 'Mcp-Name': name } });
    expect([status, json]).toEqual([400, refusal(-32020)]);
  });

  test.each(['echo', '  echo\t', '=?base64?ZWNobw==?=', ' =?base64?ZWNobw==?= '])(
    'Mcp-Name %j names echo',
    async (name) => {
      const { status } = await mcp.modern('tools/call', ECHO, { headers: { 'Mcp-Name': name } });
      expect(status).toBe(200);
    },
  );

  test.each(['MCP-Protocol-Version', 'Mcp-Method', 'Mcp-Name'])(
    '%s is not taken twice, not even with one value',
    async (repeated) => {
      const body = JSON.stringify(modernRequest('tools/call', ECHO));
      const headers = [`MCP-Protocol-Version: ${NEWEST}`, 'Mcp-Method: tools/call', 'Mcp-Name: echo'];
      const lines = [
        'POST /mcp HTTP/1.1',
        'Host: localhost',
        `X-API-Key: ${service.apiKeys['all'] ?? ''}`,
        'Content-Type: application/json',
        `Content-Length: ${body.length}`,
        ...headers,
      ];
      expect((await speak(service.port, lines, body)).status).toBe(200);
      const twice = headers.filter((line) => line.startsWith(repeated));
      const answer = await speak(service.port, [...lines, ...twice], body);
      expect([answer.status, JSON.parse(answer.body)]).toEqual([400, refusal(-32020)]);
    },
  );

  test('is trimmed, and Mcp-Name asked for on tools/call only', async () => {
    const padded = { 'MCP-Protocol-Version': ` ${NEWEST} `, 'Mcp-Method': '\ttools/list ' };
    expect((await mcp.modern('tools/list', {}, { headers: padded })).status).toBe(200);
    expect((await mcp.modern('tools/list', {}, { headers: { 'Mcp-Name': 'other' } })).status).toBe(200);
  });

  test('may carry a name of any characters, encoded', async () => {
    const name = 'écho 🐈';
    const encoded = `=?base64?${Buffer.from(name).toString('base64')}?=`;
    const { status, json } = await mcp.modern('tools/call', { name }, { headers: { 'Mcp-Name': encoded } });
    expect([status, json]).toEqual([200, refusal(-32602)]);
  });

  test('is not asked for before the version, and the method is known last', async () => {
    const unserved = {
      meta: { [VERSION]: 'x', [CLIENT]: undefined },
      headers: { 'MCP-Protocol-Version': 'x' },
    };
    const nothing = { ...unserved, headers: { ...unserved.headers, 'Mcp-Method': undefined } };
    expect((await mcp.modern('no/such', {}, nothing)).json).toEqual(
      refusal(-32022, { supported: REVISIONS, requested: 'x' }),
    );
    const differs = { ...unserved, headers: { 'MCP-Protocol-Version': NEWEST } };
    expect((await mcp.modern('no/such', {}, differs)).json).toEqual(refusal(-32020));
    const noMethod = { headers: { 'Mcp-Method': undefined } };
    expect((await mcp.modern('no/such', {}, noMethod)).json).toEqual(refusal(-32020));
    expect((await mcp.modern('no/such', {}, { ...noMethod, meta: { [CLIENT]: 1 } })).json).toEqual(
      refusal(-32602),
    );
  });
});

test(
  'what is served is counted, each call of a batch by itself',
  { tags: ['metrics:requests'] },
  async () => {
    const port = await metricsPortOf(service.gateway);
    const counted = async (labels: string): Promise<number> => {
      const { body } = await askOnce(port, 'GET', '/metrics');
      const samples = parseExposition(body).get('svc_gateway_requests_total')?.samples;
      return samples?.get(`svc_gateway_requests_total{${labels}}`) ?? 0;
    };
    const ofCalls = 'route="/mcp",capability="echo",status="200"';
    const before = await counted(ofCalls);
    await mcp.modern('tools/call', ECHO);
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: ECHO };
    await mcp.post([call, call, { jsonrpc: '2.0', id: 2, method: 'ping' }]);
    expect((await counted(ofCalls)) - before).toBe(3);
    await mcp.modern('ping');
    expect(await counted('route="/mcp",capability="",status="404"')).toBeGreaterThan(0);
  },
);

describe('who leaves ends the query in the database', { tags: ['mcp:14', 'agent:cancel'] }, () => {
  const sleep = { name: 'sleep', arguments: {} };
  const legacy = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: sleep };
  const headers2026 = {
    'MCP-Protocol-Version': NEWEST,
    'Mcp-Method': 'tools/call',
    'Mcp-Name': 'sleep',
  };

  test.each<[string, unknown, object]>([
    ['2026-07-28', modernRequest('tools/call', sleep), headers2026],
    [
      '2026-07-28, as an event',
      modernRequest('tools/call', sleep),
      { ...headers2026, Accept: 'text/event-stream' },
    ],
    ['2025-11-25', legacy, { 'MCP-Protocol-Version': '2025-11-25' }],
    ['a batch', [legacy, { ...legacy, id: 2 }], {}],
  ])('%s', async (_title, body, headers) => {
    const agent = new Agent();
    const requestId = `leaves-${performance.now()}`;
    const left = request(`${service.url}/mcp`, {
      method: 'POST',
      agent,
      headers: {
        authorization: `Bearer ${service.apiKeys['all'] ?? ''}`,
        'content-type': 'application/json',
        'x-request-id': requestId,
        ...headers,
      },
    });
    left.on('error', () => {});
    left.end(JSON.stringify(body));
    const queries = Array.isArray(body) ? body.length : 1;
    await expect.poll(() => database.query(SLEEPING), { interval: 5 }).toHaveLength(queries);
    const started = performance.now();
    left.destroy();
    await expect.poll(() => database.query(SLEEPING), { interval: 5 }).toEqual([]);
    expect(performance.now() - started).toBeLessThan(5000);
    agent.destroy();
    const records = (): readonly unknown[] =>
      recordsOf(service.gateway).filter((record) => record['request_id'] === requestId);
    await expect.poll(records).toHaveLength(queries);
    for (const record of records())
      expect(record).toMatchObject({ http_status: 499, capability: 'sleep', mcp_method: 'tools/call' });
    // The connection that served it serves others.
    expect((await mcp.modern('tools/call', ECHO)).status).toBe(200);
  });
});
