import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Capability, Param, ParamSchema } from './model.ts';
import { compileParameters, InvalidParams } from './parameters.ts';
import { compareDecimals, readDecimal } from './values/decimal.ts';

const position = { line: 1, column: 1 };

function capability(params: readonly Param[]): Capability {
  return {
    name: 'c',
    description: '',
    sql: 'SELECT 1',
    params,
    result: [],
    limits: { timeoutMs: 1, maxRows: 1, maxBytes: 2, onLimit: 'truncate' },
    allowFunctions: [],
    allowForeignTables: [],
    exposeInOpenapi: true,
    position,
    sqlPosition: position,
  };
}

function optional(name: string, schema: ParamSchema): Param {
  return { name, required: false, schema, position };
}

function required(name: string, schema: ParamSchema): Param {
  return { name, required: true, schema, position };
}

/** What the body of text or bytes is read as, or why it is refused. */
function read(params: readonly Param[], body: string | Uint8Array): unknown {
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
  try {
    return compileParameters(capability(params))(bytes);
  } catch (error) {
    if (error instanceof InvalidParams) return error.message;
    throw error;
  }
}

function readOne(schema: ParamSchema, value: string): unknown {
  return read([optional('p', schema)], `{"p": ${value}}`);
}

test('what is taken from who calls is unknown when it is sent', { tags: ['capability:params.from'] }, () => {
  const params = [
    optional('id', { type: 'integer' }),
    { ...required('tenant', { type: 'string' }), from: 'principal.subject' },
  ];
  expect(read(params, '{}')).toEqual({ id: null });
  for (const body of ['{"tenant":"a"}', '{"tenant":null}', String.raw`{"t\u0065nant":5}`]) {
    const other = read(params.slice(0, 1), body);
    expect(other).toBe('tenant: unknown parameter');
    expect(read(params, body)).toBe(other);
  }
});

describe('values that fit', () => {
  test.each<[ParamSchema, string]>([
    [{ type: 'integer', minimum: 1 }, '1'],
    [{ type: 'integer' }, '-9007199254740991'],
    [{ type: 'integer' }, '5.0'],
    [{ type: 'number', multipleOf: 0.1 }, '0.3'],
    [{ type: 'number', exclusiveMinimum: 0 }, '0.001'],
    [{ type: 'string', minLength: 1, maxLength: 1 }, '"𝒳"'],
    [{ type: 'string' }, '"12345678901234567890"'],
    [{ type: 'string', pattern: 'b' }, '"abc"'],
    [{ type: 'boolean' }, 'false'],
    [{ type: 'date' }, '"2024-02-29"'],
    [{ type: 'datetime' }, '"2024-02-29T12:00:00+02:00"'],
    [{ type: 'uuid' }, '"123e4567-e89b-12d3-a456-426614174000"'],
    [{ type: 'array', items: { type: 'integer' } }, '[]'],
    [{ type: 'array', items: { type: 'integer', maximum: 2 } }, '[1, 2]'],
    [{ type: 'object' }, '{"a": [1, {"b": null}]}'],
    [{ type: 'string', enum: ['a', 'b'] }, '"b"'],
  ])('%j takes %s', (schema, value) => {
    expect(readOne(schema, value)).toEqual({ p: JSON.parse(value) });
  });
});

