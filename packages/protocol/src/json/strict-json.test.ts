import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { JSON_DEPTH_MAX, JsonError, parseStrictJson } from './strict-json.ts';

const parse = (text: string): unknown => parseStrictJson(Buffer.from(text));
const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
const nestedObjects = (levels: number): string => '{"a":'.repeat(levels) + '1' + '}'.repeat(levels);

test.each<[string, string]>([
  ['a key twice', '{"a":1,"a":1}'],
  ['a key twice, once escaped', String.raw`{"a":1,"\u0061":2}`],
  ['a key twice with a quote in it', String.raw`{"\"":1,"\u0022":2}`],
  ['a key twice in a nested object', '{"x":{"a":1,"b":2,"a":3}}'],
  ['a key twice in an object in an array', '[1,[{"a":1,"a":{}}]]'],
  ['a key twice that looks like an index', '{"1":1,"1":2}'],
  ['the empty key twice', '{"":1,"":2}'],
  ['a key thrice', '{"a":1,"a":2,"a":3}'],
  ['__proto__', '{"__proto__":{}}'],
  ['__proto__ escaped and nested', String.raw`[{"a":{"__pr\u006fto__":1}}]`],
  ['__proto__ twice', '{"__proto__":1,"__proto__":2}'],
  ['a number beyond a double', '{"a":1e999}'],
  ['a negative number beyond a double', '[-1e999]'],
  ['a byte order mark', '\ufeff{}'],
  ['two values', '{}{}'],
  ['two values on two lines', '1\n2'],
  ['nothing', ''],
  ['blanks only', ' \n'],
  ['a trailing comma', '[1,]'],
  ['a comment', '{/* */}'],
  ['single quotes', "{'a':1}"],
  ['NaN', 'NaN'],
  ['a raw line break in a string', '"a\nb"'],
])('I23: %s is refused', (_what, text) => {
  expect(() => parse(text)).toThrow(JsonError);
});

test.each<[string, string, unknown]>([
  [
    'equal keys in different objects',
    '{"a":{"a":1},"b":[{"a":2},{"a":3}]}',
    { a: { a: 1 }, b: [{ a: 2 }, { a: 3 }] },
  ],
  [
    'colons, quotes and backslashes in strings',
    String.raw`{"a:\"":"::\\","b\\":":"}`,
    { 'a:"': '::\\', 'b\\': ':' },
  ],
  ['a key beside its look-alike', '{"a":1,"а":2}', { a: 1, а: 2 }],
  ['keys of every object', '{"constructor":1,"toString":2}', { constructor: 1, toString: 2 }],
  ['a number below the smallest double', '[1e-999]', [0]],
  ['blanks around the value', ' {} \r\n', {}],
  ['a byte order mark in a string', '"\ufeff"', '\ufeff'],
])('I23: %s is read', (_what, text, value) => {
  expect(parse(text)).toEqual(value);
});

test.each([nested, nestedObjects])('I23: 32 levels are read, 33 are not', (text) => {
  expect(JSON_DEPTH_MAX).toBe(32);
  expect(() => parse(text(32))).not.toThrow();
  expect(() => parse(text(33))).toThrow(JsonError);
});

test.each([nested, nestedObjects])('I23: 200,000 levels are refused within a second', (text) => {
  const bytes = Buffer.from(text(200_000));
  const start = performance.now();
  expect(() => parseStrictJson(bytes)).toThrow(JsonError);
  expect(performance.now() - start).toBeLessThan(1000);
});

test('I23: bytes that are not UTF-8 are refused', () => {
  const broken = [[0xff], [0xc3], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80]];
  for (const bytes of broken) {
    expect(() => parseStrictJson(Buffer.from([0x22, ...bytes, 0x22]))).toThrow(JsonError);
  }
});

const hasProto = (text: string): boolean => text.includes('"__proto__"');

test('I23: what JSON.stringify prints is read as the same value', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 20, stringUnit: 'binary' }), fc.nat(4), (value, indent) => {
      const text = JSON.stringify(value, undefined, indent);
      fc.pre(!hasProto(text));
      // -0 prints as 0.
      expect(parse(text)).toEqual(JSON.parse(text));
      expect(JSON.stringify(parse(text), undefined, indent)).toBe(text);
    }),
    { numRuns: 500 },
  );
});

/** The same key, some of its characters escaped. */
const escaped = fc
  .tuple(fc.string({ minLength: 1 }), fc.array(fc.boolean(), { minLength: 1 }))
  .map(([key, choices]) => {
    const write = (char: string, at: number): string =>
      choices[at % choices.length] === true
        ? `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
        : JSON.stringify(char).slice(1, -1);
    return { plain: JSON.stringify(key), other: `"${Array.from(key, write).join('')}"` };
  });

test('I23: a key is seen twice however it is written and wherever it stands', () => {
  fc.assert(
    fc.property(escaped, fc.jsonValue({ maxDepth: 3 }), fc.nat(5), ({ plain, other }, value, depth) => {
      const inner = `{${plain}:${JSON.stringify(value)},"between":":{",${other}:1}`;
      expect(() => parse('[{"a":'.repeat(depth) + inner + '}]'.repeat(depth))).toThrow(JsonError);
    }),
  );
});

test('I23: arbitrary text is read as JSON.parse reads it, or refused', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.json(),
        fc.string({ unit: fc.constantFrom('{', '}', '[', ']', '"', ':', ',', '\\', 'a', '1') }),
      ),
      (text) => {
        let value: unknown;
        try {
          value = parse(text);
        } catch (error) {
          expect(error).toBeInstanceOf(JsonError);
          return;
        }
        expect(value).toEqual(JSON.parse(text));
      },
    ),
    { numRuns: 1000 },
  );
});

test('I23: a refusal does not quote the text', () => {
  for (const text of ['{"secret":1,"secret":2}', '{"secret"', '{"__proto__":"secret"}']) {
    expect(() => parse(text)).toThrow(/^(?!.*secret)/);
  }
});
