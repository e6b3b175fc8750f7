import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runProcess, testDatabase, type TestDatabase } from '@svc/testkit';
import { startStation, type Station, type StationAnswer } from './station.testing.ts';

const MIB = 1_048_576;

const integer = { type: 'integer' };
const text = { type: 'string' };
const slow = { type: 'number', required: true };

/** Rows with a text of as many letters as each of `lengths` says. */
const TEXTS = {
  sql: "select repeat('x', l::int) as t from unnest(:lengths) with ordinality u (l, o) order by o",
  params: { lengths: { type: 'array', items: integer, required: true } },
  result: { t: text },
};
const COUNTED = {
  sql: 'select i as id from generate_series(1, :n::bigint) i order by i',
  params: { n: { ...integer, required: true } },
  result: { id: integer },
};
const SLEEP = {
  sql: 'select pg_sleep(:seconds)::text as slept',
  params: { seconds: slow },
  result: { slept: text },
};
const TIMEOUT = {
  sql: "select current_setting('statement_timeout')::interval::text as t",
  result: { t: text },
};

const LONGEST_NAME = `a${'b'.repeat(47)}`;
const LONGEST_PARAM = '_'.padEnd(63, 'a');

const CAPABILITIES = {
  described: {
    description: 'Greets a reader.',
    sql: "select 'hello ' || :who::text as greeting, :day::date as day, 'hidden' as secret",
    params: {
      who: { ...text, required: true, description: 'Whom to greet.' },
      day: { type: 'date', description: 'The day.' },
    },
    result: {
      day: { type: 'date', nullable: true },
      greeting: { ...text, description: 'What to say.', format: 'greeting', nullable: false },
    },
  },
  defaults: {
    sql: 'select :a::bigint as a, :b::text as b, :c::boolean is null as c, :d::text[]::text as d',
    params: {
      a: { ...integer, default: 7 },
      b: { ...text, default: '' },
      c: { type: 'boolean' },
      d: { type: 'array', items: text, default: ['x'] },
    },
    result: { a: integer, b: text, c: { type: 'boolean' }, d: text },
  },
  least: {
    sql: 'select :id::bigint as id',
    params: { id: { ...integer, minimum: 3 } },
    result: { id: integer },
  },
  colons: {
    sql: "select ':no'::text || :yes::text as t, '{1,2}'::int[] as a -- :neither\n /* :nor */",
    params: { yes: text },
    result: { t: text, a: { type: 'array' } },
  },
  [LONGEST_NAME]: {
    sql: `select :${LONGEST_PARAM}::text as t`,
    params: { [LONGEST_PARAM]: text },
    result: { t: text },
  },
  hidden: { sql: 'select 1 as one', expose_in_openapi: false, result: { one: integer } },
  shown: { sql: 'select 1 as one', expose_in_openapi: true, result: { one: integer } },
  order: {
    sql: 'select 1 as a, 2 as b, 3 as c, 4 as unlisted',
    result: { c: integer, a: integer, b: integer },
  },
  counted: COUNTED,
  counted_3: { ...COUNTED, policy: { max_rows: 3 } },
  counted_3_error: { ...COUNTED, policy: { max_rows: 3, on_limit: 'error' } },
  counted_3_truncate: { ...COUNTED, policy: { max_rows: 3, on_limit: 'truncate' } },
  texts: TEXTS,
  texts_100: { ...TEXTS, policy: { max_bytes: 100 } },
  texts_2kb: { ...TEXTS, policy: { max_bytes: '2KB' } },
  texts_100_error: { ...TEXTS, policy: { max_bytes: '100B', on_limit: 'error' } },
  umlauts_100: { ...TEXTS, sql: TEXTS.sql.replace("'x'", "'ü'"), policy: { max_bytes: 100 } },
  sleep: { ...SLEEP, policy: { allow_functions: ['pg_sleep'] } },
  sleep_200ms: { ...SLEEP, policy: { timeout: '200ms', allow_functions: ['PG_SLEEP'] } },
  timeout: TIMEOUT,
  timeout_2m: { ...TIMEOUT, policy: { timeout: '2m' } },
  divide: {
    sql: 'select 100 / :by::bigint as quotient',
    params: { by: { ...integer, required: true } },
    result: { quotient: integer },
  },
};

let database: TestDatabase;
let station: Station;
beforeAll(async () => {
  database = await testDatabase();
  station = await startStation(database);
  await station.agent(station.file({ capabilities: CAPABILITIES }));
});
afterAll(() => station.stop());

function expectRefusal(answer: StationAnswer, status: number, code: string, message?: string): void {
  expect(answer.json).toEqual({ error: { code, message: message ?? expect.any(String) } });
  expect(answer.status).toBe(status);
}

