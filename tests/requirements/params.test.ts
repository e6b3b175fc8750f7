import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startService, testDatabase, type Service } from '@svc/testkit';

/** What `bigint` takes, and what integers of any engine are within. */
const SIGNED = 'must be between -9223372036854775808 and 9223372036854775807';
const RANGE = 'must be between -9223372036854775808 and 18446744073709551615';
const DATE = 'must be a date such as "2025-12-31"';
const DATETIME = 'must be a date and time with offset such as "2025-12-31T23:59:59Z"';
const UUID = 'must be a UUID such as "123e4567-e89b-12d3-a456-426614174000"';
const TEXT = 'must not hold the character U+0000 or half a surrogate pair';

/** As JSON text, for not every number survives being parsed and printed. */
type Accepted = readonly [submitted: string, inDatabase: string];
type Refused = readonly [submitted: string, reason: string];

interface Case {
  /** Id of the requirement. */
  readonly row: string;
  readonly title: string;
  /** YAML of the parameter `v`. */
  readonly spec: string;
  /** What the database takes `:v` for, and how its text form is made. */
  readonly sqlType: string;
  readonly accepted: readonly Accepted[];
  readonly refused: readonly Refused[];
}

const integer = { sqlType: 'bigint' };
const numeric = { sqlType: 'numeric' };
const text = { sqlType: 'text' };

