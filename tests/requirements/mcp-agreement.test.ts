import { testDatabase } from '@svc/testkit';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createMcpCaller, modernRequest, type McpCaller } from './mcp-caller.testing.ts';
import { isRecord, NEWEST } from './mcp-schemas.testing.ts';
import { PARAMETERS, richFile, TABLES } from './openapi-capabilities.testing.ts';
import { startPair, type Pair } from './pair.testing.ts';

let pair: Pair;
let mcp: McpCaller;
beforeAll(async () => {
  const { host, port, name, user, password } = await testDatabase({ sql: [TABLES] });
  pair = await startPair();
  await pair.startAgent('rich', richFile({ host, port, name, user, password }));
  mcp = createMcpCaller(pair.port, pair.apiKeys['all'] ?? '');
});
afterAll(() => pair.stop());

/** The answer of REST in the words of MCP: the rows as they are, or why there are none. */
interface Said {
  readonly rows?: string;
  readonly refused?: string;
}

async function byRest(capability: string, params: string): Promise<Said> {
  const path = `/api/v1/capabilities/${capability}`;
  const { status, text } = await pair.ask(path, { method: 'POST', body: params });
  if (status === 200) return { rows: text };
  const { error }: { readonly error: { readonly message: string } } = JSON.parse(text);
  return { refused: error.message };
}

/** `params` is put into the request as it is written. */
async function byMcp(capability: string, params: string, era: 'legacy' | 'modern'): Promise<Said> {
  const call = { name: capability, arguments: '@' };
  const request =
    era === 'modern'
      ? modernRequest('tools/call', call)
      : { jsonrpc: '2.0', id: 1, method: 'tools/call', params: call };
  const body = JSON.stringify(request).replace('"@"', () => params);
  const headers =
    era === 'modern'
      ? { 'MCP-Protocol-Version': NEWEST, 'Mcp-Method': 'tools/call', 'Mcp-Name': capability }
      : {};
  const { status, json } = await mcp.post(body, { headers });
  expect(status).toBe(200);
  const result = isRecord(json) && isRecord(json['result']) ? json['result'] : {};
  const first: unknown = Array.isArray(result['content']) ? result['content'][0] : undefined;
  const text = isRecord(first) ? String(first['text']) : JSON.stringify(json);
  return result['isError'] === true ? { refused: text } : { rows: text };
}

async function expectAgreement(capability: string, params: string): Promise<void> {
  const rest = await byRest(capability, params);
  for (const era of ['legacy', 'modern'] as const) {
    const said = await byMcp(capability, params, era);
    if (rest.rows === undefined) expect(said.refused).toContain(rest.refused);
    else expect(said).toEqual(rest);
  }
}

const names = Object.keys(PARAMETERS);
const parameters = [...new Set(names.flatMap((name) => Object.keys(PARAMETERS[name]?.params ?? {})))];
const values = names.flatMap((name) => Object.values(PARAMETERS[name]?.fitting ?? {}).flat());

describe('tools/call says what REST says', { tags: ['mcp:21'] }, () => {
  test('for any parameters', async () => {
    const value = fc.oneof(fc.constantFrom(...values), fc.constant(null), fc.jsonValue({ maxDepth: 3 }));
    const given = fc.dictionary(
      fc.oneof(
        { weight: 20, arbitrary: fc.constantFrom(...parameters) },
        fc.constantFrom('other', 'a b', ''),
      ),
      value,
      { maxKeys: 4 },
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...names), given, async (name, params) => {
        const { fitting = {}, params: declared = {} } = PARAMETERS[name] ?? {};
        const required = Object.keys(declared).filter((param) => declared[param]?.['required'] === true);
        const needed = Object.fromEntries(required.map((param) => [param, fitting[param]?.[0]]));
        const own = Object.fromEntries(
          Object.entries(params).filter(([param]) => param in declared || param === 'other'),
        );
        await expectAgreement(name, JSON.stringify({ ...needed, ...own }));
      }),
      { numRuns: 250 },
    );
  });

  test.each([
    ['numbers', '{"plain":1.0}'],
    ['numbers', '{"plain":12345678901234567890.123456789}'],
    ['numbers', '{"plain":1E2}'],
    ['numbers', '{ "plain" :\n\t-0.0 }'],
    ['whole_numbers', '{"bounded":1.0}'],
    ['whole_numbers', '{"bounded":10e-1}'],
    ['whole_numbers', '{"bounded":2,"plain":9007199254740993}'],
    ['whole_numbers', '{"bounded":2,"plain":18446744073709551616}'],
    ['others', '{"document":{"ids":[9007199254740993,0.10000000000000000001]}}'],
    ['texts', '{"plain":"\\u0041\\ud83d\\udc08 \\/ \\" } ] {"}'],
    ['texts', '{"plain":"\\ud800"}'],
    ['texts', '{"plain":"\\u0000"}'],
    ['others', '{"flag":true,"document":{"name":"x","arguments":{"a":[1.50,{"params":1}]}}}'],
    ['no_params', '{}'],
    ['over_limit', '{}'],
    ['cut', '{}'],
    ['hidden', '{}'],
  ])('for the capability %s as it is spelt: %s', async (name, params) => {
    await expect(expectAgreement(name, params)).resolves.toBeUndefined();
  });

  test('also when other members of the request look like the arguments', async () => {
    const body = `{"params":{"_meta":{"arguments":{"by":0}},"x":"\\"arguments\\":{}","arguments" : {"by":1} ,"name":"divide"},
      "arguments":{"by":0},"method":"tools/call","id":1,"jsonrpc":"2.0"}`;
    expect((await mcp.post(body)).json).toMatchObject({
      id: 1,
      result: { structuredContent: { rows: [{ quotient: 1 }], count: 1 } },
    });
    const escaped = `{"jsonrpc":"2.0","\\u0069d":7,"method":"tools/call","p\\u0061rams":{"name":"divide","\\u0061rguments":{"by":1}}}`;
    expect((await mcp.post(escaped)).json).toMatchObject({
      id: 7,
      result: { structuredContent: { rows: [{ quotient: 1 }], count: 1 } },
    });
  });
});
