import { expect, test } from 'vitest';
import type { Example } from '../capabilities/example.ts';
import type { Capability, ParamSchema } from '../capabilities/model.ts';
import { exampleCall } from './example-call.ts';

const position = { line: 1, column: 1 };

function capabilityOf(name: string, schema: ParamSchema, more: { readonly from?: string } = {}): Capability {
  return {
    name,
    description: '',
    sql: '',
    params: [{ name: 'p', required: true, schema, position, ...more }],
    result: [],
    limits: { timeoutMs: 1, maxRows: 1, maxBytes: 2, onLimit: 'truncate' },
    allowFunctions: [],
    allowForeignTables: [],
    exposeInOpenapi: true,
    position,
    sqlPosition: position,
  };
}

const SCHEMAS: readonly ParamSchema[] = [
  { type: 'integer' },
  { type: 'integer', minimum: 10, multipleOf: 4 },
  { type: 'integer', maximum: -3 },
  { type: 'integer', exclusiveMinimum: 5, maximum: 6 },
  { type: 'number', minimum: 0.5, maximum: 0.9 },
  { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1 },
  { type: 'string', minLength: 7, maxLength: 8 },
  { type: 'string', format: 'email' },
  { type: 'string', enum: ['b', 'c'] },
  { type: 'boolean' },
  { type: 'date' },
  { type: 'datetime' },
  { type: 'uuid' },
  { type: 'array', minItems: 2, items: { type: 'uuid' } },
  { type: 'object' },
];

test.each(SCHEMAS.map((schema) => [JSON.stringify(schema), schema] as const))(
  'a value is made up for %s that the capability takes',
  (_, schema) => {
    expect(exampleCall([capabilityOf('one', schema)])?.capability).toBe('one');
  },
);

test('a capability for which nothing can be made up is passed over, and one that depends on who calls is the last', () => {
  const pattern = capabilityOf('pattern', { type: 'string', pattern: '^x[0-9]{3}$' });
  const pinned = capabilityOf('pinned', { type: 'string' }, { from: 'principal.subject' });
  const plain = capabilityOf('plain', { type: 'integer', minimum: 3 });
  expect(exampleCall([pattern, pinned, plain])).toEqual({ capability: 'plain', params: { p: 3 } });
  expect(exampleCall([pattern, pinned])).toEqual({ capability: 'pinned', params: {} });
  expect(exampleCall([pattern])).toBeUndefined();
});

test('the first example that is published goes before what is made up', () => {
  const example = (id: number, isPublished: boolean): Example => ({
    params: { p: id },
    isPublished,
    expect: {},
    position,
  });
  const plain = capabilityOf('plain', { type: 'integer' });
  const quiet = { ...capabilityOf('quiet', { type: 'integer' }), examples: [example(5, false)] };
  const shown = {
    ...capabilityOf('shown', { type: 'integer' }),
    examples: [example(6, false), example(7, true)],
  };
  expect(exampleCall([plain, quiet, shown])).toEqual({ capability: 'shown', params: { p: 7 } });
  expect(exampleCall([quiet])).toEqual({ capability: 'quiet', params: { p: 1 } });
});

test('what needs no parameter goes before what needs a key, of which there may be no row', () => {
  const get = capabilityOf('get', { type: 'integer' });
  const list = { ...capabilityOf('list', { type: 'integer' }), params: [] };
  expect(exampleCall([get, list])).toEqual({ capability: 'list', params: {} });
});
