import type { Description } from '@svc/protocol';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import type { AgentConfig } from '../../config/model.ts';
import { fileText, load } from '../../config/load.fixture.ts';
import { valueAt } from '../../config/path.ts';
import { describeCapabilities } from './describe-capabilities.ts';

const CAPABILITIES = `
capabilities:
  list_orders:
    description: Lists the orders of a customer.
    sql: SELECT canary_sql WHERE :customer_id
    params:
      customer_id: { type: integer, required: true, minimum: 1, description: Whose orders. }
      since: { type: date }
      until: { type: datetime }
      state: { type: string, enum: [open, closed], default: open }
      tags: { type: array, items: { type: string, maxLength: 5 }, maxItems: 2 }
    policy: { timeout: 1m }
    result:
      id: { type: integer, nullable: false }
      placed: { type: datetime, description: When it was placed. }
      mail: { type: string, format: email }
      lines: { type: array }
  hidden: { sql: SELECT 1, expose_in_openapi: false, result: { one: { type: integer } } }
  bare: { sql: SELECT 1, result: { one: { type: integer } } }
`;

function config(): AgentConfig {
  const database = 'database: { host: canary_host, name: canary_db, user: canary_user, password: canary_pw }';
  const service = 'service: { title: Shop, version: "7", description: What the shop has. }';
  const loaded = load(fileText({ service, database, capabilities: CAPABILITIES }));
  if ('faults' in loaded) expect.unreachable(JSON.stringify(loaded.faults));
  return loaded.config;
}

const { openapi, manifest } = describeCapabilities(config());

function operation(name: string): unknown {
  return valueAt(openapi.paths, [`/api/v1/capabilities/${name}`, 'post']);
}

function validator(path: readonly string[]): (value: unknown) => boolean {
  const schema = valueAt(operation('list_orders'), [...path, 'content', 'application/json', 'schema']);
  if (typeof schema !== 'object' || schema === null) expect.unreachable('no schema');
  return new Ajv2020({ validateFormats: false, strictTypes: false }).compile(schema);
}

test('the document has the title, version and description of the service', () => {
  expect(openapi).toMatchObject({
    openapi: '3.1.0',
    info: { title: 'Shop', version: '7', description: 'What the shop has.' },
    security: [{ bearer: [] }, { apiKey: [] }],
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
      },
    },
  });
});

test('exposed capabilities have a path each, in the order of the file; the manifest has all', () => {
  expect(Object.keys(openapi.paths)).toEqual([
    '/api/v1/capabilities/list_orders',
    '/api/v1/capabilities/bare',
  ]);
  expect(manifest).toEqual([
    { name: 'list_orders', exposed: true, timeout_ms: 60_000 },
    { name: 'hidden', exposed: false, timeout_ms: 30_000 },
    { name: 'bare', exposed: true, timeout_ms: 30_000 },
  ]);
});

describe('with identity', { tags: ['capability:params.from'] }, () => {
  const described = (identity: string): Description => {
    const capabilities = `
capabilities:
  plain: { sql: SELECT 1, result: { one: { type: integer } } }
  pinned:
    sql: SELECT :tenant, :who, :again, :id
    params:
      tenant: { type: uuid, from: principal.claims.org_id }
      who: { type: string, from: principal.subject }
      again: { type: string, from: principal.claims.org_id }
      id: { type: integer, required: true }
    result: { one: { type: integer } }
`;
    const loaded = load(fileText({ identity, capabilities }));
    if ('faults' in loaded) expect.unreachable(JSON.stringify(loaded.faults));
    return describeCapabilities(loaded.config);
  };
  const forbidden = ({ openapi: document }: Description): unknown =>
    valueAt(document['components'], [
      'schemas',
      'Forbidden',
      'properties',
      'error',
      'properties',
      'code',
      'enum',
    ]);

  test('what is taken from who calls is in no schema, and the manifest says what is needed', () => {
    const description = described('identity: { trust: gateway }');
    const schema = valueAt(description.openapi.paths, [
      '/api/v1/capabilities/pinned',
      'post',
      'requestBody',
      'content',
      'application/json',
      'schema',
    ]);
    expect(schema).toMatchObject({ properties: { id: {} }, required: ['id'], additionalProperties: false });
    expect(JSON.stringify(description.openapi)).not.toMatch(/"(?:tenant|who|again)"|org_id|principal\./);
    expect(description.manifest).toEqual([
      { name: 'plain', exposed: true, timeout_ms: 30_000 },
      {
        name: 'pinned',
        exposed: true,
        timeout_ms: 30_000,
        needs: ['principal.claims.org_id', 'principal.subject'],
      },
    ]);
  });

  test('the greatest age of a token is told where there is one', () => {
    expect(described('identity: { trust: gateway }')).not.toHaveProperty('identity');
    expect(described('identity: { trust: gateway, max_age: 2m }').identity).toEqual({ max_age: 120 });
  });

  test('403 may be AGENT_PRINCIPAL_REFUSED, which without identity is never heard of', () => {
    expect(forbidden(described('identity: { trust: gateway }'))).toContain('AGENT_PRINCIPAL_REFUSED');
    expect(JSON.stringify(openapi)).not.toContain('AGENT_PRINCIPAL_REFUSED');
  });
});