/** The `rows` array as it was sent, and what else the answer says. */
function rowsOf(answer: StationAnswer): { bytes: number; count: number; truncated: boolean } {
  const [, rows = '', count = '', truncated] =
    /^\{"rows":(\[.*\]),"count":(\d+)(,"truncated":true)?\}$/s.exec(answer.text) ?? [];
  return { bytes: Buffer.byteLength(rows), count: Number(count), truncated: truncated !== undefined };
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {};
}

function at(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((inner, name) => record(inner)[name], value);
}

async function operation(name: string): Promise<unknown> {
  const { json } = await station.get('/openapi.json');
  return at(json, 'paths', `/api/v1/capabilities/${name}`, 'post');
}

test(
  'descriptions, formats and null are told in the OpenAPI description',
  {
    tags: [
      'capability:description',
      'capability:params.description',
      'capability:result.description',
      'capability:result.format',
      'capability:result.nullable',
    ],
  },
  async () => {
    const described = await operation('described');
    expect(at(described, 'description')).toBe('Greets a reader.');
    const request = at(described, 'requestBody', 'content', 'application/json', 'schema', 'properties');
    expect(at(request, 'who', 'description')).toBe('Whom to greet.');
    expect(at(request, 'day', 'description')).toBe('The day.');
    const schema = at(described, 'responses', '200', 'content', 'application/json', 'schema');
    const fields = at(schema, 'properties', 'rows', 'items', 'properties');
    expect(fields).toEqual({
      day: { type: ['string', 'null'], format: 'date' },
      greeting: { type: 'string', format: 'greeting', description: 'What to say.' },
    });
    const order = at(await operation('order'), 'responses', '200', 'content', 'application/json', 'schema');
    expect(at(order, 'properties', 'rows', 'items', 'properties', 'a', 'type')).toEqual(['integer', 'null']);
  },
);

test(
  'only listed fields leave, in the order of the file',
  { tags: ['capability:result', 'rest:rows', 'rest:count'] },
  async () => {
    expect((await station.call('order')).text).toBe('{"rows":[{"c":3,"a":1,"b":2}],"count":1}');
  },
);

test(
  'parameters are :name, and neither casts nor quotes nor comments',
  { tags: ['capability:sql'] },
  async () => {
    const { json } = await station.call('colons', { yes: '!' });
    expect(json).toEqual({ rows: [{ t: ':no!', a: [1, 2] }], count: 1 });
  },
);

describe('parameters', () => {
  test('required', { tags: ['capability:params.required', 'error:AGENT_INVALID_PARAMS'] }, async () => {
    expectRefusal(await station.call('described'), 400, 'AGENT_INVALID_PARAMS', 'who: is required');
    expectRefusal(
      await station.call('described', { who: null }),
      400,
      'AGENT_INVALID_PARAMS',
      'who: is required',
    );
    const { json } = await station.call('described', { who: 'Ann' });
    expect(json).toEqual({ rows: [{ day: null, greeting: 'hello Ann' }], count: 1 });
  });

  test(
    'an absent and a null optional one are NULL, or the default',
    {
      tags: ['capability:params.absent', 'capability:params.default'],
    },
    async () => {
      const row = { a: 7, b: '', c: true, d: '{x}' };
      const nulls = { a: null, b: null, c: null, d: null };
      for (const params of [{}, nulls]) {
        expect((await station.call('defaults', params)).json).toEqual({ rows: [row], count: 1 });
      }
      const { json } = await station.call('defaults', { a: 0, b: 'y', c: false, d: [] });
      expect(json).toEqual({ rows: [{ a: 0, b: 'y', c: false, d: '{}' }], count: 1 });
    },
  );

  test('minimum', { tags: ['capability:params.minimum'] }, async () => {
    expect((await station.call('least', { id: 3 })).json).toEqual({ rows: [{ id: 3 }], count: 1 });
    expectRefusal(await station.call('least', { id: 2 }), 400, 'AGENT_INVALID_PARAMS', 'id: must be >= 3');
  });

  test(
    'all that is wrong is told on one line, without any value',
    {
      tags: ['error:AGENT_INVALID_PARAMS', 'error:silence'],
    },
    async () => {
      const answer = await station.call('defaults', {
        a: 'canary',
        b: 1,
        d: ['ok', 5],
        canary_x: 1,
        'canary y': 2,
      });
      const message =
        'a: must be an integer; b: must be a string; d[1]: must be a string; canary_x: unknown parameter; an unknown parameter';
      expect(answer.text).not.toContain('canary y');
      expectRefusal(answer, 400, 'AGENT_INVALID_PARAMS', message);
    },
  );

  test('the longest names can be called', { tags: ['capability:params', 'file:capabilities'] }, async () => {
    const { json } = await station.call(LONGEST_NAME, { [LONGEST_PARAM]: 'x' });
    expect(json).toEqual({ rows: [{ t: 'x' }], count: 1 });
  });
});

