import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createKey } from '@svc/testkit';
import { BOOK, startBooks, type Books } from './books.testing.ts';
import { codeOf, gatewayEnvironment, startLoneGateway } from './lone-gateway.testing.ts';
import { createMcpCaller, modernRequest, type McpAnswer, type McpCaller } from './mcp-caller.testing.ts';
import { gatewayVersion } from './mcp-gateway-version.testing.ts';
import { LEGACY, REVISIONS } from './mcp-schemas.testing.ts';

const GET_BOOK = { name: 'get_book', arguments: { id: 1 } };
const BOOK_RESULT = {
  content: [{ type: 'text', text: BOOK }],
  structuredContent: { rows: [{ title: 'Book 1', id: 1 }], count: 1 },
};
const REFUSED = { code: -32600, message: expect.any(String) };

let books: Books;
let mcp: McpCaller;
let version: string;
beforeAll(async () => {
  [books, version] = await Promise.all([startBooks(), gatewayVersion()]);
  mcp = createMcpCaller(books.service.port, books.keys.get('all') ?? '');
  await mcp.learnTools();
});
afterAll(() => books.service.stop());

const initialize = (protocolVersion: unknown): object => ({
  protocolVersion,
  capabilities: { roots: { listChanged: true }, sampling: {} },
  clientInfo: { name: 'test', version: '1' },
});

describe('initialize', { tags: ['mcp:9'] }, () => {
  const answered = (protocolVersion: string): object => ({
    jsonrpc: '2.0',
    id: 1,
    result: {
      protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: 'svc-gateway', title: 'Test', version },
    },
  });

  test.each(LEGACY)('echoes %s', async (revision) => {
    const { status, json } = await mcp.legacy('initialize', initialize(revision));
    expect([status, json]).toEqual([200, answered(revision)]);
  });

  test.each(['2024-10-07', '1.0', '', '2026-07-28', '2027-01-01', 's3cret'])(
    'answers the unknown %j with 2025-11-25',
    async (asked) => {
      const { status, json } = await mcp.legacy('initialize', initialize(asked));
      expect([status, json]).toEqual([200, answered('2025-11-25')]);
    },
  );

  test('negotiates by its parameters, whatever the header says', async () => {
    for (const header of [...REVISIONS, 'x']) {
      if (header === '2026-07-28') continue;
      const headers = { 'MCP-Protocol-Version': header };
      const { status, json } = await mcp.legacy('initialize', initialize('2025-06-18'), { headers });
      expect([header, status, json]).toEqual([header, 200, answered('2025-06-18')]);
    }
  });

  test.each([undefined, {}, { protocolVersion: 1 }, { protocolVersion: null }])(
    'with the parameters %j gets an answer of the protocol',
    async (params) => {
      const { status, json } = await mcp.legacy('initialize', params);
      expect(status).toBe(200);
      expect(json).toMatchObject({ jsonrpc: '2.0', id: 1 });
    },
  );
});

describe.each([undefined, ...LEGACY])('with the header %s', { tags: ['mcp:9'] }, (revision) => {
  test('ping is answered with {}', async () => {
    for (const id of [7, 'seven']) {
      const answer = await mcp.legacy('ping', undefined, { id, ...versioned(revision) });
      expect([answer.status, answer.json]).toEqual([200, { jsonrpc: '2.0', id, result: {} }]);
      expect(answer.header('content-type')).toBe('application/json');
    }
  });

  test('tools/list and tools/call need no initialize', async () => {
    const list = await mcp.legacy('tools/list', undefined, versioned(revision));
    expect(list.status).toBe(200);
    expect(list.json).toEqual({ jsonrpc: '2.0', id: 1, result: { tools: expect.any(Array) } });
    const names = ['get_book', 'list_books', 'whole_list', 'large_row', 'slow', 'divide'];
    expect((await mcp.tools(versioned(revision))).map(({ name }) => name)).toEqual(names);
    const call = await mcp.legacy('tools/call', GET_BOOK, versioned(revision));
    expect([call.status, call.json]).toEqual([200, { jsonrpc: '2.0', id: 1, result: BOOK_RESULT }]);
  });

  test.each(['resources/list', 'prompts/get', 'logging/setLevel', 'no/such', '', 'toString', 'Ping'])(
    'the method %j is unknown',
    { tags: ['mcp:11'] },
    async (method) => {
      for (const params of [undefined, {}, { a: 1 }]) {
        const { status, json } = await mcp.legacy(method, params, versioned(revision));
        expect([status, json]).toEqual([
          200,
          { jsonrpc: '2.0', id: 1, error: { code: -32601, message: expect.any(String) } },
        ]);
      }
    },
  );

  test(
    'server/discover without _meta is unknown, so that new clients fall back',
    { tags: ['mcp:11'] },
    async () => {
      for (const params of [undefined, {}, { _meta: {} }, { _meta: { progressToken: 1 } }]) {
        const { status, json } = await mcp.legacy('server/discover', params, versioned(revision));
        expect([status, json]).toEqual([
          200,
          { jsonrpc: '2.0', id: 1, error: { code: -32601, message: expect.any(String) } },
        ]);
      }
    },
  );
});

