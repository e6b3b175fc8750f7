import type { CapabilitySections } from './pair.testing.ts';

/** Tables whose columns are everything that a result can be of. */
export const TABLES = `
  create table thing (id int primary key, whole bigint, part float8, text text, flag boolean, day date,
    moment timestamptz, tags text[], grid int[][], document jsonb, list jsonb, mail text);
  insert into thing values
    (1, 1234567890123456789, 0.5, 'Ο "Μεγάλος" 🐈', true, '2026-02-28', '2026-01-01T12:00:00.5+02', '{a,NULL,"b c"}',
      '{{1,2},{3,4}}', '{"a": [1, {"b": null}]}', '[[1, [2]], {"c": 3}, null]', 'a@example.org'),
    (2, -7, 'NaN', '', false, '0001-01-01', '1970-01-01T00:00:00Z', '{}', '{}', '{}', '[]', 'b@example.org'),
    (3, null, '-Infinity', null, null, null, null, null, null, null, null, null);
`;

export const LONG_NAME: string = `a${'_long_name'.repeat(4)}_at_end`;
export const LONG_PARAM: string = `p${'_longer'.repeat(8)}_at_63`;

export const AWKWARD_TEXT: string =
  '# Heading\n\n* **bold**, `code`, [link](https://host.test/a?b=c&d)\n* <b title="x">HTML</b> &amp; \\ / "quotes"\n\n' +
  `${'Ünïcode 书 🐈 \u2028 \t '.repeat(50)}\n\`\`\`\n{ "$ref": "#/nowhere" }\n\`\`\``;

export interface ParameterSample {
  readonly params: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** For each parameter values that fit. */
  readonly fitting: Readonly<Record<string, readonly unknown[]>>;
}

/** Every type of parameter with every constraint, several to a capability. */
export const PARAMETERS: Readonly<Record<string, ParameterSample>> = {
  whole_numbers: {
    params: {
      bounded: { type: 'integer', required: true, minimum: 1, maximum: 10, description: 'From 1 to 10.' },
      plain: { type: 'integer' },
      open: { type: 'integer', exclusiveMinimum: 0, exclusiveMaximum: 5 },
      mixed: { type: 'integer', minimum: 0, exclusiveMinimum: 0, maximum: 100, exclusiveMaximum: 200 },
      even: { type: 'integer', multipleOf: 2 },
      chosen: { type: 'integer', enum: [1, 2, 3] },
      standard: { type: 'integer', default: 7 },
    },
    fitting: {
      bounded: [1, 5, 10],
      plain: [0, -1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER],
      open: [1, 4],
      mixed: [1, 100],
      even: [-2, 0, 8],
      chosen: [1, 3],
      standard: [8],
    },
  },
  numbers: {
    params: {
      plain: { type: 'number', required: true },
      bounded: { type: 'number', minimum: -0.5, maximum: 0.5 },
      open: { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1 },
      tenths: { type: 'number', multipleOf: 0.1 },
      chosen: { type: 'number', enum: [0.5, 1] },
      standard: { type: 'number', default: 1.5 },
    },
    fitting: {
      plain: [0, -1.5, 1e-9, 123456.789],
      bounded: [-0.5, 0, 0.5],
      open: [0.001, 0.999],
      tenths: [0.3, -1.1, 7],
      chosen: [0.5, 1],
      standard: [2],
    },
  },
  texts: {
    params: {
      plain: { type: 'string', required: true, description: AWKWARD_TEXT },
      short: { type: 'string', minLength: 2, maxLength: 5 },
      coded: { type: 'string', pattern: '^[A-Z]{2}\\d+$', maxLength: 10 },
      chosen: { type: 'string', enum: ['a', 'ä', '🐈', ''] },
      standard: { type: 'string', default: 'none' },
      email: { type: 'string', format: 'email' },
      uri: { type: 'string', format: 'uri' },
      uuid: { type: 'string', format: 'uuid' },
      date: { type: 'string', format: 'date' },
      moment: { type: 'string', format: 'date-time' },
      time: { type: 'string', format: 'time' },
      ipv4: { type: 'string', format: 'ipv4' },
      ipv6: { type: 'string', format: 'ipv6' },
      hostname: { type: 'string', format: 'hostname' },
    },
    fitting: {
      plain: ['', 'a', "'; drop table thing; --", '🐈'],
      short: ['ab', '🐈🐈🐈🐈🐈'],
      coded: ['AB1', 'XY12345678'],
      chosen: ['a', 'ä', '🐈', ''],
      standard: ['some'],
      email: ['a@example.org'],
      uri: ['https://example.org/a?b#c'],
      uuid: ['123e4567-e89b-12d3-a456-426614174000'],
      date: ['2024-02-29'],
      moment: ['2024-02-29T23:59:59Z', '2024-01-01T00:00:00.123+05:30'],
      time: ['23:59:59Z'],
      ipv4: ['192.0.2.1'],
      ipv6: ['2001:db8::1'],
      hostname: ['a.example.org'],
    },
  },
  others: {
    params: {
      flag: { type: 'boolean', required: true },
      chosen_flag: { type: 'boolean', enum: [true] },
      standard_flag: { type: 'boolean', default: false },
      day: { type: 'date' },
      standard_day: { type: 'date', default: '2024-01-01' },
      moment: { type: 'datetime' },
      id: { type: 'uuid' },
      document: { type: 'object' },
      standard_document: { type: 'object', default: { a: [1] } },
    },
    fitting: {
      flag: [true, false],
      chosen_flag: [true],
      standard_flag: [true],
      day: ['2024-02-29'],
      standard_day: ['2025-12-31'],
      moment: ['2024-02-29T23:59:59Z', '2024-01-01T00:00:00.123-05:30'],
      id: ['123e4567-e89b-12d3-a456-426614174000'],
      document: [{}, { a: { b: [null, 'ä'] } }],
      standard_document: [{}],
    },
  },
  lists: {
    params: {
      required_list: { type: 'array', required: true, items: { type: 'boolean' } },
      integers: {
        type: 'array',
        items: { type: 'integer', minimum: 0, exclusiveMaximum: 9 },
        minItems: 1,
        maxItems: 3,
      },
      any_integers: { type: 'array', items: { type: 'integer' } },
      numbers: { type: 'array', items: { type: 'number', multipleOf: 0.5 } },
      texts: { type: 'array', items: { type: 'string', minLength: 1, maxLength: 3, pattern: '^[a-z]*$' } },
      choices: { type: 'array', items: { type: 'string', enum: ['x', 'y'] } },
      days: { type: 'array', items: { type: 'date' } },
      moments: { type: 'array', items: { type: 'datetime' } },
      ids: { type: 'array', items: { type: 'uuid' } },
      standard: { type: 'array', items: { type: 'integer' }, default: [1, 2] },
    },
    fitting: {
      required_list: [[], [true, false]],
      integers: [[0], [1, 2, 8]],
      any_integers: [[], [Number.MAX_SAFE_INTEGER]],
      numbers: [[], [0.5, -1]],
      texts: [['abc'], []],
      choices: [['x', 'y', 'x']],
      days: [['2024-02-29']],
      moments: [['2024-02-29T23:59:59Z']],
      ids: [['123e4567-e89b-12d3-a456-426614174000']],
      standard: [[3]],
    },
  },
};

