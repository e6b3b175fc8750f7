import { testDatabase } from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createMcpCaller, strictAjv, type McpCaller, type Tool } from './mcp-caller.testing.ts';
import { gatewayVersion } from './mcp-gateway-version.testing.ts';
import { isRecord } from './mcp-schemas.testing.ts';
import { AWKWARD_TEXT, PARAMETERS, richFile, TABLES } from './openapi-capabilities.testing.ts';
import {
  parseOpenApi,
  pathOf,
  requestSchema,
  responseOf,
  type JsonSchema,
  type OpenApi,
} from './openapi-document.testing.ts';
import { startPair, type Pair } from './pair.testing.ts';

let pair: Pair;
let mcp: McpCaller;
let tools: readonly Tool[];
let document: OpenApi;
beforeAll(async () => {
  const { host, port, name, user, password } = await testDatabase({ sql: [TABLES] });
  pair = await startPair();
  const rich = richFile({ host, port, name, user, password });
  const capabilities = {
    ...(isRecord(rich['capabilities']) ? rich['capabilities'] : {}),
    find_thing: {
      description: 'Finds a thing.',
      sql: 'select id, text from thing where id = :id and (:word::text is null or text = :word)',
      params: {
        id: { type: 'integer', required: true, minimum: 1, maximum: 9, description: 'Its number.' },
        word: { type: 'string', enum: ['a', 'b'] },
        tags: { type: 'array', items: { type: 'string', maxLength: 3 }, maxItems: 2 },
        day: { type: 'date', default: '2026-01-01' },
      },
      result: {
        id: { type: 'integer', nullable: false, description: 'Its number.' },
        text: { type: 'string' },
      },
    },
  };
  // Every declared parameter must be used.
  const find = capabilities.find_thing;
  find.sql += ' and (:tags::text[] is null or true) and :day::date is not null';
  await pair.startAgent('rich', { ...rich, capabilities });
  mcp = createMcpCaller(pair.port, pair.apiKeys['all'] ?? '');
  await mcp.learnTools();
  tools = await mcp.tools();
  document = parseOpenApi((await pair.ask('/openapi.json')).text);
});
afterAll(() => pair.stop());

function toolNamed(name: string): Tool {
  const tool = tools.find((candidate) => candidate.name === name);
  if (tool === undefined) throw new Error(`no tool ${name}`);
  return tool;
}

describe('a tool', { tags: ['mcp:16'] }, () => {
  test('is told whole', () => {
    expect(toolNamed('find_thing')).toEqual({
      name: 'find_thing',
      title: 'Find thing',
      description: 'Finds a thing.',
      inputSchema: {
        type: 'object',
        properties: {
          id: { type: 'integer', minimum: 1, maximum: 9, description: 'Its number.' },
          word: { type: 'string', enum: ['a', 'b'] },
          tags: { type: 'array', items: { type: 'string', maxLength: 3 }, maxItems: 2 },
          day: { type: 'string', format: 'date', default: '2026-01-01' },
        },
        required: ['id'],
        additionalProperties: false,
      },
      outputSchema: requireSchema(
        responseOf(document, 'find_thing', 200)?.content['application/json'].schema,
      ),
      annotations: {
        readOnlyHint: true,
        destructiveHint: false,
        idempotentHint: true,
        openWorldHint: false,
      },
    });
    expect(toolNamed('no_params').inputSchema).toEqual({
      type: 'object',
      properties: {},
      additionalProperties: false,
    });
    expect(toolNamed('described').description).toBe(AWKWARD_TEXT);
  });

  test('is there for each path of the description, in its order, and for nothing else', () => {
    expect(tools.map(({ name }) => pathOf(name))).toEqual(Object.keys(document.paths));
    expect(tools.length).toBeGreaterThan(100);
  });

  test('has the input schema of the description without null and title', () => {
    for (const { name, inputSchema } of tools) {
      const { title: _title, properties = {}, ...rest } = requestSchema(document, name);
      const parameters = Object.entries(properties).map(([param, schema]) => [param, withoutNull(schema)]);
      expect(inputSchema).toEqual({ ...rest, properties: Object.fromEntries(parameters) });
    }
  });

  test('has an input schema that is flat and typed all through', () => {
    const seen = new Set<unknown>();
    for (const { name, inputSchema } of tools) {
      expect(inputSchema['type']).toBe('object');
      walk(name, inputSchema, seen);
    }
    expect(seen).toEqual(new Set(['object', 'array', 'integer', 'number', 'string', 'boolean']));
  });

  test('has schemas that clients compile', () => {
    for (const { inputSchema, outputSchema } of tools) {
      const ajv = strictAjv();
      expect(ajv.compile(inputSchema)({})).toBe(!Array.isArray(inputSchema['required']));
      expect(ajv.compile(outputSchema)({ rows: [], count: 0 })).toBe(true);
      expect(outputSchema['type']).toBe('object');
      expect(JSON.stringify(outputSchema)).not.toMatch(/"\$ref"|"\$defs"|"(any|one|all)Of"/);
    }
  });
});

