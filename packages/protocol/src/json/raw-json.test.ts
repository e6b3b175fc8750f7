import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { rawItems, rawMember, rawMembers } from './raw-json.ts';

const member = (text: string, ...path: readonly string[]): string | undefined =>
  rawMember(Buffer.from(text), ...path)?.toString();

test.each([
  ['{"a":1,"b":{"a":2}}', 'b', '{"a":2}'],
  ['{"b":{"a":2},"a":1}', 'a', '1'],
  [' { "a" : [ 1 , {"b":"]}"} ] , "c" : "x" } ', 'a', '[ 1 , {"b":"]}"} ]'],
  [String.raw`{"a\"b":"\\","c":"\"}"}`, 'c', String.raw`"\"}"`],
  [String.raw`{"\u0061":1e2}`, 'a', '1e2'],
  ['{"long":10.50 }', 'long', '10.50'],
  ['{"é":null}', 'é', 'null'],
  ['{"x":{"a":1}}', 'a', undefined],
  ['{"x":"\\"a\\":1"}', 'a', undefined],
  ['{}', 'a', undefined],
  ['{"aa":1}', 'a', undefined],
])('of %s the member %s is %s', (text, key, value) => {
  expect(member(text, key)).toBe(value);
});

test.each([
  ['{"a":{"b":{"c":1}},"d":2}', ['a', 'b', 'c'], '1'],
  ['{"x":{"b":0},"a": { "y":[{"b":5}], "b" : "v" } }', ['a', 'b'], '"v"'],
  ['{"b":1,"a":{"c":{"b":2}}}', ['a', 'b'], undefined],
  ['{"a":{"c":1},"b":2}', ['a', 'b'], undefined],
  ['{"a":[{"b":1}]}', ['a', 'b'], undefined],
  ['{"a":1,"b":2}', ['a', 'b'], undefined],
  ['{"a":{}}', ['a', 'b'], undefined],
  ['[1]', ['a'], undefined],
])('of %s the path %j is %s', (text, path, value) => {
  expect(member(text, ...path)).toBe(value);
});

test('all members are read with their spelling, whatever their keys are written like', () => {
  const text = String.raw` { "\u0061" : 1.50 , "b\"c" : { "a" : [ 1 ] } , "é" : "}" , "":[] , "__proto__":2 } `;
  expect(Array.from(rawMembers(Buffer.from(text)), ([key, value]) => [key, String(value)])).toEqual([
    ['a', '1.50'],
    ['b"c', '{ "a" : [ 1 ] }'],
    ['é', '"}"'],
    ['', '[]'],
    ['__proto__', '2'],
  ]);
  expect(rawMembers(Buffer.from(' { } ')).size).toBe(0);
});

test('items keep their spelling', () => {
  expect(rawItems(Buffer.from(' [ {"a":[1,2]} , "x,]" ,1.0,[ ] ]')).map(String)).toEqual([
    '{"a":[1,2]}',
    '"x,]"',
    '1.0',
    '[ ]',
  ]);
  expect(rawItems(Buffer.from('[]'))).toEqual([]);
});

const blanks = fc.constantFrom(undefined, 1, '\t', '\n ');

test('members and items are those that JSON.parse finds', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()), blanks, (object, indent) => {
      fc.pre(!Object.hasOwn(object, '__proto__'));
      const bytes = Buffer.from(JSON.stringify(object, undefined, indent));
      const members = Array.from(rawMembers(bytes), ([key, raw]) => [
        key,
        JSON.parse(String(raw)) as unknown,
      ]);
      expect(Object.fromEntries(members)).toEqual(JSON.parse(String(bytes)));
      for (const [key, value] of Object.entries(object)) {
        const raw = rawMember(bytes, key);
        expect(JSON.parse(String(raw))).toEqual(JSON.parse(JSON.stringify(value)));
      }
      const array = Buffer.from(JSON.stringify(Object.values(object), undefined, indent));
      expect(rawItems(array).map((item) => JSON.parse(String(item)) as unknown)).toEqual(
        JSON.parse(String(array)),
      );
    }),
  );
});