test.each(['2024-11-04', '2025-06-19', 'x', '', '2026-07-29', 'DRAFT-2026-v1', '2025-06-18, 2025-11-25'])(
  'the version %j in the header is refused',
  { tags: ['mcp:10'] },
  async (asked) => {
    for (const method of ['ping', 'tools/list', 'tools/call', 'server/discover', 'no/such']) {
      const headers = { 'MCP-Protocol-Version': asked };
      const { status, json } = await mcp.legacy(method, GET_BOOK, { headers });
      expect([method, status, json]).toEqual([
        method,
        400,
        {
          jsonrpc: '2.0',
          id: 1,
          error: {
            code: -32022,
            message: expect.any(String),
            data: { supported: REVISIONS, requested: asked },
          },
        },
      ]);
    }
  },
);

test(
  'the header 2026-07-28 without _meta is told what is missing',
  { tags: ['mcp:10', 'mcp:12'] },
  async () => {
    for (const method of ['tools/list', 'ping', 'server/discover']) {
      const { status, json } = await mcp.legacy(method, {}, { revision: '2026-07-28' });
      expect([status, json]).toEqual([
        400,
        { jsonrpc: '2.0', id: 1, error: { code: -32602, message: expect.stringContaining('_meta') } },
      ]);
    }
  },
);

