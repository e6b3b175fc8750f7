import { testDatabase } from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { gatewayEnvironment, startLoneGateway } from './lone-gateway.testing.ts';
import { createMcpCaller, type McpCaller, type McpOptions, type ToolList } from './mcp-caller.testing.ts';
import { startPair, type CapabilitySections, type Pair } from './pair.testing.ts';
import { createKey } from '@svc/testkit';

/** In an order that is neither of letters nor of numbers. */
const NAMES = Array.from({ length: 450 }, (_, at) => `tool_${(at * 7) % 450}`);
const TWO_HUNDRED = NAMES.filter((_, at) => at % 2 === 0).slice(0, 200);

let pair: Pair;
let mcp: McpCaller;
let database: Readonly<Record<string, unknown>>;
beforeAll(async () => {
  const { host, port, name, user, password } = await testDatabase();
  database = { host, port, name, user, password };
  pair = await startPair({
    keys: { other: '*', few: 'tool_3,tool_2,tool_1', full: TWO_HUNDRED.join(','), none: '' },
  });
  mcp = createMcpCaller(pair.port, pair.apiKeys['all'] ?? '');
});
afterAll(() => pair.stop());

function file(names: readonly string[]): CapabilitySections {
  const capability = { sql: 'select 1 as one', result: { one: { type: 'integer' } } };
  return { database, capabilities: Object.fromEntries(names.map((name) => [name, capability])) };
}

const asKey = (name: string): McpOptions => ({ key: pair.apiKeys[name] ?? '' });

async function page(cursor?: string, options: McpOptions = {}): Promise<ToolList> {
  const { body } = await mcp.legacy('tools/list', cursor === undefined ? {} : { cursor }, options);
  const { result }: { readonly result: ToolList } = JSON.parse(body);
  return result;
}

async function cursorOf(options: McpOptions = {}): Promise<string> {
  const { nextCursor } = await page(undefined, options);
  if (nextCursor === undefined) throw new Error('no further page');
  return nextCursor;
}

/** A tool's words for it. */
const OFFLINE = 'The database is not reachable at present. Other arguments will not help; call again later.';
const BAD_CURSOR = {
  jsonrpc: '2.0',
  id: 1,
  error: { code: -32602, message: expect.stringContaining('cursor') },
};

// The tests of this file tell one story.
describe('before an agent has ever connected', { tags: ['mcp:15'] }, () => {
  test('there is no list, and a call says so', async () => {
    for (const list of [await mcp.legacy('tools/list'), await mcp.modern('tools/list')]) {
      expect([list.status, list.json]).toEqual([
        200,
        { jsonrpc: '2.0', id: 1, error: { code: -32603, message: 'agent is not connected' } },
      ]);
    }
    const call = await mcp.legacy('tools/call', { name: 'tool_1' });
    expect([call.status, call.json]).toEqual([
      200,
      {
        jsonrpc: '2.0',
        id: 1,
        result: {
          content: [{ type: 'text', text: OFFLINE }],
          isError: true,
        },
      },
    ]);
  });

  test('initialize, ping and server/discover serve', { tags: ['mcp:9', 'mcp:13'] }, async () => {
    expect((await mcp.legacy('ping')).json).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
    const initialized = await mcp.legacy('initialize', {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'test', version: '1' },
    });
    expect(initialized.json).toEqual({
      jsonrpc: '2.0',
      id: 1,
      result: {
        protocolVersion: '2025-06-18',
        capabilities: { tools: {} },
        serverInfo: { name: 'svc-gateway', version: expect.any(String) },
      },
    });
    expect((await mcp.modern('server/discover')).status).toBe(200);
  });
});

