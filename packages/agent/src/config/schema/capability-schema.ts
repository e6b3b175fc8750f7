import { NEED_PATTERN } from '@svc/protocol';
import { EXPECTED_ERRORS } from '../../capabilities/example.ts';
import {
  choice,
  count,
  duration,
  filledText,
  flag,
  named,
  section,
  size,
  text,
  type JsonSchema,
} from '../../capabilities/json-schema.ts';
import { PARAM_TYPES, RESULT_TYPES } from '../../capabilities/model.ts';
import { stringFormats } from '../../capabilities/values/string-formats.ts';

const LARGEST = Number.MAX_SAFE_INTEGER;
const PARAM_NAME_PATTERN = '^[a-z_][a-z0-9_]{0,62}$';
const PARAM_NAME_MESSAGE =
  'this is no parameter name: use 1 to 63 lower-case letters, digits and `_`, not beginning with a digit';

const constraints: Readonly<Record<string, JsonSchema>> = {
  minimum: { type: 'number', description: 'Least value (integer, number).' },
  maximum: { type: 'number', description: 'Greatest value (integer, number).' },
  exclusiveMinimum: { type: 'number', description: 'The value must be above this (integer, number).' },
  exclusiveMaximum: { type: 'number', description: 'The value must be below this (integer, number).' },
  multipleOf: {
    type: 'number',
    exclusiveMinimum: 0,
    description: 'The value must be a multiple of this (integer, number).',
  },
  minLength: count('Least number of characters (string).', 0, LARGEST),
  maxLength: count('Greatest number of characters (string).', 0, LARGEST),
  pattern: text(
    'Regular expression, with the `u` flag, that must match somewhere in the text (string). ' +
      'Give `maxLength` too: a longer text is refused before the pattern runs.',
  ),
  format: choice('Format of the text (string).', [...stringFormats.keys()]),
  enum: {
    type: 'array',
    minItems: 1,
    uniqueItems: true,
    items: {},
    description: 'The only values allowed (all types but array and object).',
  },
};

const itemsSchema: JsonSchema = section('Type and constraints of each item (array).', ['type'], {
  type: choice(
    'Type of the items.',
    PARAM_TYPES.filter((type) => type !== 'array' && type !== 'object'),
  ),
  ...constraints,
});

export const paramSchema: JsonSchema = section('A parameter.', ['type'], {
  type: choice('Type of the value; nothing is converted, so "5" is not an integer.', PARAM_TYPES),
  required: flag(
    'Whether callers must supply it. Otherwise an absent one is SQL NULL, or its `default`.',
    false,
  ),
  description: text('What the parameter means, for callers.'),
  from: {
    type: 'string',
    description: 'Takes the value from who calls: callers neither send the parameter nor see it.',
    pattern: NEED_PATTERN,
    errorMessage:
      'must be a property of who calls, such as `principal.subject`, `principal.issuer`, `principal.client_id`, `principal.key_name` or `principal.claims.org_id`',
  },
  filter: filledText(
    'A condition that uses the parameter, as in `customer_id = :customer`. It is in the statement, at `{filters}`, only when the parameter has a value.',
  ),
  ...constraints,
  items: itemsSchema,
  minItems: count('Least number of items (array).', 0, LARGEST),
  maxItems: count('Greatest number of items (array).', 0, LARGEST),
  default: { description: 'Value of an absent or null optional parameter.' },
});

const resultFieldSchema: JsonSchema = section('A field of the rows.', ['type'], {
  type: choice('Type of the field in the answer.', RESULT_TYPES),
  description: text('What the field means, for callers.'),
  format: {
    type: 'string',
    pattern: '^[a-z][a-z0-9-]*$',
    description: 'Format shown to callers, e.g. `email` or `int64` (integer, number, string).',
    errorMessage: 'must be the name of a format, such as `email` or `int64`',
  },
  nullable: flag('Whether the field can be null.', true),
});

export const limits = {
  timeout: (standard?: string): JsonSchema =>
    duration('Longest time that a query may take, at most 24h.', standard),
  maxRows: (standard?: number): JsonSchema => count('Greatest number of rows.', 1, 2_147_483_647, standard),
  maxBytes: (standard?: string): JsonSchema =>
    size('Greatest size of the rows as sent, at most 64MB.', standard),
};