describe('policy.max_rows', { tags: ['limit:rows', 'rest:truncated'] }, () => {
  test('is 1000 by default', { tags: ['file:defaults.max_rows', 'capability:policy.on_limit'] }, async () => {
    expect(rowsOf(await station.call('counted', { n: 1000 }))).toMatchObject({
      count: 1000,
      truncated: false,
    });
    expect(rowsOf(await station.call('counted', { n: 1001 }))).toMatchObject({
      count: 1000,
      truncated: true,
    });
  });

  test(
    'cuts the rows, in their order',
    { tags: ['capability:policy.max_rows', 'capability:policy.on_limit'] },
    async () => {
      const rows = [{ id: 1 }, { id: 2 }, { id: 3 }];
      for (const name of ['counted_3', 'counted_3_truncate']) {
        expect((await station.call(name, { n: 3 })).json).toEqual({ rows, count: 3 });
        expect((await station.call(name, { n: 4 })).json).toEqual({ rows, count: 3, truncated: true });
      }
    },
  );

  test(
    'refuses the result under on_limit: error',
    {
      tags: ['capability:policy.on_limit', 'error:AGENT_RESULT_TOO_LARGE'],
    },
    async () => {
      expect((await station.call('counted_3_error', { n: 3 })).status).toBe(200);
      expectRefusal(await station.call('counted_3_error', { n: 4 }), 502, 'AGENT_RESULT_TOO_LARGE');
    },
  );
});

describe('policy.max_bytes', { tags: ['limit:bytes', 'capability:policy.max_bytes'] }, () => {
  // One row is `{"t":"..."}`: 8 bytes and its text. The array adds 2, and a comma between rows.
  const around = 10;

  test.each([
    ['texts', MIB],
    ['texts_100', 100],
    ['texts_2kb', 2048],
  ])(
    'counts the bytes of the rows as sent: %s takes %i',
    { tags: ['file:defaults.max_bytes', 'file:sizes'] },
    async (name, most) => {
      expect(rowsOf(await station.call(name, { lengths: [most - around] }))).toEqual({
        bytes: most,
        count: 1,
        truncated: false,
      });
      const two = [10, most - 2 * around - 9];
      expect(rowsOf(await station.call(name, { lengths: two }))).toEqual({
        bytes: most,
        count: 2,
        truncated: false,
      });
      const over = [10, most - 2 * around - 8];
      expect(rowsOf(await station.call(name, { lengths: over }))).toEqual({
        bytes: 20,
        count: 1,
        truncated: true,
      });
    },
  );

  test('stops at whole rows, the last that fits', async () => {
    const lengths = Array.from({ length: 900 }, (_, index) => 2000 + (index % 7));
    const answer = rowsOf(await station.call('texts', { lengths }));
    expect(answer.truncated).toBe(true);
    expect(answer.bytes).toBeLessThanOrEqual(MIB);
    expect(answer.bytes + 1 + 8 + (lengths[answer.count] ?? 0)).toBeGreaterThan(MIB);
  });

  test('counts bytes, not characters', async () => {
    expect(rowsOf(await station.call('umlauts_100', { lengths: [45] }))).toEqual({
      bytes: 100,
      count: 1,
      truncated: false,
    });
    expectRefusal(await station.call('umlauts_100', { lengths: [46] }), 502, 'AGENT_RESULT_TOO_LARGE');
  });

  test(
    'one row that alone exceeds it is refused, first or later',
    { tags: ['error:AGENT_RESULT_TOO_LARGE'] },
    async () => {
      expect((await station.call('texts_100', { lengths: [90] })).status).toBe(200);
      const message = 'the result is larger than it may be, narrow the request';
      expectRefusal(
        await station.call('texts_100', { lengths: [91] }),
        502,
        'AGENT_RESULT_TOO_LARGE',
        message,
      );
      expectRefusal(await station.call('texts_100', { lengths: [1, 91] }), 502, 'AGENT_RESULT_TOO_LARGE');
    },
  );

  test(
    'refuses the result under on_limit: error',
    {
      tags: ['capability:policy.on_limit', 'error:AGENT_RESULT_TOO_LARGE'],
    },
    async () => {
      expect(rowsOf(await station.call('texts_100_error', { lengths: [40, 41] }))).toMatchObject({
        bytes: 100,
      });
      expectRefusal(
        await station.call('texts_100_error', { lengths: [40, 42] }),
        502,
        'AGENT_RESULT_TOO_LARGE',
      );
    },
  );
});

