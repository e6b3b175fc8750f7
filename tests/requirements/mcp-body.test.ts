import { beforeAll, describe, expect, test } from 'vitest';
import { sharedBooks, type Books } from './books.testing.ts';
import { codeOf } from './lone-gateway.testing.ts';
import { createMcpCaller, modernRequest, type McpCaller } from './mcp-caller.testing.ts';
import { speak } from './raw-http.testing.ts';

const PING = { jsonrpc: '2.0', id: 1, method: 'ping' };
const PONG = '{"jsonrpc":"2.0","id":1,"result":{}}';

let books: Books;
let port: number;
let key: string;
let mcp: McpCaller;
beforeAll(async () => {
  books = await sharedBooks();
  ({ port } = books.service);
  key = books.keys.get('all') ?? '';
  mcp = createMcpCaller(port, key);
});

describe('a body', { tags: ['mcp:6'] }, () => {
  test.each([
    undefined,
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    'text/json',
  ])('of the type %s is refused', async (type) => {
    const answer = await mcp.post(JSON.stringify(PING), { headers: { 'Content-Type': type } });
    expect([answer.status, codeOf(answer)]).toEqual([400, 'GATEWAY_INVALID_REQUEST']);
  });

  test('of JSON with a charset is read', async () => {
    for (const type of [
      'application/json; charset=utf-8',
      'Application/JSON',
      'application/json;charset="UTF-8"',
    ])
      expect((await mcp.post(PING, { headers: { 'Content-Type': type } })).body).toBe(PONG);
  });

  test.each([
    ['empty', ''],
    ['cut off', '{"jsonrpc":"2.0","id":1,"method":"ping"'],
    ['two values', `${JSON.stringify(PING)} {}`],
    ['a key twice', '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}'],
    [
      '33 levels in its parameters',
      `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"s3cret":${'['.repeat(33)}${']'.repeat(33)}}}`,
    ],
    ['100,000 levels', '['.repeat(100_000)],
    ['__proto__', '{"jsonrpc":"2.0","id":1,"method":"ping","__proto__":{}}'],
    ['not UTF-8', Buffer.from([0x22, 0xff, 0x22])],
    ['a byte order mark', `\ufeff${JSON.stringify(PING)}`],
    ['a number beyond a double', '{"jsonrpc":"2.0","id":1e999,"method":"ping"}'],
    ['no JSON', 's3cret'],
  ])('that is no good JSON: %s', async (_title, body) => {
    const answer = await mcp.post(body);
    expect([answer.status, answer.header('content-type')]).toEqual([400, 'application/json']);
    expect(answer.json).toEqual({ jsonrpc: '2.0', error: { code: -32700, message: expect.any(String) } });
    expect(answer.body).not.toContain('s3cret');
  });

  test('whose parameters have 32 levels is read, alone and in a batch', async () => {
    const deep = `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":${'['.repeat(32)}${']'.repeat(32)}}}`;
    expect((await mcp.post(deep)).body).toBe(PONG);
    expect((await mcp.post(` [${deep}]`)).body).toBe(`[${PONG}]`);
    const deeper = `[${deep.replace('[', '[[').replace(']', ']]')}]`;
    expect((await mcp.post(deeper)).json).toMatchObject({ error: { code: -32700 } });
  });

  test('over 1,048,576 bytes is refused, and not at them', async () => {
    const of = (bytes: number): string => {
      const empty = JSON.stringify({ ...PING, params: { a: '' } });
      return empty.replace('""', `"${'x'.repeat(bytes - empty.length)}"`);
    };
    expect((await mcp.post(of(1_048_576))).body).toBe(PONG);
    const answer = await mcp.post(of(1_048_577));
    expect([answer.status, codeOf(answer)]).toEqual([400, 'GATEWAY_INVALID_REQUEST']);
  });

  test('that does not come is 408', async () => {
    const head = [
      'POST /mcp HTTP/1.1',
      'Host: localhost',
      `X-API-Key: ${key}`,
      'Content-Type: application/json',
    ];
    const answer = await speak(port, [...head, 'Content-Length: 9'], '{');
    expect([answer.status, codeOf(answer)]).toEqual([408, 'GATEWAY_REQUEST_TIMEOUT']);
  });

  test.each([null, 1.5, -0.1, {}, { a: 1 }, [], [1], true, false].map((id) => [JSON.stringify(id), id]))(
    'with the id %s is no request',
    async (_title, id) => {
      for (const body of [
        { ...PING, id },
        { ...modernRequest('server/discover'), id },
      ]) {
        const answer = await mcp.post(body);
        expect(answer.status).toBe(400);
        expect(answer.json).toEqual({ jsonrpc: '2.0', error: { code: -32600, message: expect.any(String) } });
      }
    },
  );

  test.each([0, -1, 2 ** 53 - 1, 1 - 2 ** 53, '', 'a', '1', '"\\\n\u2028 🐈', 'x'.repeat(1000)])(
    'with the id %j gets it back',
    async (id) => {
      const answer = await mcp.post({ ...PING, id });
      expect([answer.status, answer.json]).toEqual([200, { jsonrpc: '2.0', id, result: {} }]);
    },
  );

  test.each([
    ['9007199254740993'],
    ['-123456789012345678901234567890'],
    ['1e300'],
    ['1.0', '1'],
    ['"\\u0041\\u2028\\/"', '"A\u2028/"'],
    ['"\\ud800"'],
  ])('with the id %s gets it back with all its digits', async (id, echoed = id) => {
    const { status, body } = await mcp.post(`{"jsonrpc":"2.0","id": ${id} ,"method":"ping"}`);
    expect([status, body]).toEqual([200, `{"jsonrpc":"2.0","id":${echoed},"result":{}}`]);
  });

  test.each([
    ['no jsonrpc', { id: 1, method: 'ping' }],
    ['JSON-RPC 1.0', { jsonrpc: '1.0', id: 1, method: 'ping' }],
    ['a number as version', { jsonrpc: 2, id: 1, method: 'ping' }],
    ['no method', { jsonrpc: '2.0', id: 1 }],
    ['a number as method', { jsonrpc: '2.0', id: 1, method: 1 }],
    ['params in a list', { ...PING, params: [] }],
    ['params in a text', { ...PING, params: 's3cret' }],
    ['params in a number', { ...PING, params: 0 }],
    ['params in false', { ...PING, params: false }],
    ['a result', { jsonrpc: '2.0', id: 1, result: { s3cret: 1 } }],
    ['an error', { jsonrpc: '2.0', id: 1, error: { code: 1, message: 's3cret' } }],
  ])('that is no request: %s', async (_title, body) => {
    const answer = await mcp.post(body);
    expect(answer.status).toBe(400);
    expect(answer.json).toEqual({
      jsonrpc: '2.0',
      id: 1,
      error: { code: -32600, message: expect.any(String) },
    });
    expect(answer.body).not.toContain('s3cret');
  });

  test.each(['null', '1', '"ping"', 'true', '{}', '[]'])('that is %s is no request', async (body) => {
    const answer = await mcp.post(body);
    expect(answer.status).toBe(400);
    expect(answer.json).toEqual({ jsonrpc: '2.0', error: { code: -32600, message: expect.any(String) } });
  });

  test('with null for params has none', async () => {
    expect((await mcp.post({ ...PING, params: null })).body).toBe(PONG);
  });
});