const policySchema: JsonSchema = section('Limits and permissions of this capability.', [], {
  timeout: limits.timeout(),
  max_rows: limits.maxRows(),
  max_bytes: limits.maxBytes(),
  on_limit: choice(
    'What happens at a cap: `truncate` stops at whole rows and says so, `error` refuses the result.',
    ['truncate', 'error'],
    'truncate',
  ),
  allow_functions: {
    type: 'array',
    uniqueItems: true,
    description: 'Volatile functions that the SQL may call nevertheless.',
    items: {
      type: 'string',
      pattern: '^[A-Za-z_][A-Za-z0-9_$]{0,62}(\\.[A-Za-z_][A-Za-z0-9_$]{0,62})?$',
      errorMessage: 'must be the name of a function, such as `my_schema.my_function`',
    },
  },
  allow_foreign_tables: {
    type: 'array',
    uniqueItems: true,
    description: 'Foreign tables of PostgreSQL that the SQL may read nevertheless, spelt as in the database.',
    items: {
      type: 'string',
      pattern: '^[^.\\u0000-\\u001f\\u007f]{1,63}(\\.[^.\\u0000-\\u001f\\u007f]{1,63})?$',
      errorMessage: 'must be the name of a foreign table, such as `my_schema.my_table`',
    },
  },
});

const principal: JsonSchema = section('Who calls: an API key by its name, or what a token says.', [], {
  key_name: filledText('Name of the API key.'),
  issuer: filledText('`iss` of the token.'),
  subject: filledText('`sub` of the token.'),
  client_id: filledText('The client that the token was issued to.'),
  claims: {
    type: 'object',
    description: 'Claims that the token passes on or that belong to the key, by name.',
  },
});
const expectation: JsonSchema = section(
  'What the answer has to be; when absent the call has to succeed.',
  [],
  {
    count: count('Number of rows.', 0, LARGEST),
    rows: {
      type: 'array',
      items: { type: 'object', description: 'Fields of one row.' },
      description:
        'The first rows of the answer, in its order; each names only the fields to compare, also in mappings within it.',
    },
    max_count: count('Greatest number of rows.', 0, LARGEST),
    truncated: { type: 'boolean', description: 'Whether a cap left rows out.' },
    max_ms: count('Greatest time in milliseconds.', 1, LARGEST),
    error: choice('Code of the error that the call has to end with.', EXPECTED_ERRORS),
  },
);
const examplesSection: JsonSchema = {
  type: 'array',
  minItems: 1,
  description: 'Calls that `svc-agent test` makes; callers are shown their parameters.',
  items: section('A call, and what is expected of its answer.', [], {
    params: { type: 'object', description: 'The parameters by name, as callers send them.' },
    as: filledText('Name of the API key that calls: short for `principal: { key_name: ... }`.'),
    principal,
    expect: expectation,
    publish: flag(
      'Whether callers are shown the parameters. Those of calls that end with an error never are.',
      true,
    ),
  }),
};

export const capabilitySchema: JsonSchema = section(
  'A named, parameterised, read-only query.',
  ['sql', 'result'],
  {
    description: text('What the capability does, for callers and models.'),
    database: filledText(
      'The one of `databases` that it queries; by default that of `defaults`, or the only one.',
    ),
    sql: filledText('One SELECT, with parameters written as `:name`.'),
    params: named('Input parameters by name.', PARAM_NAME_PATTERN, PARAM_NAME_MESSAGE, paramSchema),
    policy: policySchema,
    expose_in_openapi: flag(
      'Whether `/openapi.json` and `tools/list` show it. It can be called either way.',
      true,
    ),
    result: {
      ...named(
        'The fields of a row, in this order; no other column leaves.',
        '^(?![0-9]+$)[^\\u0000-\\u001f\\u007f]{1,63}$',
        'this is no field name: use 1 to 63 characters, not digits alone',
        resultFieldSchema,
      ),
      minProperties: 1,
    },
    examples: examplesSection,
    sort: {
      ...named(
        'The orders that callers choose of with the parameter `sort`, the first by default: names, each with one to four of `FIELD [asc|desc] [nulls first|last]`, as in `{ newest: issued_on desc }`. Fields are those of `result`.',
        '^[a-z][a-z0-9_]{0,31}$',
        'this is no name of an order: use 1 to 32 lower-case letters, digits and `_`, beginning with a letter',
        filledText('One to four fields of `result`, as in `issued_on desc, id`.'),
      ),
      minProperties: 1,
      maxProperties: 16,
    },
    paging: {
      ...named(
        'How callers continue after a cap cut the rows. A field, or a list of up to four, that no two rows share: a cut answer then has `next` with a `cursor`. Or parameters by name, each with the field of the last row that gives its value, as in `{ after: id }`: a cut answer then has these parameters in `next`.',
        PARAM_NAME_PATTERN,
        PARAM_NAME_MESSAGE,
        filledText('Field of `result`, of the type of the parameter.'),
      ),
      type: ['object', 'string', 'array'],
      minProperties: 1,
      minLength: 1,
      items: filledText('Field of `result`.'),
      minItems: 1,
      maxItems: 4,
      uniqueItems: true,
    },
  },
);