describe('policy.timeout', { tags: ['limit:timeout', 'capability:policy.timeout'] }, () => {
  async function secondsOf(name: string): Promise<number> {
    const { json } = await station.call(name);
    const [row] = Object.values(record(at(json, 'rows')));
    const [, hours = 0, minutes = 0, seconds = 0] =
      /^(\d\d):(\d\d):([\d.]+)$/.exec(String(at(row, 't'))) ?? [];
    return Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
  }

  test(
    'is 30 s by default, and what the capability says otherwise',
    { tags: ['file:defaults.timeout'] },
    async () => {
      // What is left of it when the query begins.
      expect(await secondsOf('timeout')).toSatisfy((left: number) => left > 29 && left <= 30);
      expect(await secondsOf('timeout_2m')).toSatisfy((left: number) => left > 119 && left <= 120);
    },
  );

  test(
    'ends the query',
    { tags: ['error:AGENT_QUERY_TIMEOUT', 'capability:policy.allow_functions'] },
    async () => {
      const started = performance.now();
      expectRefusal(
        await station.call('sleep_200ms', { seconds: 20 }),
        504,
        'AGENT_QUERY_TIMEOUT',
        'the query took longer than it may',
      );
      expect(performance.now() - started).toBeLessThan(1500);
      expect((await station.call('sleep_200ms', { seconds: 0 })).status).toBe(200);
    },
  );
});

test(
  'a failure of the query tells nothing of it',
  { tags: ['error:AGENT_QUERY_FAILED', 'error:silence'] },
  async () => {
    expectRefusal(
      await station.call('divide', { by: 0 }),
      502,
      'AGENT_QUERY_FAILED',
      'the query could not be completed',
    );
    expect((await station.call('divide', { by: 5 })).json).toEqual({ rows: [{ quotient: 20 }], count: 1 });
  },
);

test('expose_in_openapi', { tags: ['capability:expose_in_openapi'] }, async () => {
  expect(await operation('hidden')).toBeUndefined();
  expect(await operation('shown')).toBeDefined();
  expect(await operation('order')).toBeDefined();
  expect((await station.call('hidden')).json).toEqual({ rows: [{ one: 1 }], count: 1 });
});

describe('a file', { tags: ['file:lint', 'command:check'] }, () => {
  async function faults(capability: Readonly<Record<string, unknown>>, name = 'c', args = ['--offline']) {
    const folder = await station.folder({
      'capability.yaml': station.file({ capabilities: { [name]: capability } }),
    });
    const ran = await runProcess(`${folder}/svc-agent`, ['check', ...args]);
    const lines = ran.stdout.trimEnd().split('\n');
    return { code: ran.code, lines: lines.map((line) => line.slice(line.indexOf('  ') + 2)) };
  }
  const one = { sql: 'select 1 as one', result: { one: integer } };

  test.each([
    ['a', true],
    [`a${'b'.repeat(47)}`, true],
    [`a${'b'.repeat(48)}`, false],
    ['1a', false],
    ['_a', false],
    ['aB', false],
    ['a-b', false],
  ])('a capability %s: %s', { tags: ['file:capabilities'] }, async (name, accepted) => {
    const { code } = await faults(one, name);
    expect(code).toBe(accepted ? 0 : 2);
  });

  test.each([
    ['_', true],
    ['a'.repeat(63), true],
    ['a'.repeat(64), false],
    ['1a', false],
    ['A', false],
  ])('a parameter %s: %s', { tags: ['capability:params'] }, async (name, accepted) => {
    const { code } = await faults({ ...one, params: { [name]: text } });
    expect(code).toBe(accepted ? 0 : 2);
  });

  test.each([
    ['no field', { ...one, result: {} }, 'capabilities.c.result: must have at least 1 entry'],
    ['no result', { sql: one.sql }, 'capabilities.c.result: is required'],
    ['no SQL', { result: one.result }, 'capabilities.c.sql: is required'],
  ])(
    'a capability with %s is refused',
    { tags: ['capability:result', 'capability:sql'] },
    async (_title, capability, fault) => {
      expect(await faults(capability)).toEqual({ code: 2, lines: [fault] });
    },
  );

  test(
    'a volatile function is refused unless it is allowed',
    {
      tags: ['capability:policy.allow_functions', 'sql:volatile'],
    },
    async () => {
      const sleeping = { sql: 'select pg_sleep(0)::text as one', result: { one: text } };
      expect(await faults(sleeping, 'c', [])).toMatchObject({
        code: 2,
        lines: [expect.any(String), expect.stringContaining('calls pg_sleep, which is volatile')],
      });
      const policy = { allow_functions: ['pg_sleep'] };
      expect((await faults({ ...sleeping, policy }, 'c', [])).code).toBe(0);
      const qualified = { allow_functions: ['pg_catalog.pg_sleep'] };
      expect((await faults({ ...sleeping, policy: qualified }, 'c', [])).code).toBe(0);
    },
  );
});
