import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { testDatabase, type Answer } from '@svc/testkit';
import { PARAMETERS, richFile, TABLES, type ParameterSample } from './openapi-capabilities.testing.ts';
import {
  operationOf,
  parseOpenApi,
  requestSchema,
  responseOf,
  type JsonSchema,
  type OpenApi,
} from './openapi-document.testing.ts';
import { isRecord } from './mcp-schemas.testing.ts';
import { startPair, type Pair } from './pair.testing.ts';

/** For texts that either have the format or are far from it, as those below. */
const FORMATS: Readonly<Record<string, RegExp>> = {
  date: /^\d{4}-\d\d-\d\d$/,
  'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/,
  time: /^\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)$/,
  email: /^[^@\s]+@[^@\s]+\.[^@\s]+$/,
  uri: /^https?:\/\/\S+$/,
  uuid: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  ipv4: /^\d{1,3}(\.\d{1,3}){3}$/,
  ipv6: /^[0-9a-f]*:[0-9a-f:]+$/,
  hostname: /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i,
  double: /^/,
};

/** Values at and beyond the bounds, of other types, and of the types but another form. */
const POOLS: readonly (readonly unknown[])[] = [
  [0, 1, -1, 2, 3, 5, 10, 11, 100, 101, 0.5, -0.5, 0.51, 0.3, 0.25, 0.1, 1.1, 1e-9, 1e300, -1e300],
  [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER + 1, Number.MIN_SAFE_INTEGER, -(2 ** 53), 2 ** 63],
  ['', 'a', 'ab', 'abcde', 'abcdef', 'AB1', 'XY123456789', 'ä', '🐈', '🐈🐈', '5', 'true', 'null', 'x'],
  ['2024-02-29', '24-2-29', '2024-02-29T23:59:59Z', '2024-02-29 23:59', '23:59:59Z', '@', 'a b'],
  ['a@example.org', 'https://example.org/', '123e4567-e89b-12d3-a456-426614174000', '192.0.2.1', '::1'],
  [true, false, null, [], [0], [1, 2, 8], [9], [1, 2, 3, 4], ['abc'], ['abcd'], [''], ['x', 'z'], ['AB']],
  [[null], [true, 1], [[1]], [0.5], [0.3], ['2024-02-29'], ['2024-02-29T23:59:59Z'], [2 ** 53]],
  [{}, { a: 1 }, { b: null }],
];

let gateway: Pair;
let document: OpenApi;
beforeAll(async () => {
  const { host, port, name, user, password } = await testDatabase({ sql: [TABLES] });
  gateway = await startPair({ keys: { one: 'no_params', missing: 'no_such' } });
  await gateway.startAgent('rich', richFile({ driver: 'postgres', host, port, name, user, password }));
  document = parseOpenApi((await gateway.ask('/openapi.json')).text);
});
afterAll(() => gateway.stop());

// Steps are decimal: 0.3 is a multiple of 0.1.
const ajv = new Ajv2020({ strict: true, multipleOfPrecision: 9, formats: FORMATS });

function compile(schema: JsonSchema): ValidateFunction {
  return ajv.compile(schema);
}

/** The schema of an answer, with what it refers to beside it. */
function answerSchema(capability: string, status: number): JsonSchema {
  const schema = responseOf(document, capability, status)?.content['application/json'].schema;
  if (schema === undefined) throw new Error(`${capability} does not describe ${status}`);
  const { $ref } = schema;
  if (typeof $ref !== 'string') return schema;
  return document.components.schemas[$ref.replace('#/components/schemas/', '')] ?? {};
}

test('each schema is JSON Schema 2020-12 in the strictest reading', { tags: ['openapi:request'] }, () => {
  const names = Object.values(document.paths).map(({ post }) => post.operationId);
  for (const name of names) {
    compile(requestSchema(document, name));
    for (const status of Object.keys(operationOf(document, name).responses)) {
      compile(answerSchema(name, Number(status)));
    }
  }
  expect(names.length).toBeGreaterThan(100);
});