test('the operation is named and described', () => {
  expect(operation('list_orders')).toMatchObject({
    operationId: 'list_orders',
    summary: 'List orders',
    description: 'Lists the orders of a customer.',
  });
  expect(operation('bare')).toMatchObject({ summary: 'Bare', description: 'Bare' });
});

describe('the request schema', () => {
  const takes = validator(['requestBody']);

  test.each([
    { customer_id: 1 },
    { customer_id: 1, since: '2024-01-01', until: null, state: null, tags: null },
    { customer_id: 1, state: 'open', tags: ['a', 'b'] },
  ])('takes %j', (body) => {
    expect(takes(body)).toBe(true);
  });

  test.each([
    {},
    { customer_id: null },
    { customer_id: 0 },
    { customer_id: '1' },
    { customer_id: 1, state: 'other' },
    { customer_id: 1, tags: ['toolong'] },
    { customer_id: 1, extra: 1 },
  ])('refuses %j', (body) => {
    expect(takes(body)).toBe(false);
  });

  test('carries types, formats, defaults and descriptions', () => {
    const path = ['requestBody', 'content', 'application/json', 'schema', 'properties'];
    expect(valueAt(operation('list_orders'), path)).toEqual({
      customer_id: { type: 'integer', minimum: 1, description: 'Whose orders.' },
      since: { type: ['string', 'null'], format: 'date' },
      until: { type: ['string', 'null'], format: 'date-time' },
      state: { type: ['string', 'null'], enum: ['open', 'closed', null], default: 'open' },
      tags: { type: ['array', 'null'], items: { type: 'string', maxLength: 5 }, maxItems: 2 },
    });
  });
});

describe('the response schema', () => {
  const takes = validator(['responses', '200']);
  const row = { id: 1, placed: '2024-01-01T00:00:00Z', mail: null, lines: [1, 'x'] };

  test.each([
    { rows: [], count: 0 },
    { rows: [row], count: 1 },
    { rows: [row], count: 1, truncated: true },
  ])('takes %j', (answer) => {
    expect(takes(answer)).toBe(true);
  });

  test.each([
    { rows: [] },
    { rows: [], count: 0, truncated: false },
    { rows: [], count: 0, more: 1 },
    { rows: [{ ...row, id: null }], count: 1 },
    { rows: [{ ...row, extra: 1 }], count: 1 },
    { rows: [{ id: 1 }], count: 1 },
  ])('refuses %j', (answer) => {
    expect(takes(answer)).toBe(false);
  });
});

test('with paging a cut answer has the parameters to go on with', { tags: ['capability:paging'] }, () => {
  const capabilities = `
capabilities:
  list:
    sql: SELECT 1
    params: { after: { type: integer }, since: { type: datetime } }
    result: { id: { type: integer, description: Its number. }, placed: { type: datetime } }
    paging: { since: placed, after: id }
`;
  const loaded = load(fileText({ capabilities }));
  if ('faults' in loaded) expect.unreachable(JSON.stringify(loaded.faults));
  const description = describeCapabilities(loaded.config);
  expect(description.manifest).toMatchObject([{ name: 'list', paging: { since: 'placed', after: 'id' } }]);
  const operationPath = ['/api/v1/capabilities/list', 'post', 'responses', '200'];
  const schema = valueAt(description.openapi.paths, [
    ...operationPath,
    'content',
    'application/json',
    'schema',
  ]);
  expect(schema).toMatchObject({
    properties: {
      next: {
        type: 'object',
        properties: { since: { type: 'string', format: 'date-time' }, after: { type: 'integer' } },
        required: ['since', 'after'],
        additionalProperties: false,
      },
    },
    required: ['rows', 'count'],
  });
  const takes = new Ajv2020({ validateFormats: false, strictTypes: false }).compile(Object(schema));
  const answer = { rows: [{ id: 7, placed: null }], count: 1, truncated: true };
  const next = { since: '2026-01-31T00:00:00Z', after: 7 };
  expect(takes(answer)).toBe(true);
  expect(takes({ ...answer, next })).toBe(true);
  for (const other of [{}, { ...next, after: null }, { ...next, more: 1 }])
    expect(takes({ ...answer, next: other })).toBe(false);
  expect(JSON.stringify(openapi)).not.toContain('"next"');
});