describe('numbers that a double does not keep', { tags: ['param:integer', 'param:number'] }, () => {
  const integers: ParamSchema = { type: 'array', items: { type: 'integer' } };
  test.each<[ParamSchema, string, unknown]>([
    [{ type: 'integer' }, '9007199254740993', '9007199254740993'],
    [{ type: 'integer' }, '-9223372036854775808', '-9223372036854775808'],
    [{ type: 'integer' }, '18446744073709551615', '18446744073709551615'],
    [{ type: 'integer' }, '9007199254740993.00', '9007199254740993'],
    [{ type: 'integer' }, '1.8e19', '18000000000000000000'],
    [{ type: 'integer' }, '5.00000000000000000000', 5],
    [{ type: 'integer', minimum: 1 }, '9007199254740993', '9007199254740993'],
    [{ type: 'integer', multipleOf: 3 }, '9007199254740993', '9007199254740993'],
    [{ type: 'number' }, '9007199254740993', '9007199254740993'],
    [{ type: 'number' }, '12345678901234567.89', '12345678901234567.89'],
    [{ type: 'number' }, '1e-400', '1e-400'],
    [{ type: 'number' }, '1e300', 1e300],
    [{ type: 'number' }, '0.30000000000000000000', 0.3],
    [{ type: 'number', minimum: 0.1 }, '0.10000000000000000001', '0.10000000000000000001'],
    [integers, '[1, 9007199254740993, -2]', [1, '9007199254740993', -2]],
    [integers, '[1, 1e18, -2]', [1, '1000000000000000000', -2]],
    [{ type: 'array', items: { type: 'number' } }, '[1e300, 0.5, 1e18]', [1e300, 0.5, 1e18]],
    [{ type: 'object' }, '{"10": [9007199254740993], "9": 1}', '{"10": [9007199254740993], "9": 1}'],
    [{ type: 'object' }, '{"a": 1e300, "b": "text"}', { a: 1e300, b: 'text' }],
  ])('%j takes %s', (schema, value, bound) => {
    expect(readOne(schema, value)).toEqual({ p: bound });
  });

  test('each is cut out of what was sent, whatever stands around it', () => {
    const params = [
      optional('a', { type: 'integer' }),
      optional('b', { type: 'string' }),
      optional('c', integers),
    ];
    const body = String.raw`{"c":[ 9007199254740995 ,7], "b":"\"a\":9007199254740997", "\u0061" : 9007199254740993}`;
    expect(read(params, body)).toEqual({
      a: '9007199254740993',
      b: '"a":9007199254740997',
      c: ['9007199254740995', 7],
    });
  });

  test('every integer of 64 bits comes through as it is', () => {
    const integer = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n });
    fc.assert(
      fc.property(integer, (value) => {
        const bound = readOne({ type: 'integer' }, String(value));
        expect(bound).toEqual({ p: Number.isSafeInteger(Number(value)) ? Number(value) : String(value) });
      }),
    );
  });

  test('a number is bound as its double or with the digits that it is written with', () => {
    const digits = fc.stringMatching(/^(?:0|[1-9]\d{0,25})(?:\.\d{1,25})?(?:[eE][+-]?\d{1,2})?$/);
    fc.assert(
      fc.property(digits, (text) => {
        const { p } = Object(readOne({ type: 'number' }, text));
        const order = compareDecimals(readDecimal(String(p)), readDecimal(text));
        expect(order).toBe(0);
      }),
    );
  });

  test('a default beyond 2^53 is bound with all its digits', () => {
    expect(read([optional('p', { type: 'integer', default: 1e18 })], '{}')).toEqual({
      p: '1000000000000000000',
    });
  });
});

