import fc from 'fast-check';
import { dial } from '@svc/testkit';
import { beforeAll, describe, expect, test } from 'vitest';
import { BOOK, sharedBooks, type Books } from './books.testing.ts';
import { recordsOf } from './lone-gateway.testing.ts';
import { createMcpCaller, modernRequest, type McpAnswer, type McpCaller } from './mcp-caller.testing.ts';
import { isRecord, LEGACY, NEWEST } from './mcp-schemas.testing.ts';
import { parseAnswer } from './raw-http.testing.ts';

const PING = { jsonrpc: '2.0', id: 1, method: 'ping' };
const PONG = '{"jsonrpc":"2.0","id":1,"result":{}}';
const GET_BOOK = { name: 'get_book', arguments: { id: 1 } };

let books: Books;
let port: number;
let mcp: McpCaller;
beforeAll(async () => {
  books = await sharedBooks();
  ({ port } = books.service);
  mcp = createMcpCaller(port, books.keys.get('all') ?? '');
  await mcp.learnTools();
});

describe('the answer comes', { tags: ['mcp:7'] }, () => {
  test.each([
    undefined,
    '',
    '*/*',
    'application/*',
    'application/json',
    'application/json, text/event-stream',
    'text/event-stream, application/json',
    'text/event-stream;q=1, application/json;q=0.5',
    'text/event-stream, */*;q=0.1',
    'text/html',
    'text/*',
    'text/event-stream;q=0',
    'TEXT/EVENT-STREAM, Application/JSON',
    'no/such;;q',
  ])('as JSON for Accept: %s', async (Accept) => {
    for (const answer of [
      await mcp.legacy('tools/call', GET_BOOK, { headers: { Accept } }),
      await mcp.modern('tools/call', GET_BOOK, { headers: { Accept } }),
    ]) {
      expect([answer.status, answer.header('content-type')]).toEqual([200, 'application/json']);
      expect(textsOf(answer)).toEqual([BOOK]);
    }
  });

  test.each([
    'text/event-stream',
    'Text/Event-Stream',
    'text/event-stream; charset=utf-8',
    'text/event-stream;q=0.1, text/html',
  ])('as one event for Accept: %s', async (Accept) => {
    const json = await mcp.legacy('tools/call', GET_BOOK);
    const sse = await mcp.legacy('tools/call', GET_BOOK, { headers: { Accept } });
    expect(sse.status).toBe(200);
    expect(sse.header('content-type')).toMatch(/^text\/event-stream/);
    expect(sse.header('x-accel-buffering')).toBe('no');
    expect(sse.body).toBe(`event: message\ndata: ${json.body}\n\n`);
    expect((await mcp.post(PING, { headers: { Accept } })).body).toBe(`event: message\ndata: ${PONG}\n\n`);
  });

  test('as one event for errors of the status 200, and as JSON for the others', async () => {
    const headers = { Accept: 'text/event-stream' };
    const unknown = await mcp.legacy('nothing', {}, { headers });
    expect([unknown.status, unknown.header('content-type')]).toEqual([
      200,
      expect.stringMatching(/^text\/event-stream/),
    ]);
    for (const answer of [
      await mcp.post('{', { headers }),
      await mcp.post({ ...PING, id: null }, { headers }),
      await mcp.modern('ping', {}, { headers }),
      await mcp.post(PING, { headers, key: null }),
    ])
      expect([answer.status < 400, answer.header('content-type')]).toEqual([false, 'application/json']);
  });
});

