import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort, testDatabase, type Answer, type RunningProcess, type TestDatabase } from '@svc/testkit';
import {
  AWKWARD_TEXT,
  LONG_NAME,
  LONG_PARAM,
  PARAMETERS,
  richFile,
  TABLES,
} from './openapi-capabilities.testing.ts';
import {
  operationOf,
  parseOpenApi,
  pathOf,
  requestSchema,
  responseOf,
  rowSchema,
  type OpenApi,
} from './openapi-document.testing.ts';
import { lintAsRecommended, lintOpenApi } from './openapi-lint.testing.ts';
import { startPair, type Pair } from './pair.testing.ts';

let database: TestDatabase;
let gateway: Pair;
let agent: RunningProcess;
let beforeAgent: Answer;
beforeAll(async () => {
  database = await testDatabase({ sql: [TABLES] });
  gateway = await startPair({
    keys: { one: 'described', twin: 'described', none: '', stranger: 'no_such', secretive: 'hidden,shown' },
  });
  beforeAgent = await fetchOpenApi();
  agent = await gateway.startAgent('rich', richFile(connection()));
});
afterAll(() => gateway.stop());

function connection(): Readonly<Record<string, unknown>> {
  const { host, port, name, user, password } = database;
  return { driver: 'postgres', host, port, name, user, password };
}

async function fetchOpenApi(key = 'all', headers: Record<string, string> = {}): Promise<Answer> {
  return await gateway.ask('/openapi.json', { key, headers });
}

async function document(key = 'all'): Promise<OpenApi> {
  const reply = await fetchOpenApi(key);
  expect(reply.status).toBe(200);
  return parseOpenApi(reply.text);
}

async function etag(key = 'all'): Promise<string> {
  return (await fetchOpenApi(key)).headers.get('etag') ?? '';
}

test('before any agent has connected there is none', { tags: ['openapi:offline'] }, () => {
  expect(beforeAgent.status).toBe(503);
  expect(beforeAgent.text).toBe(
    '{"error":{"code":"GATEWAY_AGENT_OFFLINE","message":"agent is not connected"}}',
  );
});

test('it is OpenAPI 3.1.0 as JSON', { tags: ['openapi:version'] }, async () => {
  const { headers, text } = await fetchOpenApi();
  expect(headers.get('content-type')).toBe('application/json');
  expect(parseOpenApi(text).openapi).toBe('3.1.0');
});

test(
  'title, version and description are those of the file',
  { tags: ['file:service.title', 'file:service.version', 'file:service.description'] },
  async () => {
    expect((await document()).info).toMatchObject({
      title: 'Things & more',
      version: '2.0.0-rc.1+7',
      description: AWKWARD_TEXT,
    });
  },
);

test('each exposed capability has a path of its literal name', { tags: ['openapi:paths'] }, async () => {
  const { paths } = await document();
  const names = [...Object.keys(PARAMETERS), 'no_params', LONG_NAME, 'described', 'every_result', 'cut'];
  const numbered = Array.from({ length: 100 }, (_, at) => `get_${String(at).padStart(3, '0')}`);
  expect(Object.keys(paths)).toEqual(
    [...names, 'over_limit', 'divide', 'slow', 'shown', ...numbered].map(pathOf),
  );
  for (const [path, item] of Object.entries(paths)) {
    expect(Object.keys(item)).toEqual(['post']);
    expect(pathOf(item.post.operationId)).toBe(path);
  }
});

test('a key sees what it may call', { tags: ['permission:openapi'] }, async () => {
  expect(Object.keys((await document('one')).paths)).toEqual([pathOf('described')]);
  expect(Object.keys((await document('none')).paths)).toEqual([]);
  expect(Object.keys((await document('stranger')).paths)).toEqual([]);
});

test(
  'a hidden capability is not shown and can be called',
  { tags: ['capability:expose_in_openapi'] },
  async () => {
    expect(Object.keys((await document('secretive')).paths)).toEqual([pathOf('shown')]);
    expect((await fetchOpenApi()).text).not.toContain('hidden');
    expect((await gateway.call('hidden', {}, 'secretive')).json).toEqual({ rows: [{ one: 1 }], count: 1 });
  },
);

test(
  'descriptions of capabilities, parameters and fields arrive unchanged',
  { tags: ['capability:description', 'capability:params.description', 'capability:result.description'] },
  async () => {
    const whole = await document();
    expect(operationOf(whole, 'described').description).toBe(AWKWARD_TEXT);
    expect(operationOf(whole, 'every_result').description).toBe('One field of every type.');
    expect(requestSchema(whole, 'texts').properties?.['plain']?.['description']).toBe(AWKWARD_TEXT);
    expect(requestSchema(whole, 'whole_numbers').properties?.['bounded']?.['description']).toBe(
      'From 1 to 10.',
    );
    expect(requestSchema(whole, 'whole_numbers').properties?.['plain']).not.toHaveProperty('description');
    const field = rowSchema(whole, 'described').properties?.['a field, of "any" name'];
    expect(field?.['description']).toBe(AWKWARD_TEXT);
    expect(rowSchema(whole, 'every_result').properties?.['whole']).not.toHaveProperty('description');
  },
);

