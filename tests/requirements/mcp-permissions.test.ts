import { testDatabase } from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createMcpCaller, type McpAnswer, type McpCaller, type McpOptions } from './mcp-caller.testing.ts';
import { parseOpenApi, pathOf } from './openapi-document.testing.ts';
import { startPair, type Pair } from './pair.testing.ts';

const KEYS = {
  all: ['*'],
  one: ['first'],
  two: ['first', 'second'],
  empty: [],
  withHidden: ['hidden'],
  withGhost: ['ghost', 'second'],
} as const;
const CAPABILITIES = {
  first: { exists: true, exposed: true },
  second: { exists: true, exposed: true },
  hidden: { exists: true, exposed: false },
  ghost: { exists: false, exposed: false },
} as const;
type Key = keyof typeof KEYS;
type Name = keyof typeof CAPABILITIES;

/** What docs/reference promises of one cell: permission before existence, and only what is exposed is seen. */
function expected(
  key: Key,
  name: Name,
): { readonly rest: string; readonly call: string; readonly seen: boolean } {
  const listed: readonly string[] = KEYS[key];
  const permitted = listed.includes('*') || listed.includes(name);
  const { exists, exposed } = CAPABILITIES[name];
  return {
    rest: !permitted
      ? '403 GATEWAY_CAPABILITY_NOT_PERMITTED'
      : exists
        ? '200'
        : '404 GATEWAY_CAPABILITY_NOT_FOUND',
    call: permitted && exists ? 'called' : 'unknown',
    seen: permitted && exposed,
  };
}

let pair: Pair;
let mcp: McpCaller;
beforeAll(async () => {
  const database = await testDatabase();
  const { host, port, name, user, password } = database;
  const keys = Object.fromEntries(Object.entries(KEYS).map(([key, names]) => [key, names.join(',')]));
  pair = await startPair({ keys });
  const capability = (more: object = {}): object => ({
    sql: 'select 1 as one where :id = 1',
    params: { id: { type: 'integer', required: true, maximum: 5 } },
    result: { one: { type: 'integer' } },
    ...more,
  });
  await pair.startAgent('agent', {
    database: { host, port, name, user, password },
    capabilities: {
      first: capability(),
      second: capability(),
      hidden: capability({ expose_in_openapi: false }),
    },
  });
  mcp = createMcpCaller(pair.port, pair.apiKeys['all'] ?? '');
});
afterAll(() => pair.stop());

const asKey = (key: Key): McpOptions => ({ key: pair.apiKeys[key] ?? '' });
const ROWS = { rows: [{ one: 1 }], count: 1 };

/** `called`, `unknown`, or what it says instead. Checks each in all its parts. */
function outcome(answer: McpAnswer, name: string): string {
  expect(answer.status).toBe(200);
  if ('result' in Object(answer.json)) {
    expect(answer.json).toMatchObject({ id: 1, result: { structuredContent: ROWS } });
    return 'called';
  }
  expect(answer.json).toEqual({
    jsonrpc: '2.0',
    id: 1,
    error: { code: -32602, message: `unknown tool: ${name}` },
  });
  return 'unknown';
}

const cells = Object.keys(KEYS).flatMap((key) => Object.keys(CAPABILITIES).map((name) => [key, name]));
const isKey = (text: string): text is Key => text in KEYS;
const isName = (text: string): text is Name => text in CAPABILITIES;

describe('a key and a capability get the same on every way', { tags: ['mcp:17', 'mcp:21'] }, () => {
  test.each(cells)('the key %s and the capability %s', async (key = '', name = '') => {
    if (!isKey(key) || !isName(name)) throw new Error('no such cell');
    const { rest, call, seen } = expected(key, name);

    const answer = await pair.call(name, { id: 1 }, key);
    const { error }: { readonly error?: { readonly code: string } } = JSON.parse(answer.text);
    expect([answer.status, error?.code].join(' ').trim()).toBe(rest);
    if (answer.status === 200) expect(answer.json).toEqual(ROWS);

    const params = { name, arguments: { id: 1 } };
    expect(outcome(await mcp.legacy('tools/call', params, asKey(key)), name)).toBe(call);
    expect(outcome(await mcp.modern('tools/call', params, asKey(key)), name)).toBe(call);

    for (const list of [
      await mcp.legacy('tools/list', {}, asKey(key)),
      await mcp.modern('tools/list', {}, asKey(key)),
    ]) {
      const { result }: { readonly result: { readonly tools: readonly { readonly name: string }[] } } =
        JSON.parse(list.body);
      expect(result.tools.some((tool) => tool.name === name)).toBe(seen);
    }
    const document = parseOpenApi((await pair.ask('/openapi.json', { key })).text);
    expect(pathOf(name) in document.paths).toBe(seen);
  });

  test('and nothing else is seen', async () => {
    for (const key of Object.keys(KEYS)) {
      if (!isKey(key)) throw new Error('no such key');
      const names = Object.keys(CAPABILITIES).filter((name) => isName(name) && expected(key, name).seen);
      expect((await mcp.tools(asKey(key))).map((tool) => tool.name)).toEqual(names);
      const document = parseOpenApi((await pair.ask('/openapi.json', { key })).text);
      expect(Object.keys(document.paths)).toEqual(names.map(pathOf));
    }
  });
});