/** The sections of a capability file that has about everything a description can tell of. */
export function richFile(database: Readonly<Record<string, unknown>>): CapabilitySections {
  return {
    service: { title: 'Things & more', version: '2.0.0-rc.1+7', description: AWKWARD_TEXT },
    database,
    capabilities: {
      ...Object.fromEntries(
        Object.entries(PARAMETERS).map(([name, { params }]) => [name, { params, ...echo(params) }]),
      ),
      no_params: { sql: 'select 1 as one', result: { one: { type: 'integer', nullable: false } } },
      [LONG_NAME]: {
        params: { [LONG_PARAM]: { type: 'integer' } },
        ...echo({ [LONG_PARAM]: {} }),
      },
      described: {
        description: AWKWARD_TEXT,
        sql: 'select text as "a field, of ""any"" name" from thing order by id',
        result: { 'a field, of "any" name': { type: 'string', description: AWKWARD_TEXT } },
      },
      every_result: {
        description: 'One field of every type.',
        sql: 'select * from thing where id <= coalesce(:up_to, 3) order by id',
        params: { up_to: { type: 'integer' } },
        result: {
          id: { type: 'integer', nullable: false, description: 'Number of the thing.' },
          whole: { type: 'integer' },
          part: { type: 'number', format: 'double' },
          text: { type: 'string', description: 'What it says.' },
          flag: { type: 'boolean' },
          day: { type: 'date' },
          moment: { type: 'datetime' },
          tags: { type: 'array' },
          grid: { type: 'array' },
          document: { type: 'object' },
          list: { type: 'array' },
          mail: { type: 'string', format: 'email' },
        },
      },
      cut: {
        description: 'More rows than the cap.',
        sql: 'select id from thing order by id',
        policy: { max_rows: 2 },
        result: { id: { type: 'integer', nullable: false } },
      },
      over_limit: {
        sql: 'select id from thing',
        policy: { max_rows: 2, on_limit: 'error' },
        result: { id: { type: 'integer' } },
      },
      divide: {
        sql: 'select 1 / :by as quotient',
        params: { by: { type: 'integer', required: true } },
        result: { quotient: { type: 'integer' } },
      },
      slow: {
        sql: 'select pg_sleep(9)::text as slept',
        policy: { timeout: '50ms', allow_functions: ['pg_sleep'] },
        result: { slept: { type: 'string' } },
      },
      hidden: {
        description: 'Not for the description.',
        expose_in_openapi: false,
        sql: 'select 1 as one',
        result: { one: { type: 'integer' } },
      },
      shown: { expose_in_openapi: true, sql: 'select 1 as one', result: { one: { type: 'integer' } } },
      ...Object.fromEntries(
        Array.from({ length: 100 }, (_, at) => [
          `get_${String(at).padStart(3, '0')}`,
          { description: `Number ${at}.`, sql: 'select 1 as one', result: { one: { type: 'integer' } } },
        ]),
      ),
    },
  };
}

function echo(params: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const names = Object.keys(params).map((name) => `:${name}`);
  return {
    sql: `select concat_ws(' ', ${names.join(', ')}) as echo`,
    result: { echo: { type: 'string', nullable: false } },
  };
}