/** What every node of an input schema must be. */
function walk(at: string, schema: JsonSchema, seen: Set<unknown>): void {
  expect([at, typeof schema.type]).toEqual([at, 'string']);
  seen.add(schema.type);
  const forbidden = new Set([
    '$ref',
    '$defs',
    '$id',
    '$schema',
    'definitions',
    'anyOf',
    'oneOf',
    'allOf',
    'not',
    'if',
  ]);
  expect([at, Object.keys(schema).filter((key) => forbidden.has(key))]).toEqual([at, []]);
  expect([at, 'items' in schema]).toEqual([at, schema.type === 'array']);
  if (Array.isArray(schema['enum'])) expect(schema['enum']).not.toContain(null);
  expect([at, schema['default']]).not.toEqual([at, null]);
  if (schema.items !== undefined) walk(`${at}[]`, schema.items, seen);
  for (const [name, property] of Object.entries(schema.properties ?? {}))
    walk(`${at}.${name}`, property, seen);
}

function withoutNull({ type, enum: allowed, ...rules }: JsonSchema): object {
  const [only, ...more] = (Array.isArray(type) ? type : [type]).filter((name) => name !== 'null');
  expect(more).toEqual([]);
  return {
    type: only,
    ...rules,
    ...(Array.isArray(allowed) ? { enum: allowed.filter((value) => value !== null) } : {}),
  };
}

describe.each(Object.keys(PARAMETERS))('the tool %s', { tags: ['mcp:16', 'mcp:20'] }, (name) => {
  test('takes what its schema takes', async () => {
    const { params = {}, fitting = {} } = PARAMETERS[name] ?? {};
    const validate = strictAjv().compile(toolNamed(name).inputSchema);
    const needed = Object.fromEntries(
      Object.keys(params).flatMap((param) =>
        params[param]?.['required'] === true ? [[param, fitting[param]?.[0]]] : [],
      ),
    );
    for (const [param, values] of Object.entries(fitting))
      for (const value of values) {
        const given = { ...needed, [param]: value };
        expect([given, validate(given)]).toEqual([given, true]);
        const { json } = await mcp.legacy('tools/call', { name, arguments: given });
        expect([given, json]).toMatchObject([given, { result: { structuredContent: { count: 1 } } }]);
        expect(json).not.toMatchObject({ result: { isError: true } });
      }
  });
});

test('the title and the text of the service are told', { tags: ['mcp:9', 'mcp:13'] }, async () => {
  const init = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
  const version = await gatewayVersion();
  const serverInfo = { name: 'svc-gateway', title: 'Things & more', version };
  expect((await mcp.legacy('initialize', init)).json).toEqual({
    jsonrpc: '2.0',
    id: 1,
    result: {
      protocolVersion: '2025-11-25',
      capabilities: { tools: {} },
      serverInfo,
      instructions: AWKWARD_TEXT,
    },
  });
  expect((await mcp.modern('server/discover')).json).toMatchObject({
    result: { instructions: AWKWARD_TEXT, _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo } },
  });
});

