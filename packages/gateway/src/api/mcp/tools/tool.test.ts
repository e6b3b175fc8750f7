import { expect, test } from 'vitest';
import { atOnce } from '@svc/edge';
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