describe('a tool that is not there', { tags: ['mcp:17'] }, () => {
  test('and one that is forbidden answer with the same bytes but for the name', async () => {
    const bodyOf = async (key: Key, name: string, params: unknown = {}): Promise<string> => {
      const legacy = await mcp.legacy('tools/call', { name, arguments: params }, asKey(key));
      const modern = await mcp.modern('tools/call', { name, arguments: params }, asKey(key));
      expect(modern.body).toBe(legacy.body);
      expect([legacy.status, modern.status]).toEqual([200, 200]);
      return legacy.body.replace(name, 'NAME');
    };
    const message = '{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"unknown tool: NAME"}}';
    expect(await bodyOf('one', 'second')).toBe(message);
    expect(await bodyOf('one', 'hidden')).toBe(message);
    expect(await bodyOf('one', 'ghost')).toBe(message);
    expect(await bodyOf('all', 'ghost')).toBe(message);
    expect(await bodyOf('withGhost', 'ghost')).toBe(message);
    expect(await bodyOf('empty', 'first')).toBe(message);
    // Nothing tells that the parameters were looked at.
    expect(await bodyOf('one', 'second', { id: 99, no: 1 })).toBe(message);
  });

  test.each([
    '',
    'First',
    'first ',
    '$describe',
    '%24describe',
    's3cret value',
    '../first',
    'a\nb',
    `a${'b'.repeat(48)}`,
    '__proto__',
    '1',
  ])('is not named when the name is none: %j', async (name) => {
    const { status, json, body } = await mcp.legacy('tools/call', { name, arguments: {} });
    expect([status, json]).toEqual([
      200,
      { jsonrpc: '2.0', id: 1, error: { code: -32602, message: 'unknown tool' } },
    ]);
    expect(body).not.toContain('s3cret');
  });

  test.each(['constructor', 'toString'.toLowerCase(), 'first_', `a${'b'.repeat(47)}`])(
    'is named when the name could be one: %s',
    async (name) => {
      const { body } = await mcp.legacy('tools/call', { name });
      expect(body).toBe(`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"unknown tool: ${name}"}}`);
    },
  );

  test.each([undefined, null, 1, {}, ['first'], true])('is not asked for by the name %j', async (name) => {
    const { status, json } = await mcp.legacy('tools/call', { name, arguments: { id: 1 } });
    expect([status, json]).toEqual([
      200,
      { jsonrpc: '2.0', id: 1, error: { code: -32602, message: expect.any(String) } },
    ]);
  });
});

describe('limits and checks are those of REST', { tags: ['mcp:21'] }, () => {
  test.each([{ id: 6 }, { id: '1' }, {}, { id: 1, other: 2 }, { id: 1.5 }, { id: null }])(
    'the parameters %j are refused with the same words',
    async (params) => {
      const rest = await pair.call('first', params);
      const { error }: { readonly error: { readonly code: string; readonly message: string } } = JSON.parse(
        rest.text,
      );
      expect([rest.status, error.code]).toEqual([400, 'AGENT_INVALID_PARAMS']);
      for (const answer of [
        await mcp.legacy('tools/call', { name: 'first', arguments: params }),
        await mcp.modern('tools/call', { name: 'first', arguments: params }),
      ])
        expect(answer.json).toMatchObject({
          result: {
            isError: true,
            content: [{ type: 'text', text: expect.stringContaining(error.message) }],
          },
        });
    },
  );
});