test('every error has the one shape', () => {
  const responses = valueAt(operation('bare'), ['responses']);
  expect(Object.keys(Object(responses))).toEqual([
    '200',
    '400',
    '401',
    '403',
    '404',
    '408',
    '429',
    '500',
    '502',
    '503',
    '504',
  ]);
  const shared = valueAt(openapi, ['components', 'responses']);
  for (const [name, response] of Object.entries(Object(shared))) {
    expect(valueAt(response, ['content', 'application/json', 'schema'])).toEqual({
      $ref: `#/components/schemas/${name}`,
    });
  }
  expect(valueAt(openapi, ['components', 'schemas', 'Unavailable'])).toEqual({
    type: 'object',
    properties: {
      error: {
        type: 'object',
        properties: {
          code: {
            type: 'string',
            enum: ['GATEWAY_AGENT_OFFLINE', 'AGENT_BUSY', 'AGENT_DATABASE_UNAVAILABLE'],
            description: 'Machine-readable code.',
          },
          message: { type: 'string', description: 'Text for people.' },
        },
        required: ['code', 'message'],
        additionalProperties: false,
      },
    },
    required: ['error'],
    additionalProperties: false,
  });
});

test('the titles of schemas are fit to be names of types', () => {
  const content = ['content', 'application/json', 'schema'];
  const result = valueAt(operation('list_orders'), ['responses', '200', ...content]);
  expect(valueAt(operation('list_orders'), ['requestBody', ...content, 'title'])).toBe('ListOrdersParams');
  expect(valueAt(result, ['title'])).toBe('ListOrdersResult');
  expect(valueAt(result, ['properties', 'rows', 'items', 'title'])).toBe('ListOrdersRow');
});

test('no SQL, nothing of the database, and the same bytes each time', () => {
  const text = JSON.stringify(describeCapabilities(config()));
  expect(text).not.toContain('canary');
  expect(JSON.stringify(describeCapabilities(config()))).toBe(text);
});

describe('examples', { tags: ['capability:examples'] }, () => {
  const schemaOf = (examples: string): unknown => {
    const capabilities = `
capabilities:
  film:
    sql: SELECT :id, :note
    params: { id: { type: integer }, note: { type: string } }
    result: { one: { type: integer } }
${examples}`;
    const loaded = load(fileText({ capabilities }));
    if ('faults' in loaded) expect.unreachable(JSON.stringify(loaded.faults));
    const body = ['/api/v1/capabilities/film', 'post', 'requestBody', 'content', 'application/json'];
    return valueAt(describeCapabilities(loaded.config).openapi.paths, [...body, 'schema']);
  };

  test('show their parameters, each once, and nothing of what is expected', () => {
    const shown = schemaOf(`    examples:
      - { params: { id: 1 }, expect: { count: 1, rows: [{ one: 77 }] } }
      - { params: { id: 1 }, as: north }
      - { params: { id: 3 }, publish: false }
      - { params: { id: 0.5 }, expect: { error: AGENT_INVALID_PARAMS } }
      - { expect: { max_ms: 100 } }
      - { params: { id: 2, note: null } }
      - { params: { id: null } }`);
    expect(shown).toHaveProperty('examples', [{ id: 1 }, { id: 2 }]);
    expect(JSON.stringify(shown)).not.toContain('77');
  });

  test('leave the schema as it is where none is shown', () => {
    expect(schemaOf('    examples: [{ params: { id: 1 }, publish: false }, {}]')).toEqual(schemaOf(''));
  });
});
