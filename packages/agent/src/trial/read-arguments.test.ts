import { expect, test } from 'vitest';
import type { Param, ParamSchema } from '../capabilities/model.ts';
import { claimsOf, givenTwice, paramsOf, readAssignments } from './read-arguments.ts';

function param(name: string, schema: ParamSchema, from?: string): Param {
  const position = { line: 1, column: 1 };
  return { name, required: false, schema, position, ...(from === undefined ? {} : { from }) };
}

const PARAMS = [
  param('i', { type: 'integer' }),
  param('n', { type: 'number' }),
  param('s', { type: 'string' }),
  param('b', { type: 'boolean' }),
  param('o', { type: 'object' }),
  param('is', { type: 'array', items: { type: 'integer' } }),
  param('ss', { type: 'array', items: { type: 'string' } }),
];

test.each([
  ['a number as it is written', ['i=9007199254740993', 'n=1.50'], '{"i":9007199254740993,"n":1.50}'],
  ['text that looks like a number', ['s=7'], '{"s":"7"}'],
  ['text with an equals sign, and none', ['s=a=b'], '{"s":"a=b"}'],
  ['an empty text', ['s='], '{"s":""}'],
  ['null where it is no text', ['i=null', 's=null'], '{"i":null,"s":"null"}'],
  ['what does not fit, for the check to refuse', ['i=x', 'b=yes', 'o=['], '{"i":"x","b":"yes","o":"["}'],
  ['booleans and objects', ['b=true', 'o={"a":1}'], '{"b":true,"o":{"a":1}}'],
  ['a list as JSON', ['is=[1, 2]'], '{"is":[1, 2]}'],
  ['a list by its items', ['is=1', 'ss=1', 'is=2'], '{"is":[1,2],"ss":["1"]}'],
  ['a name that is not declared', ['__proto__=1'], '{"__proto__":"1"}'],
])('reads %s', (_, texts, expected) => {
  const read = readAssignments(texts);
  expect(read.ok && paramsOf(read.pairs, PARAMS)).toBe(expected);
});

test.each(['i', '=1', ''])('%j assigns nothing', (text) => {
  expect(readAssignments([text]).ok).toBe(false);
});

test('what is no list may be given once', () => {
  const pairs = ['i', 'is', 'i', 'is', 'other', 'other'].map((name) => [name, '1'] as const);
  expect(givenTwice(pairs, PARAMS)).toEqual(['i', 'other']);
});

test('claims have the types of the parameters that take them, else those of their texts', () => {
  const params = [
    param('tenant', { type: 'string' }, 'principal.claims.tenant'),
    param('region', { type: 'integer' }, 'principal.claims.area'),
  ];
  const pairs = [
    ['tenant', '7'],
    ['area', '7'],
    ['other', '7'],
    ['groups', '["a"]'],
    ['name', 'north'],
  ] as const;
  expect(claimsOf(pairs, params)).toEqual({ tenant: '7', area: 7, other: 7, groups: ['a'], name: 'north' });
});