describe('a session', { tags: ['mcp:8'] }, () => {
  test('is begun by initialize alone, and what a client says about one is never refused', async () => {
    for (const id of [undefined, 'abc', '', '../..', '1'.repeat(200)]) {
      const headers = { 'Mcp-Session-Id': id, 'Last-Event-ID': id };
      const answers = [
        await mcp.post(PING, { headers }),
        await mcp.legacy('initialize', initialize('2025-06-18'), { headers }),
        await mcp.legacy('tools/call', GET_BOOK, { headers }),
        await mcp.modern('server/discover', {}, { headers }),
      ];
      expect([id, ...answers.map(({ status }) => status)]).toEqual([id, 200, 200, 200, 200]);
      const issued = answers.map((answer) => answer.header('mcp-session-id'));
      expect(issued).toEqual([undefined, expect.stringMatching(/^[\w-]{64}$/), undefined, undefined]);
      expect(issued[1]).not.toBe(id);
    }
  });

  test.each([undefined, ...LEGACY, NEWEST])('a notification is 202 and empty in %s', async (revision) => {
    for (const method of ['notifications/initialized', 'notifications/cancelled', 'no/such', 'tools/call'])
      for (const params of [undefined, null, {}, { requestId: 1, reason: 'gone' }, { name: 'get_book' }]) {
        const body = { jsonrpc: '2.0', method, ...(params === undefined ? {} : { params }) };
        for (const Accept of [undefined, 'text/event-stream']) {
          const headers = { 'MCP-Protocol-Version': revision, 'Mcp-Method': method, Accept };
          const answer = await mcp.post(body, { headers });
          expect([body, answer.status, answer.body]).toEqual([body, 202, '']);
        }
      }
  });

  test('a notification with the _meta of 2026-07-28 is 202 and empty', async () => {
    const { id: _id, ...notification } = modernRequest('notifications/cancelled', { requestId: 1 });
    const headers = { 'MCP-Protocol-Version': NEWEST, 'Mcp-Method': 'notifications/cancelled' };
    const answer = await mcp.post(notification, { headers });
    expect([answer.status, answer.body]).toEqual([202, '']);
  });
});

test(
  'requests that arrive together on one connection are answered in order',
  { tags: ['mcp:8'] },
  async () => {
    const connection = await dial(port);
    const request = (id: number, more = ''): string => {
      const params = id % 2 === 0 ? { method: 'ping' } : { method: 'tools/call', params: GET_BOOK };
      const body = JSON.stringify({ jsonrpc: '2.0', id, ...params });
      const head = `POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${books.keys.get('all') ?? ''}`;
      return `${head}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n${more}\r\n${body}`;
    };
    const ids = Array.from({ length: 20 }, (_, at) => at);
    connection.send(ids.map((id) => request(id, id === 19 ? 'Connection: close\r\n' : '')).join(''));
    const answers = (await connection.ended).split(/(?=HTTP\/1\.1 )/).map(parseAnswer);
    expect(answers.map(({ status, body }) => [status, idOf(body)])).toEqual(ids.map((id) => [200, id]));
  },
);