const CASES: readonly Case[] = [
  {
    row: 'param:integer',
    title: 'an integer',
    spec: '{ type: integer }',
    ...integer,
    accepted: [
      ['0', '0'],
      ['-5', '-5'],
      ['1e3', '1000'],
      ['2.0', '2'],
      ['-0', '0'],
      ['9007199254740993', '9007199254740993'],
      ['9007199254740993.0', '9007199254740993'],
      ['9223372036854775807', '9223372036854775807'],
      ['-9223372036854775808', '-9223372036854775808'],
      ['9e18', '9000000000000000000'],
    ],
    refused: [
      ['"5"', 'must be an integer'],
      ['true', 'must be an integer'],
      ['1.5', 'must be an integer'],
      ['[1]', 'must be an integer'],
      ['9007199254740993.5', 'must be an integer'],
      ['9223372036854775808', SIGNED],
      ['18446744073709551615', SIGNED],
      ['18446744073709551616', RANGE],
      ['-9223372036854775809', RANGE],
      ['1e300', RANGE],
    ],
  },
  {
    row: 'param:number',
    title: 'a number',
    spec: '{ type: number }',
    ...numeric,
    accepted: [
      ['1.25', '1.25'],
      ['-0.1', '-0.1'],
      ['7', '7'],
      ['1e-7', '0.0000001'],
      ['1.50', '1.5'],
      ['9007199254740993', '9007199254740993'],
      ['-12345678901234567890.0987654321', '-12345678901234567890.0987654321'],
    ],
    refused: [
      ['"1.25"', 'must be a number'],
      ['false', 'must be a number'],
    ],
  },
  {
    row: 'param:string',
    title: 'a string',
    spec: '{ type: string }',
    ...text,
    accepted: [
      ['""', ''],
      ['"NULL"', 'NULL'],
      [`"it's \\\\ \\"x\\" :v $1 書🐈"`, `it's \\ "x" :v $1 書🐈`],
      ['"12345678901234567890"', '12345678901234567890'],
    ],
    refused: [
      ['5', 'must be a string'],
      ['true', 'must be a string'],
      ['{}', 'must be a string'],
      ['"a\\u0000b"', TEXT],
    ],
  },
  {
    row: 'param:boolean',
    title: 'a boolean',
    spec: '{ type: boolean }',
    sqlType: 'boolean',
    accepted: [
      ['true', 'true'],
      ['false', 'false'],
    ],
    refused: [
      ['"true"', 'must be true or false'],
      ['1', 'must be true or false'],
    ],
  },
  {
    row: 'param:date',
    title: 'a date',
    spec: '{ type: date }',
    sqlType: 'date',
    accepted: [
      ['"2024-02-29"', '2024-02-29'],
      ['"0001-01-01"', '0001-01-01'],
      ['"9999-12-31"', '9999-12-31'],
    ],
    refused: [
      ['"2023-02-29"', DATE],
      ['"2023-2-9"', DATE],
      ['"2023-01-01T00:00:00Z"', DATE],
      ['"today"', DATE],
      ['20230101', DATE],
    ],
  },
  {
    row: 'param:datetime',
    title: 'a datetime',
    spec: '{ type: datetime }',
    sqlType: 'timestamptz',
    accepted: [
      ['"2025-12-31T23:59:59Z"', '2025-12-31 23:59:59+00'],
      ['"2025-12-31T23:59:59.5+02:00"', '2025-12-31 21:59:59.5+00'],
    ],
    refused: [
      ['"2025-12-31T23:59:59"', DATETIME],
      ['"2025-12-31 23:59:59Z"', DATETIME],
      ['"2025-12-31T24:00:00Z"', DATETIME],
      ['"2025-02-30T00:00:00Z"', DATETIME],
      ['"now"', DATETIME],
      ['0', DATETIME],
    ],
  },
  {
    row: 'param:uuid',
    title: 'a UUID',
    spec: '{ type: uuid }',
    sqlType: 'uuid',
    accepted: [['"123E4567-e89b-12d3-a456-426614174000"', '123e4567-e89b-12d3-a456-426614174000']],
    refused: [
      ['"123e4567e89b12d3a456426614174000"', UUID],
      ['"{123e4567-e89b-12d3-a456-426614174000}"', UUID],
      ['5', UUID],
    ],
  },
  {
    row: 'param:array',
    title: 'an array',
    spec: '{ type: array, items: { type: string, minLength: 1 } }',
    sqlType: 'text[]',
    accepted: [
      ['[]', '{}'],
      ['["a", "NULL", "b,{}\\""]', '{a,"NULL","b,{}\\""}'],
    ],
    refused: [
      ['"a"', 'must be an array'],
      ['{"0":"a"}', 'must be an array'],
      ['["a", ""]', '[1]: must have at least 1 character'],
      ['["a", null]', '[1]: must be a string'],
      ['[1, 2]', '[0]: must be a string; v[1]: must be a string'],
    ],
  },
  {
    row: 'param:array',
    title: 'an array of integers',
    spec: '{ type: array, items: { type: integer } }',
    sqlType: 'bigint[]',
    accepted: [['[1, -2]', '{1,-2}']],
    refused: [['[1, "2"]', '[1]: must be an integer']],
  },
  {
    row: 'param:object',
    title: 'an object',
    spec: '{ type: object }',
    sqlType: 'jsonb',
    accepted: [
      ['{}', '{}'],
      ['{"a": [1, null, {"b": "x"}]}', '{"a": [1, null, {"b": "x"}]}'],
    ],
    refused: [
      ['[]', 'must be an object'],
      ['"{}"', 'must be an object'],
    ],
  },
  {
    row: 'param:minimum',
    title: 'minimum',
    spec: '{ type: number, minimum: 0.5 }',
    ...numeric,
    accepted: [['0.5', '0.5']],
    refused: [['0.49', 'must be >= 0.5']],
  },
  {
    row: 'param:maximum',
    title: 'maximum',
    spec: '{ type: integer, maximum: 10 }',
    ...integer,
    accepted: [['10', '10']],
    refused: [['11', 'must be <= 10']],
  },
  {
    row: 'param:exclusiveMinimum',
    title: 'exclusiveMinimum',
    spec: '{ type: number, exclusiveMinimum: 0 }',
    ...numeric,
    accepted: [['0.1', '0.1']],
    refused: [['0', 'must be > 0']],
  },
  {
    row: 'param:exclusiveMaximum',
    title: 'exclusiveMaximum',
    spec: '{ type: number, exclusiveMaximum: 1 }',
    ...numeric,
    accepted: [['0.9', '0.9']],
    refused: [['1', 'must be < 1']],
  },
  {
    row: 'param:multipleOf',
    title: 'multipleOf',
    spec: '{ type: number, multipleOf: 0.1 }',
    ...numeric,
    accepted: [
      ['0.3', '0.3'],
      ['-1.2', '-1.2'],
    ],
    refused: [['0.35', 'must be a multiple of 0.1']],
  },
  {
    row: 'param:minLength',
    title: 'minLength, in characters',
    spec: '{ type: string, minLength: 2 }',
    ...text,
    accepted: [['"🐈🐈"', '🐈🐈']],
    refused: [['"🐈"', 'must have at least 2 characters']],
  },
  {
    row: 'param:maxLength',
    title: 'maxLength, in characters',
    spec: '{ type: string, maxLength: 2 }',
    ...text,
    accepted: [['"🐈🐈"', '🐈🐈']],
    refused: [['"abc"', 'must have at most 2 characters']],
  },
  {
    row: 'param:pattern',
    title: 'pattern, anywhere in the text',
    spec: `{ type: string, pattern: '[0-9]{3}' }`,
    ...text,
    accepted: [['"a123b"', 'a123b']],
    refused: [['"a12b"', 'must match the pattern "[0-9]{3}"']],
  },
  {
    row: 'param:enum',
    title: 'enum of strings',
    spec: '{ type: string, enum: [asc, desc] }',
    ...text,
    accepted: [['"desc"', 'desc']],
    refused: [
      ['"Desc"', 'must be one of "asc", "desc"'],
      ['1', 'must be a string'],
    ],
  },
  {
    row: 'param:enum',
    title: 'enum of integers',
    spec: '{ type: integer, enum: [1, 2] }',
    ...integer,
    accepted: [['2', '2']],
    refused: [['3', 'must be one of 1, 2']],
  },
  {
    row: 'param:minItems',
    title: 'minItems',
    spec: '{ type: array, items: { type: integer }, minItems: 2 }',
    sqlType: 'bigint[]',
    accepted: [['[1, 2]', '{1,2}']],
    refused: [['[1]', 'must have at least 2 items']],
  },
  {
    row: 'param:maxItems',
    title: 'maxItems',
    spec: '{ type: array, items: { type: integer }, maxItems: 1 }',
    sqlType: 'bigint[]',
    accepted: [['[1]', '{1}']],
    refused: [['[1, 2]', 'must have at most 1 item']],
  },
  ...(
    [
      ['email', 'ann@example.com', 'ann@'],
      ['uri', 'https://example.com/a?b#c', 'example.com'],
      ['uuid', '123e4567-e89b-12d3-a456-426614174000', '123e4567'],
      ['date', '2024-02-29', '2023-02-29'],
      ['date-time', '2025-12-31T23:59:59Z', '2025-12-31T23:59:59'],
      ['time', '23:59:59Z', '24:00:00Z'],
      ['ipv4', '192.0.2.1', '192.0.2.256'],
      ['ipv6', '2001:db8::1', '2001:db8::g'],
      ['hostname', 'db.example.com', '-db.example.com'],
    ] as const
  ).map(([format, good, bad]): Case => ({
    row: 'param:format',
    title: `format ${format}`,
    spec: `{ type: string, format: ${format} }`,
    ...text,
    accepted: [[JSON.stringify(good), good]],
    refused: [[JSON.stringify(bad), `must have the format ${format}`]],
  })),
];