describe('values that do not', () => {
  const beyond = 'must be between -9223372036854775808 and 18446744073709551615';
  const unstorable = 'must not hold the character U+0000 or half a surrogate pair';
  test.each<[ParamSchema, string, string]>([
    [{ type: 'integer' }, '"5"', 'must be an integer'],
    [{ type: 'integer' }, '1.5', 'must be an integer'],
    [{ type: 'integer' }, 'true', 'must be an integer'],
    [{ type: 'integer' }, '18446744073709551616', beyond],
    [{ type: 'integer' }, '-9223372036854775809', beyond],
    [{ type: 'integer' }, '1e300', beyond],
    [{ type: 'integer' }, '9007199254740992.5', 'must be an integer'],
    [{ type: 'integer' }, '5.00000000000000000001', 'must be an integer'],
    [{ type: 'integer' }, '1e-400', 'must be an integer'],
    [{ type: 'integer', maximum: 9007199254740991 }, '9007199254740993', 'must be <= 9007199254740991'],
    [{ type: 'integer', minimum: -5 }, '-9007199254740993', 'must be >= -5'],
    [{ type: 'integer', multipleOf: 2 }, '9007199254740993', 'must be a multiple of 2'],
    [{ type: 'integer', enum: [1, 2] }, '9007199254740993', 'must be one of 1, 2'],
    [{ type: 'number', exclusiveMaximum: 1 }, '1.00000000000000000000', 'must be < 1'],
    [{ type: 'number', exclusiveMinimum: 0.1 }, '0.1000000000000000000', 'must be > 0.1'],
    [{ type: 'number', maximum: 0.1 }, '0.10000000000000000001', 'must be <= 0.1'],
    [{ type: 'number', maximum: 1e18 }, '1e300', 'must be <= 1000000000000000000'],
    [{ type: 'number', multipleOf: 0.1 }, '0.35', 'must be a multiple of 0.1'],
    [{ type: 'number' }, '"1"', 'must be a number'],
    [{ type: 'integer', minimum: 1 }, '0', 'must be >= 1'],
    [{ type: 'integer', maximum: 1 }, '2', 'must be <= 1'],
    [{ type: 'number', exclusiveMinimum: 0 }, '0', 'must be > 0'],
    [{ type: 'number', exclusiveMaximum: 1 }, '1', 'must be < 1'],
    [{ type: 'number', multipleOf: 0.1 }, '0.35', 'must be a multiple of 0.1'],
    [{ type: 'string' }, '5', 'must be a string'],
    [{ type: 'string', minLength: 2 }, '"a"', 'must have at least 2 characters'],
    [{ type: 'string', maxLength: 1 }, '"ab"', 'must have at most 1 character'],
    [{ type: 'string', pattern: '^[A-Z]\\n$' }, '"a"', 'must match the pattern "^[A-Z]\\\\n$"'],
    [{ type: 'string', format: 'email' }, '"a"', 'must have the format email'],
    [{ type: 'string', enum: ['a', 'b'] }, '"c"', 'must be one of "a", "b"'],
    [{ type: 'string' }, '"a\\u0000"', unstorable],
    [{ type: 'string' }, '"\\ud800"', unstorable],
    [{ type: 'boolean' }, '1', 'must be true or false'],
    [{ type: 'boolean' }, '"true"', 'must be true or false'],
    [{ type: 'date' }, '"2023-02-29"', 'must be a date such as "2025-12-31"'],
    [
      { type: 'datetime' },
      '"2024-02-29T12:00:00"',
      'must be a date and time with offset such as "2025-12-31T23:59:59Z"',
    ],
    [{ type: 'uuid' }, '"x"', 'must be a UUID such as "123e4567-e89b-12d3-a456-426614174000"'],
    [{ type: 'array', items: { type: 'integer' } }, '{}', 'must be an array'],
    [{ type: 'array', items: { type: 'integer' }, minItems: 1 }, '[]', 'must have at least 1 item'],
    [{ type: 'array', items: { type: 'integer' }, maxItems: 1 }, '[1, 2]', 'must have at most 1 item'],
    [{ type: 'object' }, '[]', 'must be an object'],
  ])('%j refuses %s', (schema, value, reason) => {
    expect(readOne(schema, value)).toBe(`p: ${reason}`);
  });

  test.each([
    ['{"a": [[{"Id_1": "\\u0000"}]], "b": "\\u0000"}', 'p.a[0][0].Id_1', unstorable],
    ['{"a": ["\\udc00"]}', 'p.a[0]', unstorable],
    ['{"a": {"\\u0000": 1}}', 'p.a', unstorable],
    ['{"a canary": {"b": ["\\u0000"]}}', 'p.*.b[0]', unstorable],
    ['{"line\\nbreak": "\\u0000"}', 'p.*', unstorable],
  ])('of the object %s the fault is named by its place', (value, place, reason) => {
    expect(readOne({ type: 'object' }, value)).toBe(`${place}: ${reason}`);
  });

  test('items are named by their place', () => {
    expect(
      readOne(
        { type: 'array', items: { type: 'integer', minimum: 1 } },
        '[1, null, 0, 18446744073709551616]',
      ),
    ).toBe(`p[1]: must be an integer; p[2]: must be >= 1; p[3]: ${beyond}`);
  });

  test('a text that is too long never reaches the pattern', () => {
    const schema: ParamSchema = { type: 'string', maxLength: 10, pattern: '^(a+)+$' };
    expect(readOne(schema, `"${'a'.repeat(50)}!"`)).toBe('p: must have at most 10 characters');
  });
});

describe('absent and null', () => {
  const params = [
    optional('a', { type: 'integer' }),
    optional('b', { type: 'integer', default: 7 }),
    optional('c', { type: 'boolean', default: false }),
  ];

  test.each(['{}', '{"a": null, "b": null, "c": null}'])('%s is NULL or the default', (body) => {
    expect(read(params, body)).toEqual({ a: null, b: 7, c: false });
  });

  test.each(['{}', '{"n": null}'])('%s is refused where the parameter is required', (body) => {
    expect(read([required('n', { type: 'string' })], body)).toBe('n: is required');
  });

  test('names that every JavaScript object has are names like others', () => {
    expect(read([optional('constructor', { type: 'string' })], '{}')).toEqual({ constructor: null });
    expect(read([], '{"constructor": 1}')).toBe('constructor: unknown parameter');
  });
});