describe('the log', { tags: ['log:mcp_method'] }, () => {
  /** The records of what `work` asks for. */
  async function recordsDuring(count: number, work: (id: string) => Promise<unknown>): Promise<unknown[]> {
    const id = `log-${Math.random().toString(36).slice(2)}`;
    await work(id);
    const found = (): readonly Readonly<Record<string, unknown>>[] =>
      recordsOf(books.service.gateway).filter((record) => record['request_id'] === id);
    await expect.poll(found).toHaveLength(count);
    return found().map(({ event, route, mcp_method, capability, http_status, error_code, api_key_name }) => ({
      event,
      route,
      mcp_method,
      capability,
      http_status,
      error_code,
      api_key_name,
    }));
  }
  const base = {
    event: 'request',
    route: '/mcp',
    capability: '',
    http_status: 200,
    error_code: '',
    api_key_name: 'all',
  };
  const call = (name: string, params: unknown = {}): object => ({ name, arguments: params });

  test.each<[string, object, object]>([
    ['ping', {}, { mcp_method: 'ping' }],
    ['tools/list', {}, { mcp_method: 'tools/list' }],
    ['initialize', { protocolVersion: '2025-06-18' }, { mcp_method: 'initialize' }],
    ['prompts/list', {}, { mcp_method: 'prompts/list', error_code: 'GATEWAY_INVALID_REQUEST' }],
    ['s3cret', {}, { mcp_method: 'unknown', error_code: 'GATEWAY_INVALID_REQUEST' }],
    ['tools/call', GET_BOOK, { mcp_method: 'tools/call', capability: 'get_book' }],
    [
      'tools/call',
      call('get_book', { id: 's3cret' }),
      { mcp_method: 'tools/call', capability: 'get_book', error_code: 'AGENT_INVALID_PARAMS' },
    ],
    [
      'tools/call',
      call('divide', { by: 0 }),
      { mcp_method: 'tools/call', capability: 'divide', error_code: 'AGENT_QUERY_FAILED' },
    ],
    [
      'tools/call',
      call('no_such'),
      { mcp_method: 'tools/call', capability: 'no_such', error_code: 'GATEWAY_CAPABILITY_NOT_FOUND' },
    ],
    [
      'tools/call',
      call('S3cret\n{}'),
      { mcp_method: 'tools/call', capability: '', error_code: 'GATEWAY_CAPABILITY_NOT_FOUND' },
    ],
    ['tools/call', {}, { mcp_method: 'tools/call', error_code: 'GATEWAY_INVALID_REQUEST' }],
  ])('%s %j', async (method, params, expected) => {
    const records = await recordsDuring(1, (id) =>
      mcp.legacy(method, params, { headers: { 'X-Request-Id': id } }),
    );
    expect(records).toEqual([{ ...base, ...expected }]);
    expect(books.service.gateway.output('stdout')).not.toContain('s3cret');
  });

  test('of a call that is not permitted', async () => {
    const key = books.keys.get('some') ?? '';
    const records = await recordsDuring(1, (id) =>
      mcp.legacy('tools/call', call('divide'), { key, headers: { 'X-Request-Id': id } }),
    );
    const expected = { capability: 'divide', error_code: 'GATEWAY_CAPABILITY_NOT_PERMITTED' };
    expect(records).toEqual([{ ...base, ...expected, mcp_method: 'tools/call', api_key_name: 'some' }]);
  });

  test('of 2026-07-28, of what is no JSON and of a notification', async () => {
    const headersOf = (id: string): object => ({ headers: { 'X-Request-Id': id } });
    expect(await recordsDuring(1, (id) => mcp.modern('tools/call', GET_BOOK, headersOf(id)))).toEqual([
      { ...base, mcp_method: 'tools/call', capability: 'get_book' },
    ]);
    expect(await recordsDuring(1, (id) => mcp.modern('ping', {}, headersOf(id)))).toEqual([
      { ...base, mcp_method: 'ping', http_status: 404, error_code: 'GATEWAY_INVALID_REQUEST' },
    ]);
    expect(await recordsDuring(1, (id) => mcp.post('{', headersOf(id)))).toMatchObject([
      { http_status: 400, error_code: 'GATEWAY_INVALID_REQUEST' },
    ]);
    const notification = { jsonrpc: '2.0', method: 'notifications/initialized' };
    expect(await recordsDuring(1, (id) => mcp.post(notification, headersOf(id)))).toEqual([
      { ...base, http_status: 202, mcp_method: 'notifications/initialized' },
    ]);
  });

  test('of a batch: one record a request', async () => {
    const batch = [
      PING,
      { jsonrpc: '2.0', id: 2, method: 'tools/call', params: GET_BOOK },
      { jsonrpc: '2.0', id: 3, method: 's3cret' },
      { jsonrpc: '2.0', id: 4, method: 'tools/call', params: call('get_book', {}) },
    ];
    const records = await recordsDuring(4, (id) => mcp.post(batch, { headers: { 'X-Request-Id': id } }));
    expect(records).toHaveLength(4);
    expect(records).toEqual(
      expect.arrayContaining([
        { ...base, mcp_method: 'ping' },
        { ...base, mcp_method: 'tools/call', capability: 'get_book' },
        { ...base, mcp_method: 'unknown', error_code: 'GATEWAY_INVALID_REQUEST' },
        { ...base, mcp_method: 'tools/call', capability: 'get_book', error_code: 'AGENT_INVALID_PARAMS' },
      ]),
    );
  });
});

