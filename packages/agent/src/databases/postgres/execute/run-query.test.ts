import { inspect } from 'node:util';
import { testDatabase, type TestDatabase } from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ParamSchema, ResultType } from '../../../capabilities/model.ts';
import {
  type TestedDatabase,
  callOf,
  capabilityOf,
  configOf,
  queryOf,
  textOfRows,
  type CapabilityOptions,
  openPostgres,
} from '../capability.fixture.ts';

const MARKER = 'zq7marker';
const schema = `
  create domain short as text constraint short_enough check (length(value) < 3);
  create function shout(v text) returns text language plpgsql stable as $$ begin
    raise exception 'no %', v using detail = v, hint = v, column = v, constraint = v, datatype = v, table = v, schema = v;
  end $$;
  create function divide(v text) returns int language plpgsql stable as $$ begin
    return (execute_text(v))::int;
  end $$;
  create function execute_text(v text) returns text language plpgsql stable as $$ declare r text; begin
    execute 'select ''' || v || '''::int' into r; return r;
  end $$;
  create function times_called(_ int) returns numeric language plpgsql stable as $$ begin
    return set_config('svc.times', (coalesce(nullif(current_setting('svc.times', true), ''), '0')::int + 1)::text, true);
  end $$;
  create type mood as enum ('sad', 'glad');
  create domain percent as numeric(5, 0);
  create table book (id int primary key, title text, price numeric(10, 2));
  insert into book select g, 'book ' || g, g * 1.5 from generate_series(1, 50) g;
`;

let server: TestDatabase;
let database: TestedDatabase;
beforeAll(async () => {
  server = await testDatabase({ sql: [schema] });
  database = openPostgres(configOf(server));
});
afterAll(() => database.close());

async function rowsOf(
  sql: string,
  options: CapabilityOptions = {},
  values: Record<string, unknown> = {},
): Promise<string> {
  const query = await queryOf(database, capabilityOf(sql, options));
  return textOfRows(await query.run(callOf(values)));
}

