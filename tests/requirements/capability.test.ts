import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { testDatabase, type TestDatabase } from '@svc/testkit';
import { expectRefusal, startStation, type Station } from './station.testing.ts';

const integer = { type: 'integer' };
const text = { type: 'string' };

const LONGEST_NAME = `a${'b'.repeat(47)}`;
const LONGEST_PARAM = '_'.padEnd(63, 'a');

const CAPABILITIES = {
  described: {
    description: 'Greets a reader.',
    sql: "select 'hello ' || :who::text as greeting, :day::date as day, 'hidden' as secret",
    params: {
      who: { ...text, required: true, description: 'Whom to greet.' },
      day: { type: 'date', description: 'The day.' },
    },
    result: {
      day: { type: 'date', nullable: true },
      greeting: { ...text, description: 'What to say.', format: 'greeting', nullable: false },
    },
  },
  defaults: {
    sql: 'select :a::bigint as a, :b::text as b, :c::boolean is null as c, :d::text[]::text as d',
    params: {
      a: { ...integer, default: 7 },
      b: { ...text, default: '' },
      c: { type: 'boolean' },
      d: { type: 'array', items: text, default: ['x'] },
    },
    result: { a: integer, b: text, c: { type: 'boolean' }, d: text },
  },
  least: {
    sql: 'select :id::bigint as id',
    params: { id: { ...integer, minimum: 3 } },
    result: { id: integer },
  },
  colons: {
    sql: "select ':no'::text || :yes::text as t, '{1,2}'::int[] as a -- :neither\n /* :nor */",
    params: { yes: text },
    result: { t: text, a: { type: 'array' } },
  },
  [LONGEST_NAME]: {
    sql: `select :${LONGEST_PARAM}::text as t`,
    params: { [LONGEST_PARAM]: text },
    result: { t: text },
  },
  hidden: { sql: 'select 1 as one', expose_in_openapi: false, result: { one: integer } },
  shown: { sql: 'select 1 as one', expose_in_openapi: true, result: { one: integer } },
  order: {
    sql: 'select 1 as a, 2 as b, 3 as c, 4 as unlisted',
    result: { c: integer, a: integer, b: integer },
  },
  divide: {
    sql: 'select 100 / :by::bigint as quotient',
    params: { by: { ...integer, required: true } },
    result: { quotient: integer },
  },
};

let database: TestDatabase;
let station: Station;
beforeAll(async () => {
  database = await testDatabase();
  station = await startStation(database);
  await station.agent(station.file({ capabilities: CAPABILITIES }));
});
afterAll(() => station.stop());

function record(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {};
}

function at(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((inner, name) => record(inner)[name], value);
}

async function operation(name: string): Promise<unknown> {
  const { json } = await station.get('/openapi.json');
  return at(json, 'paths', `/api/v1/capabilities/${name}`, 'post');
}

test(
  'descriptions, formats and null are told in the OpenAPI description',
  {
    tags: [
      'capability:description',
      'capability:params.description',
      'capability:result.description',
      'capability:result.format',
      'capability:result.nullable',
    ],
  },
  async () => {
    const described = await operation('described');
    expect(at(described, 'description')).toBe('Greets a reader.');
    const request = at(described, 'requestBody', 'content', 'application/json', 'schema', 'properties');
    expect(at(request, 'who', 'description')).toBe('Whom to greet.');
    expect(at(request, 'day', 'description')).toBe('The day.');
    const schema = at(described, 'responses', '200', 'content', 'application/json', 'schema');
    const fields = at(schema, 'properties', 'rows', 'items', 'properties');
    expect(fields).toEqual({
      day: { type: ['string', 'null'], format: 'date' },
      greeting: { type: 'string', format: 'greeting', description: 'What to say.' },
    });
    const order = at(await operation('order'), 'responses', '200', 'content', 'application/json', 'schema');
    expect(at(order, 'properties', 'rows', 'items', 'properties', 'a', 'type')).toEqual(['integer', 'null']);
  },
);

