import { expect, test } from 'vitest';
import { atOnce } from '@svc/edge';
import { parseDescription } from '../../../agents/description.ts';
import { toolsOf } from './tool.ts';

const INPUT = {
  title: 'find_params',
  type: 'object',
  properties: {
    id: { type: 'integer', minimum: 1 },
    kind: { type: ['string', 'null'], enum: ['a', 'b', null], description: 'Kind' },
    ids: { type: ['array', 'null'], items: { type: 'integer' } },
    title: { type: ['string', 'null'], maxLength: 5 },
  },
  required: ['id'],
  additionalProperties: false,
  examples: [{ id: 1 }],
};
const fields = {
  mail: { type: ['string', 'null'] },
  format: { type: 'string' },
  size: { type: 'integer' },
  day: { type: 'string', format: 'date' },
  moment: { type: ['string', 'null'], format: 'date-time', description: 'When.' },
};
const resultOf = (properties: object): object => ({
  title: 'find_result',
  type: 'object',
  properties: { rows: { type: 'array', items: { type: 'object', properties } }, next: { properties } },
});
const OUTPUT = resultOf(fields);
const RESPONSE = resultOf({
  ...fields,
  mail: { type: ['string', 'null'], format: 'email' },
  format: { type: 'string', format: 'uuid' },
  size: { type: 'integer', format: 'int32' },
});

const post = {
  operationId: 'find',
  summary: 'Find',
  description: 'Finds things.',
  requestBody: { content: { 'application/json': { schema: INPUT } } },
  responses: { '200': { content: { 'application/json': { schema: RESPONSE } } } },
};
const openapi = {
  openapi: '3.1.0',
  info: { title: 't', version: '1' },
  paths: { '/api/v1/capabilities/find': { post } },
};
const DESCRIPTION = { openapi, manifest: [{ name: 'find', exposed: true, timeout_ms: 1 }] };

test('a tool is made of the operation, without the null of parameters and the formats that nobody checks', () => {
  const [tool, ...others] = atOnce(toolsOf(DESCRIPTION, true));
  expect(others).toEqual([]);
  expect(tool?.name).toBe('find');
  expect(JSON.parse(tool?.json ?? '')).toEqual({
    name: 'find',
    title: 'Find',
    description: 'Finds things.',
    inputSchema: {
      type: 'object',
      properties: {
        id: { type: 'integer', minimum: 1 },
        kind: { type: 'string', enum: ['a', 'b'], description: 'Kind' },
        ids: { type: 'array', items: { type: 'integer' } },
        title: { type: 'string', maxLength: 5 },
      },
      required: ['id'],
      additionalProperties: false,
      examples: [{ id: 1 }],
    },
    outputSchema: OUTPUT,
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  });
});

test('the schema of results can be left out', { tags: ['setting:GATEWAY_MCP_OUTPUT_SCHEMA'] }, () => {
  const [[whole], [short]] = [atOnce(toolsOf(DESCRIPTION, true)), atOnce(toolsOf(DESCRIPTION, false))];
  const { outputSchema, ...others } = JSON.parse(whole?.json ?? '');
  expect(outputSchema).toEqual(OUTPUT);
  expect(JSON.parse(short?.json ?? '')).toEqual(others);
});

const many = <T>(count: number, value: T): Record<string, T> =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}`, value]));
/** About as many members as an object may have, and items as fit. */
const MEMBERS = 99_000;
const ITEMS = 1_000_000;
/** As `inSlices` gives it. */
const SLICE_MS = 5;
const NULLABLE = { type: ['integer', 'null'], description: 'Some number or none' };

test.each<[string, object, object]>([
  ['parameters', { properties: many(MEMBERS, NULLABLE) }, {}],
  [
    'values of a parameter',
    { properties: { a: { type: ['integer', 'null'], enum: [null, ...Array(ITEMS).fill(1)] } } },
    {},
  ],
  ['rules of a parameter', { properties: { a: { ...NULLABLE, ...many(MEMBERS, 'a rule') } } }, {}],
  ['fields', {}, resultOf(many(MEMBERS, { type: 'string', format: 'email' }))],
  ['fields of fields', {}, resultOf(many(99, many(1500, { a: 1 })))],
  ['lists', {}, { type: 'object', rules: Array.from({ length: ITEMS }, () => []) }],
])('a long tool of many %s keeps others waiting for less than 100 ms', async (_name, input, output) => {
  const operation = {
    requestBody: { content: { 'application/json': { schema: input } } },
    responses: { '200': { content: { 'application/json': { schema: output } } } },
  };
  const paths = { '/api/v1/capabilities/find': { post: operation } };
  // What is long is known from its parsing.
  const description = { ...DESCRIPTION, openapi: { ...openapi, paths } };
  const work = toolsOf(await parseDescription(Buffer.from(JSON.stringify(description))), true);
  let longestMs = 0;
  for (let over = false; !over;) {
    const [startedAt, cpu] = [performance.now(), process.cpuUsage()];
    while (!over && performance.now() < startedAt + SLICE_MS) over = work.next().done === true;
    const { user, system } = process.cpuUsage(cpu);
    // Of two clocks the one that counts no work of other processes, or of other threads of this one.
    longestMs = Math.max(longestMs, Math.min((user + system) / 1000, performance.now() - startedAt));
  }
  expect(longestMs).toBeLessThan(100);
});