describe('450 tools', { tags: ['mcp:15'] }, () => {
  beforeAll(async () => {
    await pair.startAgent('first', file(NAMES));
  });

  test.each(['legacy', 'modern'] as const)(
    'come on three pages in the order of the file: %s',
    async (era) => {
      const pages: ToolList[] = [];
      let cursor: string | undefined;
      do {
        const { body } = await mcp[era]('tools/list', cursor === undefined ? {} : { cursor });
        const again = await mcp[era]('tools/list', cursor === undefined ? {} : { cursor });
        expect(again.body).toBe(body);
        const { result }: { readonly result: ToolList } = JSON.parse(body);
        pages.push(result);
        cursor = result.nextCursor;
      } while (cursor !== undefined);
      expect(pages.map(({ tools }) => tools.length)).toEqual([200, 200, 50]);
      expect(pages.map(({ nextCursor }) => typeof nextCursor)).toEqual(['string', 'string', 'undefined']);
      expect(pages.flatMap(({ tools }) => tools.map(({ name }) => name))).toEqual(NAMES);
    },
  );

  test('are those that the key may call', async () => {
    expect((await page(undefined, asKey('few'))).tools.map(({ name }) => name)).toEqual(
      NAMES.filter((name) => ['tool_1', 'tool_2', 'tool_3'].includes(name)),
    );
    expect(await page(undefined, asKey('none'))).toEqual({ tools: [] });
    // A full page is no reason for an empty one.
    const full = await page(undefined, asKey('full'));
    expect(full.tools.map(({ name }) => name)).toEqual(NAMES.filter((name) => TWO_HUNDRED.includes(name)));
    expect(full.nextCursor).toBeUndefined();
  });

  test('are the same bytes at once and one after the other', async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => mcp.legacy('tools/list')));
    expect(new Set(answers.map(({ body }) => body)).size).toBe(1);
  });

  test('have opaque cursors that hold for one key', async () => {
    const cursor = await cursorOf();
    expect(cursor).toMatch(/^[\x21-\x7e]{8,}$/);
    expect(cursor).not.toContain('tool_');
    expect(cursor).not.toContain(pair.apiKeys['all']);
    for (const key of ['other', 'few', 'none']) {
      for (const era of ['legacy', 'modern'] as const) {
        const { status, json } = await mcp[era]('tools/list', { cursor }, asKey(key));
        expect([key, status, json]).toEqual([key, 200, BAD_CURSOR]);
      }
    }
    expect(await cursorOf(asKey('other'))).not.toBe(cursor);
  });

  test('have cursors that nobody else makes', async () => {
    const cursor = await cursorOf();
    const swapped = cursor.replace(/^./, (first) => (first === 'A' ? 'B' : 'A'));
    const numbers = ['0', '1', '200', '-1'].map((text) => Buffer.from(text).toString('base64url'));
    const wrong = ['', 'x', '200', swapped, cursor.slice(1), cursor.slice(0, -1), `${cursor}A`, `${cursor}=`];
    for (const bad of [...wrong, ...numbers, ` ${cursor}`, 1, 200, {}, [cursor], true]) {
      for (const answer of [
        await mcp.legacy('tools/list', { cursor: bad }),
        await mcp.modern('tools/list', { cursor: bad }),
      ])
        expect([bad, answer.status, answer.json]).toEqual([bad, 200, BAD_CURSOR]);
    }
    expect((await page(cursor)).tools).toHaveLength(200);
    // Some clients write null for what they leave out.
    const first = await mcp.legacy('tools/list', { cursor: null });
    expect(first.body).toBe((await mcp.legacy('tools/list')).body);
  });

  test('stay listed while the agent is away, and their cursors hold when it comes back', async () => {
    const before = await page();
    const cursor = await cursorOf();
    await pair.stopAgents();
    await expect
      .poll(async () => (await pair.ask('/healthz')).json)
      .toMatchObject({ agent_connected: false });
    expect(await page()).toEqual(before);
    await pair.startAgent('again', file(NAMES));
    expect((await page(cursor)).tools.map(({ name }) => name)).toEqual(NAMES.slice(200, 400));
  });

  test('that change make old cursors useless', async () => {
    const cursor = await cursorOf();
    await pair.startAgent('changed', file(['tool_new']));
    const { status, json } = await mcp.legacy('tools/list', { cursor });
    expect([status, json]).toEqual([200, BAD_CURSOR]);
    // Which file's tools come first depends on its content alone.
    const names = (await mcp.tools()).map(({ name }) => name);
    expect([
      ['tool_new', ...NAMES],
      [...NAMES, 'tool_new'],
    ]).toContainEqual(names);
  });
});

test('without an agent a key that may call nothing learns nothing', { tags: ['mcp:17'] }, async () => {
  const { api_key: key, record } = await createKey('none', 'other');
  const gateway = await startLoneGateway(await gatewayEnvironment([{ ...record, capabilities: [] }]));
  try {
    const { body } = await createMcpCaller(gateway.port, key).legacy('tools/call', { name: 'tool_1' });
    expect(body).toBe('{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"unknown tool: tool_1"}}');
  } finally {
    await gateway.process.stop();
  }
});