test(
  'fields have their types, formats and whether they can be null',
  { tags: ['capability:result.format', 'capability:result.nullable'] },
  async () => {
    expect(rowSchema(await document(), 'every_result')).toMatchObject({
      properties: {
        id: { type: 'integer' },
        whole: { type: ['integer', 'null'] },
        part: { type: ['number', 'null'], format: 'double' },
        text: { type: ['string', 'null'] },
        flag: { type: ['boolean', 'null'] },
        day: { type: ['string', 'null'], format: 'date' },
        moment: { type: ['string', 'null'], format: 'date-time' },
        tags: { type: ['array', 'null'] },
        document: { type: ['object', 'null'] },
        mail: { type: ['string', 'null'], format: 'email' },
      },
      additionalProperties: false,
    });
    expect(rowSchema(await document(), 'every_result').properties?.['text']).not.toHaveProperty('format');
  },
);

test('every request schema is closed', { tags: ['openapi:request'] }, async () => {
  const whole = await document();
  for (const { post } of Object.values(whole.paths)) {
    expect(post.requestBody).toMatchObject({
      required: true,
      content: { 'application/json': { schema: { type: 'object', additionalProperties: false } } },
    });
  }
  expect(requestSchema(whole, 'no_params').properties).toEqual({});
  expect(Object.keys(requestSchema(whole, LONG_NAME).properties ?? {})).toEqual([LONG_PARAM]);
  expect(requestSchema(whole, 'whole_numbers')).toMatchObject({
    required: ['bounded'],
    properties: {
      bounded: { type: 'integer', minimum: 1, maximum: 10 },
      open: { type: ['integer', 'null'], exclusiveMinimum: 0, exclusiveMaximum: 5 },
      even: { multipleOf: 2 },
      chosen: { enum: [1, 2, 3, null] },
      standard: { default: 7 },
    },
  });
});

test('every error that a call can meet is described', { tags: ['openapi:errors'] }, async () => {
  const whole = await document();
  const statuses = [200, 400, 401, 403, 404, 408, 429, 500, 502, 503, 504];
  for (const { post } of Object.values(whole.paths)) {
    expect(Object.keys(post.responses)).toEqual(statuses.map(String));
    for (const status of statuses.slice(1)) {
      const content = responseOf(whole, post.operationId, status)?.content['application/json'];
      const schema = whole.components.schemas[String(content?.schema['$ref']).split('/').at(-1) ?? ''];
      expect(schema?.properties?.['error']?.properties?.['code']?.['enum']).toEqual(
        Object.keys(content?.examples ?? {}),
      );
    }
  }
});

test('either credential header is enough', { tags: ['openapi:security'] }, async () => {
  const { security, components } = await document();
  expect(security).toEqual([{ bearer: [] }, { apiKey: [] }]);
  expect(components.securitySchemes).toEqual({
    bearer: expect.objectContaining({ type: 'http', scheme: 'bearer' }),
    apiKey: expect.objectContaining({ type: 'apiKey', in: 'header', name: 'X-API-Key' }),
  });
  for (const header of ['authorization', 'X-API-Key']) {
    const value = `${header === 'authorization' ? 'Bearer ' : ''}${gateway.apiKeys['all'] ?? ''}`;
    const credential = { [header]: value };
    expect((await gateway.ask('/openapi.json', { key: null, headers: credential })).status).toBe(200);
  }
  expect((await gateway.ask('/openapi.json', { key: null })).status).toBe(401);
});