describe('columns leave as their declared type', () => {
  test.each<[ResultType, string, string]>([
    ['integer', '9223372036854775807', '9223372036854775807'],
    ['integer', '7::int2', '7'],
    ['integer', '5::percent', '5'],
    ['integer', "'NaN'::numeric(5, 0)", 'null'],
    ['integer', '4294967295::oid', '4294967295'],
    ['number', '0.1::float8', '0.1'],
    ['number', '12345678901234567890.123456789::numeric', '12345678901234567890.123456789'],
    ['number', "'NaN'::float8", 'null'],
    ['number', "'-Infinity'::float4", 'null'],
    ['number', '42', '42'],
    ['string', "'a\"b\\c' || chr(10) || 'é'", String.raw`"a\"b\\c\né"`],
    ['string', "'glad'::mood", '"glad"'],
    ['string', 'true', '"true"'],
    ['string', 'int4range(1, 5)', '"[1,5)"'],
    ['string', "'\\x00ff'::bytea", String.raw`"\\x00ff"`],
    ['string', 'array[1, null]', '"{1,NULL}"'],
    ['boolean', '1 = 1', 'true'],
    ['date', "date '2024-02-29'", '"2024-02-29"'],
    ['date', "'infinity'::date", 'null'],
    ['date', "date '0044-03-15 BC'", 'null'],
    ['date', "date '10000-01-01'", 'null'],
    ['datetime', "timestamp '2024-02-29 12:30:00.5'", '"2024-02-29T12:30:00.5+00:00"'],
    ['datetime', "timestamptz '9999-12-31 23:59:59+00'", '"9999-12-31T23:59:59+00:00"'],
    ['datetime', "'-infinity'::timestamptz", 'null'],
    ['array', "array['a', null, 'b c']", '["a",null,"b c"]'],
    ['array', 'array[[1, 2], [3, 4]]', '[[1,2],[3,4]]'],
    ['array', "array[1, 'NaN', '-Infinity']::float8[]", '[1,null,null]'],
    ['array', "array['2024-01-01', 'infinity', '0044-03-15 BC']::date[]", '["2024-01-01",null,null]'],
    ['array', "array['sad', 'glad']::mood[]", '["sad","glad"]'],
    ['array', '\'[1, {"x": 2}]\'::jsonb', '[1, {"x": 2}]'],
    ['array', "'{}'::jsonb", 'null'],
    ['object', '\'{"b":1}\'::jsonb', '{"b": 1}'],
    ['object', "'[1]'::json", 'null'],
    ['object', 'E\'{"x":\\n1}\'::json', '{"x": 1}'],
    ['object', '(select b from book b where id = 2)', '{"id":2,"title":"book 2","price":3.00}'],
  ])('%s from %s', async (type, expression, expected) => {
    expect(await rowsOf(`select ${expression} as a`, { result: { a: type } })).toBe(`[{"a":${expected}}]`);
  });

  test('the infinity of a numeric is null', async ({ skip }) => {
    skip((await server.version()) < 140_000, 'before PostgreSQL 14 a numeric has no infinity');
    const options = { result: { a: 'number' } } as const;
    expect(await rowsOf("select '-Infinity'::numeric as a", options)).toBe('[{"a":null}]');
  });

  test('an integer stays one when its column comes to hold fractions', async () => {
    await server.execute(
      'create table grown (id int, a numeric(5, 0)); insert into grown values (1, 2), (2, null)',
    );
    const query = await queryOf(database, capabilityOf('select a from grown order by id'));
    expect(textOfRows(await query.run(callOf()))).toBe('[{"a":2},{"a":null}]');
    await server.execute('alter table grown alter a type numeric(5, 2) using a + 0.5');
    await server.execute('insert into grown values (3, 7)');
    expect(textOfRows(await query.run(callOf()))).toBe('[{"a":null},{"a":null},{"a":7}]');
  });

  test('each column is computed once for each row', async () => {
    const capability = capabilityOf('select times_called(id) as a from book where id < 3', {
      result: { a: 'number' },
    });
    const result = capability.result.map((field) => ({ ...field, nullable: false }));
    const query = await queryOf(database, { ...capability, result });
    expect(textOfRows(await query.run(callOf()))).toBe('[{"a":1},{"a":2}]');
  });

  test.each(['q', 'r', 'x', 'y', 'w', 'j', 'missing'])('a field may be called %s', async (name) => {
    const sql = `select (select b from book b where id = 2) as ${name}, 7 as other`;
    expect(await rowsOf(sql, { result: { [name]: 'object', other: 'integer' } })).toBe(
      `[{"${name}":{"id":2,"title":"book 2","price":3.00},"other":7}]`,
    );
  });
});