describe('a batch', { tags: ['mcp:10'] }, () => {
  const entry = (id: number, method = 'ping', params?: object): object => ({
    jsonrpc: '2.0',
    id,
    method,
    ...(params === undefined ? {} : { params }),
  });
  const pong = (id: number): object => ({ jsonrpc: '2.0', id, result: {} });

  test.each([undefined, '2024-11-05', '2025-03-26'] as const)(
    'is answered with an array in its order under the version %s',
    async (revision) => {
      const batch = [
        entry(3),
        { jsonrpc: '2.0', method: 'notifications/initialized' },
        entry(2, 'tools/call', GET_BOOK),
        entry(1, 'no/such'),
        { jsonrpc: '2.0', id: null, method: 'ping' },
        entry(4, 'initialize', initialize('2025-03-26')),
        5,
        entry(6, 'tools/call', { name: 'get_book', arguments: { id: 0 } }),
        [],
        entry(7),
      ];
      const answer = await mcp.post(batch, versioned(revision));
      expect([answer.status, answer.header('content-type')]).toEqual([200, 'application/json']);
      expect(answer.json).toEqual([
        pong(3),
        { jsonrpc: '2.0', id: 2, result: BOOK_RESULT },
        { jsonrpc: '2.0', id: 1, error: { code: -32601, message: expect.any(String) } },
        { jsonrpc: '2.0', error: REFUSED },
        { jsonrpc: '2.0', id: 4, error: REFUSED },
        { jsonrpc: '2.0', error: REFUSED },
        {
          jsonrpc: '2.0',
          id: 6,
          result: {
            content: [{ type: 'text', text: expect.stringContaining('id: must be >= 1') }],
            isError: true,
          },
        },
        { jsonrpc: '2.0', error: REFUSED },
        pong(7),
      ]);
    },
  );

  test('of one, and as an event', async () => {
    expect((await mcp.post([entry(1)])).body).toBe('[{"jsonrpc":"2.0","id":1,"result":{}}]');
    const sse = await mcp.post([entry(1), entry(2)], { headers: { Accept: 'text/event-stream' } });
    expect(sse.json).toEqual([pong(1), pong(2)]);
  });

  test('of notifications only is 202 and empty', async () => {
    const one = { jsonrpc: '2.0', method: 'notifications/initialized' };
    for (const batch of [[one], [one, one, one]]) {
      const answer = await mcp.post(batch);
      expect([answer.status, answer.body]).toEqual([202, '']);
    }
  });

  test('of 50 is answered, of 51 or none refused', async () => {
    const of = (count: number): object[] => Array.from({ length: count }, (_, id) => entry(id));
    const full = await mcp.post(of(50));
    expect(full.json).toEqual(of(50).map((_, id) => pong(id)));
    for (const count of [0, 51, 1000]) {
      const answer = await mcp.post(of(count));
      expect([answer.status, answer.json]).toEqual([400, { jsonrpc: '2.0', error: REFUSED }]);
    }
  });

  test.each(['2025-06-18', '2025-11-25'] as const)('is refused from %s on', async (revision) => {
    for (const batch of [[entry(1)], [entry(1), entry(2)], [], [{ jsonrpc: '2.0', method: 'ping' }]]) {
      const answer = await mcp.post(batch, { revision });
      expect([answer.status, answer.json]).toEqual([400, { jsonrpc: '2.0', error: REFUSED }]);
    }
  });

  test('is refused under 2026-07-28 and under an unknown version', async () => {
    for (const version of ['2026-07-28', 'x']) {
      const answer = await mcp.post([entry(1)], { headers: { 'MCP-Protocol-Version': version } });
      expect(answer.status).toBe(400);
      expect(answer.json).toMatchObject({ jsonrpc: '2.0', error: { message: expect.any(String) } });
    }
  });

  test('holds no request of 2026-07-28', async () => {
    const modern = modernRequest('tools/call', GET_BOOK, { id: 2 });
    const answer = await mcp.post([entry(1), modern]);
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual([pong(1), { jsonrpc: '2.0', id: 2, error: expect.any(Object) }]);
  });

  test('costs what its entries cost', async () => {
    const { api_key: key, record } = await createKey('all', '*');
    const env = { GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND: '0.001', GATEWAY_RATE_LIMIT_BURST: '10' };
    const gateway = await startLoneGateway(await gatewayEnvironment([record], env));
    const caller = createMcpCaller(gateway.port, key);
    const send = (count: number): Promise<McpAnswer> =>
      caller.post(Array.from({ length: count }, (_, id) => entry(id)));
    try {
      // 10 tokens: 6 go, then 4 are too few for 5, whose own request still costs one, and 3 are left.
      expect((await send(6)).json).toHaveLength(6);
      const refused = await send(5);
      expect([refused.status, codeOf(refused)]).toEqual([429, 'GATEWAY_RATE_LIMITED']);
      // The 2 tokens that are then missing come in 2000 s.
      expect(Number(refused.header('retry-after'))).toBeCloseTo(2000, -2);
      const tooLarge = await send(11);
      expect([tooLarge.status, tooLarge.json]).toEqual([
        400,
        { jsonrpc: '2.0', error: { code: -32_600, message: 'a batch holds 1 to 10 messages' } },
      ]);
      expect((await send(2)).json).toHaveLength(2);
      const none = await caller.post(entry(1));
      expect([none.status, codeOf(none)]).toEqual([429, 'GATEWAY_RATE_LIMITED']);
    } finally {
      await gateway.process.stop();
    }
  });
});

function versioned(revision: (typeof LEGACY)[number] | undefined): { revision?: (typeof LEGACY)[number] } {
  return revision === undefined ? {} : { revision };
}