describe('a strict public linter finds nothing', { tags: ['openapi:lint'] }, () => {
  test.each(['all', 'one', 'none'])('in what the key %s sees', async (key) => {
    const { text } = await fetchOpenApi(key);
    expect(await lintOpenApi(text)).toEqual([]);
    expect(await lintAsRecommended(text)).toEqual([]);
  });

  test('and would find a fault', async () => {
    const text = (await fetchOpenApi('one')).text.replace('"operationId":"described"', '"operationId":7');
    expect(await lintOpenApi(text)).toContainEqual(expect.stringContaining('struct'));
  });

  test(
    'in the sample library at a gateway with a public URL',
    { tags: ['setting:GATEWAY_PUBLIC_URL'] },
    async () => {
      expect((await document()).servers).toEqual([{ url: '/' }]);
      const port = await freePort();
      const library = await testDatabase({ sql: [await sample('schema.sql')] });
      const published = await startPair({
        env: {
          GATEWAY_ADDR: `127.0.0.1:${port}`,
          GATEWAY_PUBLIC_URL: 'https://gateway.test/base/',
          GATEWAY_AGENT_URLS: `ws://127.0.0.1:${port}/ws/agent`,
        },
      });
      try {
        await published.startAgent('library', await sample('capability.yaml'), {
          SVC_GATEWAY_URL: published.agentUrl,
          SVC_AGENT_PRIVATE_KEY: published.privateKey,
          SVC_DB_HOST: library.host,
          SVC_DB_PORT: String(library.port),
          SVC_DB_NAME: library.name,
          SVC_DB_USER: library.user,
          SVC_DB_PASSWORD: library.password,
        });
        const { text } = await published.ask('/openapi.json');
        expect(parseOpenApi(text).servers).toEqual([{ url: 'https://gateway.test/base' }]);
        expect(Object.keys(parseOpenApi(text).paths).length).toBeGreaterThan(5);
        expect(await lintOpenApi(text)).toEqual([]);
        expect(await lintAsRecommended(text)).toEqual([]);
      } finally {
        await published.stop();
      }
    },
  );
});

function sample(name: string): Promise<string> {
  return readFile(new URL(`../../examples/library/${name}`, import.meta.url), 'utf8');
}

test('no SQL and nothing of the database is in it', { tags: ['openapi:silence'] }, async () => {
  const { text } = await fetchOpenApi();
  const { host, port, name, user } = database;
  for (const secret of [host, String(port), name, user, gateway.privateKey, 'concat_ws', 'pg_sleep']) {
    expect(text).not.toContain(secret);
  }
  expect(text).not.toMatch(/\bselect\b|\bfrom thing\b/i);
});

// From here on the tests change what is served.
describe('the validator', { tags: ['openapi:etag'] }, () => {
  test('is strong, the same for the same view and another for another', async () => {
    const tags = await Promise.all(['all', 'all', 'one', 'twin', 'none'].map((key) => etag(key)));
    expect(tags[0]).toMatch(/^"[\x21\x23-\x7e]+"$/);
    expect(tags[1]).toBe(tags[0]);
    expect(tags[3]).toBe(tags[2]);
    expect(new Set(tags).size).toBe(3);
  });

  test.each([
    ['the tag', (tag: string) => tag],
    ['the tag as a weak one', (tag: string) => `W/${tag}`],
    ['a list with it', (tag: string) => `"other", W/"more" ,${tag}`],
    ['anything', () => '*'],
  ])('who has %s is told that nothing has changed', async (_title, known) => {
    const tag = await etag();
    const { status, headers, text } = await fetchOpenApi('all', { 'If-None-Match': known(tag) });
    expect({ status, text, etag: headers.get('etag') }).toEqual({ status: 304, text: '', etag: tag });
  });

  test.each([
    ['another tag', () => '"other"'],
    ['the tag without quotes', (tag: string) => tag.slice(1, -1)],
    ['a part of the tag', (tag: string) => `${tag.slice(0, -2)}"`],
    ['nonsense', () => ',,"'],
  ])('who has %s gets it', async (_title, known) => {
    expect((await fetchOpenApi('all', { 'If-None-Match': known(await etag()) })).status).toBe(200);
  });

  test('what another key sees is no excuse, and no key is no entry', async () => {
    const tag = await etag('one');
    expect((await fetchOpenApi('all', { 'If-None-Match': tag })).status).toBe(200);
    const stranger = await gateway.ask('/openapi.json', { key: null, headers: { 'If-None-Match': tag } });
    expect(stranger.status).toBe(401);
  });
});

test('it is served while the agent is away', { tags: ['openapi:cached'] }, async () => {
  const before = await fetchOpenApi('one');
  await agent.stop();
  await expect.poll(async () => (await gateway.ask('/readyz')).status, { interval: 20 }).toBe(503);
  const after = await fetchOpenApi('one');
  expect(after.status).toBe(200);
  expect(after.text).toBe(before.text);
  expect((await gateway.call('described', {}, 'one')).status).toBe(503);
});

test('another file is another description', { tags: ['openapi:etag', 'openapi:cached'] }, async () => {
  const before = await etag('one');
  const { capabilities: _, ...sections } = richFile(connection());
  const capabilities = {
    described: { description: 'New.', sql: 'select 1 as one', result: { one: { type: 'integer' } } },
  };
  const newer = await gateway.startAgent('newer', { ...sections, capabilities });
  const { status, text } = await fetchOpenApi('one', { 'If-None-Match': before });
  expect(status).toBe(200);
  expect(operationOf(parseOpenApi(text), 'described').description).toBe('New.');
  await newer.stop();
});