describe('the body', () => {
  test('every refused field is named on one line', () => {
    const params = [
      required('user_id', { type: 'integer', minimum: 1 }),
      required('name', { type: 'string' }),
    ];
    expect(read(params, '{"user_id": 0, "nmae": "x"}')).toBe(
      'user_id: must be >= 1; name: is required; nmae: unknown parameter',
    );
  });

  test('unknown names that may be anything are not repeated', () => {
    expect(read([], '{"x": 1, "Robert\'); DROP": 1, "line\\nbreak": 2}')).toBe(
      'x: unknown parameter; an unknown parameter',
    );
  });

  test.each<[string, string | Uint8Array]>([
    ['nothing', ''],
    ['half an object', '{"p":'],
    ['two values', '{} {}'],
    ['a byte order mark', '\uFEFF{}'],
    ['broken UTF-8', Uint8Array.of(0x22, 0xc3, 0x22)],
    ['a key twice', '{"p": {}, "\\u0070": {}}'],
    ['__proto__', '{"__proto__": {"p": {}}}'],
    ['__proto__ further in', '{"p": {"__proto__": {}}}'],
    ['a number beyond a double', '{"p": {"a": 1e400}}'],
    ['very deep nesting', `${'['.repeat(200_000)}${']'.repeat(200_000)}`],
    ['very deep nesting that never ends', '['.repeat(200_000)],
  ])('%s is refused as a whole', (_, body) => {
    expect(read([optional('p', { type: 'object' })], body)).toMatch(/^the parameters are no usable JSON: /);
  });

  test.each(['[]', 'null', '1', '"{}"'])('%s is no object', (body) => {
    expect(read([], body)).toBe('the parameters must be a JSON object');
  });

  test('depth is bounded at 32, the body counted', () => {
    const nested = (levels: number) => `{"p": ${'{"a": '.repeat(levels)}1${'}'.repeat(levels)}}`;
    const params = [optional('p', { type: 'object' })];
    expect(read(params, nested(31))).toHaveProperty('p');
    expect(read(params, nested(32))).toContain('levels of nesting');
  });

  test('a great many faults make a short message', () => {
    const items = readOne({ type: 'array', items: { type: 'integer' } }, `[${'"x",'.repeat(10_000)}1]`);
    expect(String(items).length).toBeLessThan(1000);
    const names = Array.from({ length: 1000 }, (_, index) => `"x${index}": 1`);
    expect(String(read([], `{${names.join(',')}}`))).toMatch(/; and 950 more$/);
  });
});

describe('properties', () => {
  const everyType: readonly Param[] = [
    optional('a', { type: 'integer', minimum: 0 }),
    optional('b', { type: 'number', multipleOf: 0.5 }),
    optional('c', { type: 'string', maxLength: 3, pattern: '^x', format: 'email' }),
    optional('d', { type: 'date' }),
    optional('e', { type: 'datetime' }),
    optional('f', { type: 'uuid' }),
    optional('g', { type: 'boolean' }),
    optional('h', { type: 'array', items: { type: 'string', enum: ['x'] } }),
  ];
  const reader = compileParameters(capability(everyType));

  function refusal(body: Uint8Array): string | undefined {
    try {
      reader(body);
      return undefined;
    } catch (error) {
      if (error instanceof InvalidParams) return error.message;
      throw error;
    }
  }

  test('whatever the bytes, they are read or refused', () => {
    fc.assert(fc.property(fc.uint8Array(), (body) => void refusal(body)));
    fc.assert(fc.property(fc.json(), (text) => void refusal(new TextEncoder().encode(text))));
  });

  test('a refusal is one line and holds no submitted value', () => {
    const value = fc.oneof(
      fc.constant('canary'),
      fc.constant(424_242.4242),
      fc.array(fc.constant('canary')),
      fc.dictionary(fc.constant('canary'), fc.constant('canary\n')),
    );
    const body = fc.record({
      a: value,
      b: value,
      c: value,
      d: value,
      e: value,
      f: value,
      g: value,
      h: value,
    });
    fc.assert(
      fc.property(body, (params) => {
        const message = refusal(new TextEncoder().encode(JSON.stringify(params)));
        expect(message).toBeDefined();
        expect(message).not.toMatch(/canary|424242|\n/);
      }),
    );
  });

  test('integers and texts come back as they were', () => {
    const params = [required('n', { type: 'integer' }), required('s', { type: 'string' })];
    const text = fc.string({ unit: 'grapheme' }).filter((s) => !s.includes('\0'));
    fc.assert(
      fc.property(fc.maxSafeInteger(), text, (n, s) => {
        expect(read(params, JSON.stringify({ n, s }))).toEqual({ n, s });
      }),
    );
  });
});