describe('parameters arrive as they were given', () => {
  const awkward = [
    `it's "q"`,
    String.raw`back\slash`,
    '',
    'NULL',
    '{}',
    'a,b',
    'new\nline',
    'é😀',
    '--',
    '$1',
    ' ',
  ];
  test.each<[ParamSchema, unknown, string]>([
    [{ type: 'integer' }, Number.MAX_SAFE_INTEGER, '9007199254740991'],
    [{ type: 'number' }, 1e21, '1000000000000000000000'],
    [{ type: 'number' }, -0.1, '-0.1'],
    [{ type: 'string' }, awkward.join('|'), awkward.join('|')],
    [{ type: 'boolean' }, false, 'false'],
    [{ type: 'date' }, '2024-02-29', '2024-02-29'],
    [{ type: 'datetime' }, '2024-02-29T12:00:00+02:00', '2024-02-29 10:00:00+00'],
    [{ type: 'uuid' }, 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'],
    [{ type: 'object' }, { b: [1, null, { c: "'" }] }, `{"b": [1, null, {"c": "'"}]}`],
    [{ type: 'array', items: { type: 'integer' } }, [], '{}'],
    [{ type: 'array', items: { type: 'boolean' } }, [true, false], '{t,f}'],
  ])('%j: %j', async (schema, value, expected) => {
    const rows = await rowsOf(
      'select :v as a',
      { params: { v: schema }, result: { a: 'string' } },
      { v: value },
    );
    expect(JSON.parse(rows)).toEqual([{ a: expected }]);
  });
});

describe('caps', () => {
  const rows = (n: number): CapabilityOptions['result'] & object =>
    n > 0 ? { id: 'integer', title: 'string' } : {};
  const sql = 'select id, title from book order by id desc';

  const huge = "select repeat('x', n) as a from (values (10), (500), (10)) v (n)";

  test('a long query whose result is cut needs its time once', async () => {
    const slow = 'select n as a from generate_series(1, 3) n, pg_sleep(0.6)';
    const query = await queryOf(
      database,
      capabilityOf(slow, { limits: { maxRows: 2, timeoutMs: 1000 }, allowFunctions: ['pg_sleep'] }),
    );
    expect(await query.run(callOf({}, { timeoutMs: 1000 }))).toMatchObject({ count: 2, truncated: true });
  });

  test('rows that together would take the server too much memory are counted as they go', async () => {
    const sql = "select repeat('x', 70000) as a from generate_series(1, 3)";
    const query = await queryOf(database, capabilityOf(sql, { result: { a: 'string' } }));
    const result = await query.run(callOf());
    expect(JSON.parse(textOfRows(result))).toEqual(
      Array.from({ length: 3 }, () => ({ a: 'x'.repeat(70_000) })),
    );
    expect(result).toMatchObject({ count: 3, truncated: false });
  });

  test('on_limit error refuses what would be truncated', async () => {
    const query = await queryOf(
      database,
      capabilityOf(sql, { result: rows(1), limits: { maxRows: 3, onLimit: 'error' } }),
    );
    await expect(query.run(callOf())).rejects.toMatchObject({
      kind: 'too_large',
      message: 'more than max_rows (3), and on_limit is error',
    });
    const few = await queryOf(
      database,
      capabilityOf(huge, { result: { a: 'string' }, limits: { maxBytes: 520, onLimit: 'error' } }),
    );
    await expect(few.run(callOf())).rejects.toMatchObject({
      kind: 'too_large',
      message: 'more than max_bytes (520), and on_limit is error',
    });
  });
});

describe('what a failing query leaves for the log', () => {
  test.each<[string, RegExp]>([
    ["select (:v || '')::int as a", /^SQLSTATE 22P02, invalid_text_representation, routine \w+$/],
    ["select ((:v || '')::json->>0)::int as a", /^SQLSTATE 22P02/],
    ["select length(:v) / length(replace(:v, :v, '')) as a", /^SQLSTATE 22012, division_by_zero/],
    ["select length((:v || '')::short) as a", /^SQLSTATE 23514, check_violation, .*constraint short_enough/],
    ["select 1 as a where 'x' ~ ('(' || (select :v))", /^SQLSTATE 2201B, invalid_regular_expression/],
    ['select length(shout(:v)) as a', /^SQLSTATE P0001, raise_exception, routine exec_stmt_raise$/],
    ['select divide(:v) as a', /^SQLSTATE 22P02/],
  ])('%s: no value', async (sql, expected) => {
    const query = await queryOf(database, capabilityOf(sql, { params: { v: { type: 'string' } } }));
    const error: unknown = await query.run(callOf({ v: MARKER })).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ kind: 'failed', message: expect.stringMatching(expected) });
    expect(inspect(error, { depth: Infinity, showHidden: true })).not.toContain(MARKER);
  });
});

describe('the transaction', () => {
  test('only reads', async () => {
    const sql = "select current_setting('transaction_read_only') as a";
    expect(await rowsOf(sql, { result: { a: 'string' } })).toBe('[{"a":"on"}]');
  });

  test('errors of one call leave the connection fit for the next', async () => {
    const params = { n: { type: 'integer' } } as const;
    const query = await queryOf(
      database,
      capabilityOf('select 1 / :n as a, pg_backend_pid() as pid', {
        params,
        result: { a: 'integer', pid: 'integer' },
      }),
    );
    const before = textOfRows(await query.run(callOf({ n: 1 })));
    await expect(query.run(callOf({ n: 0 }))).rejects.toMatchObject({ kind: 'failed' });
    expect(textOfRows(await query.run(callOf({ n: 1 })))).toBe(before);
  });
});
