import { expect, test } from 'vitest';
import { faultLines, fileWithParam, load } from '../load.fixture.ts';

test.each([
  '{ type: integer, minimum: 1, maximum: 5, multipleOf: 2, enum: [2, 4], default: 4 }',
  '{ type: number, exclusiveMinimum: 0, exclusiveMaximum: 1, multipleOf: 0.1, default: 0.3 }',
  '{ type: string, minLength: 1, maxLength: 3, pattern: "^\\\\p{L}+$", default: äöü }',
  '{ type: string, format: email, default: a@example.com }',
  '{ type: boolean, default: false }',
  '{ type: date, enum: [2024-02-29], default: 2024-02-29 }',
  '{ type: datetime, default: "2024-02-29T12:00:00+02:00" }',
  '{ type: uuid, required: true }',
  '{ type: array, items: { type: integer, minimum: 1 }, minItems: 1, maxItems: 2, default: [1] }',
  '{ type: object, default: { a: [1, null] } }',
])('%s is accepted', (spec) => {
  expect(faultLines(load(fileWithParam(spec)))).toEqual([]);
});

test.each([
  ['{}', 'type: is required'],
  [
    '{ type: string, minimum: 1 }',
    'minimum: does not fit the type string; accepted: minLength, maxLength, pattern, format, enum, default',
  ],
  [
    '{ type: integer, maxLength: 1 }',
    'maxLength: does not fit the type integer; accepted: minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, enum, default',
  ],
  ['{ type: date, format: date }', 'format: does not fit the type date; accepted: enum, default'],
  ['{ type: object, minItems: 1 }', 'minItems: does not fit the type object; accepted: default'],
  ['{ type: object, enum: [a] }', 'enum: does not fit the type object; accepted: default'],
  [
    '{ type: string, items: { type: string } }',
    'items: does not fit the type string; accepted: minLength, maxLength, pattern, format, enum, default',
  ],
  ['{ type: array }', 'items: is required for the type array'],
  [
    '{ type: array, items: { type: array } }',
    'items.type: must be one of integer, number, string, boolean, date, datetime, uuid',
  ],
  [
    '{ type: array, items: { type: integer, pattern: a } }',
    'items.pattern: does not fit the type integer; accepted: minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, enum',
  ],
  [
    '{ type: array, items: { type: string, default: a } }',
    'items.default: unknown key; accepted: type, minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, minLength, maxLength, pattern, format, enum',
  ],
  ['{ type: integer, minimum: 5, maximum: 4 }', 'maximum: must not be below minimum'],
  ['{ type: string, minLength: 5, maxLength: 4 }', 'maxLength: must not be below minLength'],
  [
    '{ type: integer, minimum: 9007199254740993 }',
    'minimum: must be between -9007199254740991 and 9007199254740991',
  ],
  ['{ type: integer, minimum: a }', 'minimum: must be a number'],
  ['{ type: number, multipleOf: 0 }', 'multipleOf: must be > 0'],
  ['{ type: string, minLength: -1 }', 'minLength: must be >= 0'],
  [
    '{ type: string, pattern: "(" }',
    'pattern: must be a regular expression that JavaScript takes with the `u` flag',
  ],
  [
    '{ type: string, pattern: "\\\\-" }',
    'pattern: must be a regular expression that JavaScript takes with the `u` flag',
  ],
  [
    '{ type: string, format: e-mail }',
    'format: must be one of date, date-time, time, email, uri, uuid, ipv4, ipv6, hostname; did you mean `email`?',
  ],
  ['{ type: string, enum: [] }', 'enum: must have at least 1 entry'],
  ['{ type: string, enum: [a, a] }', 'enum: must not list anything twice'],
  ['{ type: integer, enum: [1, a] }', 'enum.1: must be an integer'],
  ['{ type: integer, minimum: 1, enum: [0, 1] }', 'enum.0: must be >= 1'],
  ['{ type: date, enum: [2023-02-29] }', 'enum.0: must be a date such as "2025-12-31"'],
  ['{ type: integer, default: "5" }', 'default: must be an integer'],
  [
    '{ type: integer, default: 9007199254740993 }',
    'default: must be between -9007199254740991 and 9007199254740991',
  ],
  ['{ type: string, enum: [a, b], default: c }', 'default: must be one of "a", "b"'],
  ['{ type: array, items: { type: integer, maximum: 3 }, default: [1, 5] }', 'default.1: must be <= 3'],
  ['{ type: string, default: null }', 'default: is empty: remove it, an absent parameter is NULL anyway'],
  [
    '{ type: string, required: true, default: a }',
    'default: a required parameter cannot have a default: remove one of the two',
  ],
  ['{ type: string, reqired: true }', 'reqired: unknown key, did you mean `required`?'],
])('%s: %s', (spec, fault) => {
  const lines = faultLines(load(fileWithParam(spec)));
  expect(lines.map((line) => line.replace(/^\S+ capabilities\.ping\.params\.p\./, ''))).toEqual([fault]);
});

test.each([
  ['{ type: string, pattern: "${MISSING}", default: a }', 'pattern'],
  ['{ type: string, pattern: "${MISSING}", enum: [a] }', 'pattern'],
  ['{ type: integer, pattern: "${MISSING}", default: 1 }', 'pattern'],
  ['{ type: array, items: { type: string, pattern: "${MISSING}" }, default: [a] }', 'items.pattern'],
])('%s: nothing is compared with what no variable gives', (spec, path) => {
  expect(faultLines(load(fileWithParam(spec)))).toEqual([
    expect.stringMatching(new RegExp(`p\\.${path}: the environment variable MISSING is not set$`)),
  ]);
});