test(
  'only listed fields leave, in the order of the file',
  { tags: ['capability:result', 'rest:rows', 'rest:count'] },
  async () => {
    expect((await station.call('order')).text).toBe('{"rows":[{"c":3,"a":1,"b":2}],"count":1}');
  },
);

test(
  'parameters are :name, and neither casts nor quotes nor comments',
  { tags: ['capability:sql'] },
  async () => {
    const { json } = await station.call('colons', { yes: '!' });
    expect(json).toEqual({ rows: [{ t: ':no!', a: [1, 2] }], count: 1 });
  },
);

describe('parameters', () => {
  test('required', { tags: ['capability:params.required', 'error:AGENT_INVALID_PARAMS'] }, async () => {
    expectRefusal(await station.call('described'), 400, 'AGENT_INVALID_PARAMS', 'who: is required');
    expectRefusal(
      await station.call('described', { who: null }),
      400,
      'AGENT_INVALID_PARAMS',
      'who: is required',
    );
    const { json } = await station.call('described', { who: 'Ann' });
    expect(json).toEqual({ rows: [{ day: null, greeting: 'hello Ann' }], count: 1 });
  });

  test(
    'an absent and a null optional one are NULL, or the default',
    {
      tags: ['capability:params.absent', 'capability:params.default'],
    },
    async () => {
      const row = { a: 7, b: '', c: true, d: '{x}' };
      const nulls = { a: null, b: null, c: null, d: null };
      for (const params of [{}, nulls]) {
        expect((await station.call('defaults', params)).json).toEqual({ rows: [row], count: 1 });
      }
      const { json } = await station.call('defaults', { a: 0, b: 'y', c: false, d: [] });
      expect(json).toEqual({ rows: [{ a: 0, b: 'y', c: false, d: '{}' }], count: 1 });
    },
  );

  test('minimum', { tags: ['capability:params.minimum'] }, async () => {
    expect((await station.call('least', { id: 3 })).json).toEqual({ rows: [{ id: 3 }], count: 1 });
    expectRefusal(await station.call('least', { id: 2 }), 400, 'AGENT_INVALID_PARAMS', 'id: must be >= 3');
  });

  test(
    'all that is wrong is told on one line, without any value',
    {
      tags: ['error:AGENT_INVALID_PARAMS', 'error:silence'],
    },
    async () => {
      const answer = await station.call('defaults', {
        a: 'canary',
        b: 1,
        d: ['ok', 5],
        canary_x: 1,
        'canary y': 2,
      });
      const message =
        'a: must be an integer; b: must be a string; d[1]: must be a string; canary_x: unknown parameter; an unknown parameter';
      expect(answer.text).not.toContain('canary y');
      expectRefusal(answer, 400, 'AGENT_INVALID_PARAMS', message);
    },
  );

  test('the longest names can be called', { tags: ['capability:params', 'file:capabilities'] }, async () => {
    const { json } = await station.call(LONGEST_NAME, { [LONGEST_PARAM]: 'x' });
    expect(json).toEqual({ rows: [{ t: 'x' }], count: 1 });
  });
});

test(
  'a failure of the query tells nothing of it',
  { tags: ['error:AGENT_QUERY_FAILED', 'error:silence'] },
  async () => {
    expectRefusal(
      await station.call('divide', { by: 0 }),
      502,
      'AGENT_QUERY_FAILED',
      'the query could not be completed',
    );
    expect((await station.call('divide', { by: 5 })).json).toEqual({ rows: [{ quotient: 20 }], count: 1 });
  },
);

test('expose_in_openapi', { tags: ['capability:expose_in_openapi'] }, async () => {
  expect(await operation('hidden')).toBeUndefined();
  expect(await operation('shown')).toBeDefined();
  expect(await operation('order')).toBeDefined();
  expect((await station.call('hidden')).json).toEqual({ rows: [{ one: 1 }], count: 1 });
});