/** JSON-RPC requests of which each part may be anything. */
const anyRequest = fc.record(
  {
    jsonrpc: fc.oneof({ weight: 5, arbitrary: fc.constant('2.0') }, fc.jsonValue()),
    id: fc.oneof(fc.integer(), fc.string(), fc.jsonValue()),
    method: fc.oneof(
      fc.constantFrom('initialize', 'ping', 'tools/list', 'tools/call', 'server/discover', '__proto__'),
      fc.jsonValue(),
    ),
    params: fc.oneof(
      fc.record(
        {
          name: fc.oneof(fc.constantFrom('get_book', 'divide', 'constructor', '$describe'), fc.jsonValue()),
          arguments: fc.oneof(fc.record({ id: fc.jsonValue(), by: fc.jsonValue() }), fc.jsonValue()),
          cursor: fc.jsonValue(),
          protocolVersion: fc.jsonValue(),
          _meta: fc.oneof(
            fc.dictionary(
              fc.constantFrom(
                'io.modelcontextprotocol/protocolVersion',
                'io.modelcontextprotocol/clientCapabilities',
                'progressToken',
              ),
              fc.oneof(fc.constantFrom('2026-07-28', '2025-06-18'), fc.jsonValue()),
            ),
            fc.jsonValue(),
          ),
        },
        { requiredKeys: [] },
      ),
      fc.jsonValue(),
    ),
  },
  { requiredKeys: [] },
);

test('any JSON is answered as the protocol says', { tags: ['mcp:6', 'mcp:10', 'mcp:11'] }, async () => {
  const headers = fc.record(
    {
      'MCP-Protocol-Version': fc.constantFrom(
        '2024-11-05',
        '2025-03-26',
        '2025-11-25',
        '2026-07-28',
        'x',
        '',
      ),
      'Mcp-Method': fc.constantFrom('tools/call', 'tools/list', 'x', ''),
      'Mcp-Name': fc.constantFrom('get_book', '=?base64?Z2V0X2Jvb2s=?=', '=?base64??=', ''),
      Accept: fc.constantFrom('text/event-stream', '*/*', ''),
    },
    { requiredKeys: [] },
  );
  const body = fc.oneof(fc.jsonValue(), anyRequest, fc.array(anyRequest, { maxLength: 5 }));
  await fc.assert(
    fc.asyncProperty(body, headers, async (value, headers) => {
      // The caller refuses what is not valid by the official schemas.
      const answer = await mcp.post(value, { headers });
      expect([200, 202, 400, 404]).toContain(answer.status);
      if (answer.status === 202) expect(answer.body).toBe('');
      else
        expect(isRecord(answer.json) ? answer.json['jsonrpc'] : answer.json).toEqual(
          isRecord(answer.json) ? '2.0' : expect.any(Array),
        );
    }),
    { numRuns: 1500 },
  );
  expect(await mcp.post(PING)).toMatchObject({ status: 200, body: PONG });
});

function initialize(protocolVersion: string): object {
  return { protocolVersion, capabilities: {}, clientInfo: { name: 'test', version: '1' } };
}

function idOf(body: string): unknown {
  const { id }: { readonly id: unknown } = JSON.parse(body);
  return id;
}

function textsOf({ json }: McpAnswer): readonly unknown[] {
  const result = isRecord(json) && isRecord(json['result']) ? json['result'] : {};
  return Array.isArray(result['content'])
    ? result['content'].map((item: unknown) => (isRecord(item) ? item['text'] : item))
    : [];
}