/** A capability for each case: the value as text of the type that the declaration asks for. */
const CAPABILITIES = [
  'capabilities:',
  ...CASES.flatMap(({ spec, sqlType }, index) => [
    `  c${index}:`,
    `    sql: "select (:v::${sqlType})::text as value"`,
    `    params: { v: ${spec} }`,
    '    result: { value: { type: string } }',
  ]),
].join('\n');

let service: Service;
beforeAll(async () => {
  service = await startService({ database: await testDatabase(), capabilities: CAPABILITIES });
});
afterAll(() => service.stop());

async function callWith(index: number, value: string) {
  const response = await fetch(`${service.url}/api/v1/capabilities/c${index}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.apiKeys['all']}`, 'content-type': 'application/json' },
    body: `{"v":${value}}`,
  });
  return { status: response.status, json: await response.json() };
}

for (const [index, { row, title, accepted, refused }] of CASES.entries()) {
  describe(`the parameter ${title}`, { tags: [row, 'capability:params.type'] }, () => {
    test.each(accepted)('takes %s to the database as %s', async (submitted, inDatabase) => {
      expect(await callWith(index, submitted)).toEqual({
        status: 200,
        json: { rows: [{ value: inDatabase }], count: 1 },
      });
    });

    test.each(refused)(
      'refuses %s: %s',
      { tags: ['error:AGENT_INVALID_PARAMS'] },
      async (submitted, reason) => {
        const message = reason.startsWith('[') ? `v${reason}` : `v: ${reason}`;
        expect(await callWith(index, submitted)).toEqual({
          status: 400,
          json: { error: { code: 'AGENT_INVALID_PARAMS', message } },
        });
      },
    );
  });
}