describe('arguments', { tags: ['mcp:19'] }, () => {
  const ONE = { rows: [{ one: 1 }], count: 1 };

  test.each([[{}], [{ arguments: null }], [{ arguments: {} }]])('%j are none', async (given) => {
    for (const { status, json } of [
      await mcp.legacy('tools/call', { name: 'no_params', ...given }),
      await mcp.modern('tools/call', { name: 'no_params', ...given }),
    ]) {
      expect(status).toBe(200);
      expect(json).toMatchObject({
        id: 1,
        result: { content: [{ type: 'text', text: JSON.stringify(ONE) }], structuredContent: ONE },
      });
    }
  });

  test('of null for optional parameters are dropped, and a default holds', async () => {
    const echo = async (name: string, given: object): Promise<unknown> => {
      const { json } = await mcp.legacy('tools/call', { name, arguments: given });
      return isRecord(json) && isRecord(json['result']) ? json['result']['structuredContent'] : json;
    };
    const nulls = { plain: null, open: null, mixed: null, even: null, chosen: null, standard: null };
    expect(await echo('whole_numbers', { bounded: 2, ...nulls })).toEqual({
      rows: [{ echo: '2 7' }],
      count: 1,
    });
    expect(await echo('every_result', { up_to: null })).toMatchObject({ count: 3 });
    expect(await echo('whole_numbers', { bounded: 2, plain: 3, standard: 1 })).toEqual({
      rows: [{ echo: '2 3 1' }],
      count: 1,
    });
  });

  test('of null for a required parameter are refused', async () => {
    const { json } = await mcp.legacy('tools/call', { name: 'divide', arguments: { by: null } });
    expect(json).toMatchObject({
      result: { isError: true, content: [{ text: expect.stringContaining('by: is required') }] },
    });
  });

  test.each([[[]], ['s3cret'], [1], [true], [['s3cret']], [0], [''], [false]])(
    'of another type than an object are refused: %j',
    async (given) => {
      for (const { status, json, body } of [
        await mcp.legacy('tools/call', { name: 'no_params', arguments: given }),
        await mcp.modern('tools/call', { name: 'no_params', arguments: given }),
      ]) {
        expect([status, json]).toEqual([
          200,
          { jsonrpc: '2.0', id: 1, error: { code: -32602, message: expect.stringContaining('arguments') } },
        ]);
        expect(body).not.toContain('s3cret');
      }
    },
  );
});

describe('a result', { tags: ['mcp:20'] }, () => {
  test('has every type with all its digits, the same bytes as REST', async () => {
    const rest = await pair.call('every_result', {});
    const answer = await mcp.legacy('tools/call', { name: 'every_result', arguments: {} });
    expect(rest.text).toContain('"whole":1234567890123456789');
    expect(answer.body).toContain(`"structuredContent":${rest.text}`);
    expect(answer.json).toMatchObject({ result: { content: [{ type: 'text', text: rest.text }] } });
    expect(answer.json).not.toHaveProperty('result.isError', true);
  });

  test.each([{}, { Accept: 'text/event-stream' }])('that is cut says so: %j', async (headers) => {
    const answer = await mcp.legacy('tools/call', { name: 'cut', arguments: {} }, { headers });
    const cut = { rows: [{ id: 1 }, { id: 2 }], count: 2, truncated: true };
    expect(answer.json).toEqual({
      jsonrpc: '2.0',
      id: 1,
      result: {
        content: [
          { type: 'text', text: JSON.stringify(cut) },
          { type: 'text', text: expect.stringMatching(/narrow|fewer|more specific/i) },
        ],
        structuredContent: cut,
      },
    });
    expect((await pair.call('cut', {})).text).toBe(JSON.stringify(cut));
  });
});

function requireSchema(schema: JsonSchema | undefined): JsonSchema {
  if (schema === undefined) throw new Error('the description has no schema of the answer');
  return schema;
}