describe('real answers are as described', { tags: ['openapi:response', 'openapi:errors'] }, () => {
  const post = { method: 'POST', body: '{}' };
  const path = '/api/v1/capabilities/no_params';
  const answers: readonly (readonly [string, number, string | undefined, () => Promise<Answer>])[] = [
    ['every_result', 200, undefined, () => gateway.call('every_result', {})],
    ['every_result', 200, undefined, () => gateway.call('every_result', { up_to: 0 })],
    ['cut', 200, undefined, () => gateway.call('cut', {})],
    ['described', 200, undefined, () => gateway.call('described', {})],
    ['no_params', 200, undefined, () => gateway.call('no_params', {})],
    ['divide', 400, 'AGENT_INVALID_PARAMS', () => gateway.call('divide', {})],
    ['divide', 400, 'GATEWAY_INVALID_REQUEST', () => gateway.call('divide', [])],
    ['no_params', 401, 'GATEWAY_UNAUTHORIZED', () => gateway.ask(path, { ...post, key: null })],
    ['cut', 403, 'GATEWAY_CAPABILITY_NOT_PERMITTED', () => gateway.call('cut', {}, 'one')],
    ['cut', 404, 'GATEWAY_CAPABILITY_NOT_FOUND', () => gateway.call('no_such', {}, 'missing')],
    ['divide', 502, 'AGENT_QUERY_FAILED', () => gateway.call('divide', { by: 0 })],
    ['over_limit', 502, 'AGENT_RESULT_TOO_LARGE', () => gateway.call('over_limit', {})],
    ['slow', 504, 'AGENT_QUERY_TIMEOUT', () => gateway.call('slow', {})],
  ];

  test.each(answers)('%s with %d %s', async (capability, status, code, ask) => {
    const { status: real, json, headers } = await ask();
    expect(real).toBe(status);
    const valid = compile(answerSchema(capability, status));
    expect(valid(json) ? [] : valid.errors).toEqual([]);
    expect(headers.get('x-request-id')).toMatch(/./);
    if (code === undefined) return;
    // The examples are the codes of a status, with the words that callers see.
    const { examples = {} } = responseOf(document, capability, status)?.content['application/json'] ?? {};
    expect(Object.keys(examples)).toContain(code);
    if (!code.includes('INVALID')) expect(examples[code]?.value).toEqual(json);
  });

  test('every field of every type, with and without a value', async () => {
    const { json, text } = await gateway.call('every_result', {});
    expect(text).toContain('"whole":1234567890123456789,');
    expect(json).toMatchObject({
      rows: [
        {
          id: 1,
          grid: [
            [1, 2],
            [3, 4],
          ],
          tags: ['a', null, 'b c'],
          list: [[1, [2]], { c: 3 }, null],
        },
        { id: 2, part: null, document: {} },
        { id: 3, whole: null, part: null, text: null, flag: null, day: null, moment: null, tags: null },
      ],
      count: 3,
    });
  });

  test('a field too many, too few or of another type would be noticed', () => {
    const valid = compile(answerSchema('no_params', 200));
    expect(valid({ rows: [{ one: 1 }], count: 1 })).toBe(true);
    for (const row of [{ one: 1, two: 2 }, {}, { one: '1' }, { one: null }]) {
      expect(valid({ rows: [row], count: 1 })).toBe(false);
    }
  });
});

describe(
  'the service takes what the schema takes',
  { tags: ['openapi:request', 'openapi:agreement'] },
  () => {
    test.each(Object.entries(PARAMETERS))('%s', async (name, sample) => {
      const takes = compile(requestSchema(document, name));
      const seen = { taken: 0, refused: 0 };
      await fc.assert(
        fc.asyncProperty(bodies(sample), async (body) => {
          const expected = takes(body) && isWithinBigint(sample.params, body);
          seen[expected ? 'taken' : 'refused']++;
          const { status, json } = await gateway.call(name, body);
          expect({ status, body }).toEqual({ status: expected ? 200 : 400, body });
          if (!expected) expect(json).toMatchObject({ error: { code: 'AGENT_INVALID_PARAMS' } });
        }),
        { numRuns: 120 },
      );
      expect(Math.min(seen.taken, seen.refused)).toBeGreaterThan(10);
    });
  },
);

/** What no schema says, since most readers of schemas would round such a bound. */
function isWithinBigint(params: ParameterSample['params'], body: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(params).every(([name, { type, items }]) => {
    const isInteger = type === 'integer' || (isRecord(items) && items['type'] === 'integer');
    return (
      !isInteger ||
      [body[name]].flat().every((value) => typeof value !== 'number' || Math.abs(value) < 2 ** 63)
    );
  });
}

/**
 * Bodies that are fine but for a few changes. Left out is what a schema cannot say: U+0000; and numbers that lie closer to a step than validators reckon.
 */
function bodies({ params, fitting }: ParameterSample): fc.Arbitrary<Record<string, unknown>> {
  const names = Object.keys(params);
  const anyText = fc.string({ unit: 'grapheme', maxLength: 12 });
  const thousandths = fc.integer({ min: -10_000, max: 10_000 }).map((count) => count / 1000);
  const value = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...POOLS.flat()) },
    { weight: 1, arbitrary: fc.oneof(fc.integer(), thousandths, anyText) },
  );
  const change = fc.tuple(fc.constantFrom(...names, 'unknown'), fc.option(value, { nil: undefined }));
  return fc
    .tuple(
      fc.record(Object.fromEntries(names.map((name) => [name, fc.constantFrom(...(fitting[name] ?? []))]))),
      fc.subarray(names.filter((name) => params[name]?.['required'] !== true)),
      fc.array(change, { maxLength: 2 }),
    )
    .map(([all, left, changes]) => {
      const kept = Object.entries(all).filter(([name]) => !left.includes(name));
      const changed = [...kept, ...changes].filter(([, given]) => given !== undefined);
      const removed = new Set(changes.filter(([, given]) => given === undefined).map(([name]) => name));
      return Object.fromEntries(changed.filter(([name]) => !removed.has(name)));
    });
}
