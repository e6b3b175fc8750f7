import { inspect } from 'node:util';
import { testDatabase, type TestDatabase } from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { ParamSchema } from '../../../../capabilities/model.ts';
import type { TestedDatabase } from '../../capability.fixture.ts';
import {
  callOf,
  capabilityOf,
  configOf,
  queryOf,
  textOfRows,
  type CapabilityOptions,
  openPostgres,
} from '../../capability.fixture.ts';
import { SessionPool } from '../../pool/session-pool.ts';
import { createQuery } from '../../execute/run-query.ts';
import { openSession } from '../../connection/database-session.ts';
import { verifyCapabilities } from '../verify-capabilities.ts';

const schema = `
  create extension citext;
  create type mood as enum ('sad', 'glad');
  create domain positive as int check (value > 0);
  create domain feeling as mood;
  create domain known as inet not null;
  create schema "odd ""); --";
  create type "odd ""); --"."$1::int) ; :v" as enum ('a', 'it''s');
  create table odd (v "odd ""); --"."$1::int) ; :v");
  insert into odd values ('it''s');
  create function half(v positive) returns int language sql immutable as 'select v / 2';
  create function shown(v feeling) returns text language sql stable as 'select v::text';
  create function host_of(v known) returns text language sql stable as 'select host(v)';
  create function small(v int2) returns int language sql immutable as 'select v::int';
  create function tidy(v json) returns text language sql immutable as 'select v::text';
  create function pick(v real[]) returns real language sql immutable as 'select v[1]';
  create table thing (
    id int primary key, code char(4), email citext, feels mood, felt feeling, day date, local timestamp, at timestamptz,
    addr inet, noon time, cost money, key uuid, doc jsonb, price numeric(8, 2), big bigint, during tsrange,
    label text, tag varchar(3), plain json
  );
  create function over(v int2) returns int language sql as 'select 1';
  create function over(v text, w text default '') returns int language sql as 'select 1';
  insert into thing values (1, 'ab', 'Ann@Example.org', 'glad', 'sad', '2024-02-29', '2024-02-29 12:00',
    '2024-02-29 12:00+00', '10.0.0.7', '12:30', '5.25', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{"a": [1]}', 2.345,
    9007199254740993, '[2024-01-01,2025-01-01)', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'x', '{}');
`;

let server: TestDatabase;
let database: TestedDatabase;
let pool: SessionPool;
beforeAll(async () => {
  server = await testDatabase({ sql: [schema] });
  await server.execute(`alter database ${server.name} set timezone = 'Europe/Athens'`);
  database = openPostgres(configOf(server));
  pool = new SessionPool((signal) => openSession(configOf(server), signal), 1);
});
afterAll(() => Promise.all([database.close(), pool.close()]));

type Type = ParamSchema['type'] | ParamSchema;

function schemaOf(type: Type): ParamSchema {
  return typeof type === 'string' ? { type } : type;
}

function optionsOf(
  types: Readonly<Record<string, Type>>,
  result: CapabilityOptions['result'] & object,
): CapabilityOptions {
  return {
    params: Object.fromEntries(Object.entries(types).map(([name, type]) => [name, schemaOf(type)])),
    result,
  };
}

const found = 'select id as a from thing where ';
const strings: ParamSchema = { type: 'array', items: { type: 'string' } };
const integers: ParamSchema = { type: 'array', items: { type: 'integer' } };

describe('ordinary SQL is taken as it is', () => {
  test.each<[sql: string, type: Type, value: unknown, expected: unknown]>([
    ["select repeat('x', :v) as a", 'integer', 3, 'xxx'],
    ['select left(label, :v) as a from thing', 'integer', 2, 'a0'],
    ["select substring('abcdef', :v, :v) as a", 'integer', 2, 'bc'],
    ['select make_interval(days => :v)::text as a', 'integer', 2, '2 days'],
    ['select day + :v as a from thing', 'integer', 1, '2024-03-01'],
    ['select day - :v as a from thing', 'integer', 1, '2024-02-28'],
    ['select day + :v * 7 as a from thing', 'integer', 1, '2024-03-07'],
    ['select round(price, :v) as a from thing', 'integer', 1, '2.4'],
    ["select '[5, 6]'::jsonb -> :v as a", 'integer', 1, '6'],
    ['select (array[5, 6])[(:v)] as a', 'integer', 2, '6'],
    ['select small(:v) as a', 'integer', -7, '-7'],
    ['select half(:v) as a', 'integer', 8, '4'],
    [
      "select string_agg(d::date::text, ',') as a from generate_series('2024-01-01'::date, :v, '1 day') d",
      'date',
      '2024-01-02',
      '2024-01-01,2024-01-02',
    ],
    [`${found}feels = :v`, 'string', 'glad', '1'],
    ['select shown(:v) as a', 'string', 'sad', 'sad'],
    ['select host_of(:v) as a', 'string', '10.0.0.7', '10.0.0.7'],
    [`${found}feels in (:v, 'sad')`, 'string', 'glad', '1'],
    [`${found}feels = any(:v)`, strings, ['sad', 'glad'], '1'],
    [`${found}:v is null or feels = :v`, 'string', 'glad', '1'],
    [`${found}feels = coalesce(:v, feels)`, 'string', null, '1'],
    [`${found}feels = :v and lower(:v) = 'glad'`, 'string', 'glad', '1'],
    [`${found}code = :v`, 'string', 'ab', '1'],
    [`${found}(:v is null or code = :v)`, 'string', 'ab', '1'],
    [`${found}code = any(:v)`, strings, ['ab'], '1'],
    [`${found}email = :v`, 'string', 'ANN@example.ORG', '1'],
    [`${found}email like :v || '%'`, 'string', 'ann', '1'],
    [`${found}label like :v || '%'`, 'string', 'a0', '1'],
    [`${found}tag = :v`, 'string', 'x', '1'],
    [`${found}addr << :v`, 'string', '10.0.0.0/8', '1'],
    [`${found}addr = :v`, 'string', '10.0.0.7', '1'],
    [`${found}key = :v`, 'string', 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11', '1'],
    [`${found}label = :v`, 'uuid', 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11', '1'],
    [`${found}key = any(:v)`, strings, ['a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'], '1'],
    [`${found}id = any(:v)`, integers, [1, 2], '1'],
    [`${found}big = any(:v)`, strings, ['9007199254740993'], '1'],
    [`${found}big = :v`, 'string', '9007199254740993', '1'],
    [`${found}noon > :v`, 'string', '12:00', '1'],
    [`${found}at > timestamptz '2024-03-01' - interval '1 day' * :v`, 'integer', 2, '1'],
    ['select (at + :v)::date as a from thing', 'string', '1 day', '2024-03-01'],
    [`${found}cost > :v`, 'integer', 5, '1'],
    [`${found}doc @> :v`, 'object', { a: [1] }, '1'],
    [`${found}doc @> :v`, 'string', '{"a": [1]}', '1'],
    [`${found}doc @? :v`, 'string', '$.a[*] ? (@ == 1)', '1'],
    ['select tidy(:v) as a', 'object', { b: 1 }, '{"b": 1}'],
    ['select pick(:v)::text as a', { type: 'array', items: { type: 'number' } }, [0.5], '0.5'],
    // The offset counts: noon in UTC is two o'clock in Athens, the time zone of the database.
    [`${found}local < :v`, 'datetime', '2024-02-29T10:00:01Z', '1'],
    [`${found}local = :v`, 'datetime', '2024-02-29T12:00:00+02:00', '1'],
    [`${found}during @> :v`, 'datetime', '2024-12-31T21:59:59Z', '1'],
    [`${found}during @> :v`, 'datetime', '2024-12-31T22:00:00Z', undefined],
    [`${found}at = :v`, 'datetime', '2024-02-29T14:00:00+02:00', '1'],
    [`${found}day = :v`, 'date', '2024-02-29', '1'],
    [`${found}local >= :v`, 'date', '2024-02-29', '1'],
    ['select id as a from thing limit :v', 'integer', 1, '1'],
    // Whatever a type is called, its name is no SQL.
    ['select v as a from odd where v = :v', 'string', "it's", "it's"],
  ])('%s with %j: %j', async (sql, type, value, expected) => {
    const query = await queryOf(database, capabilityOf(sql, optionsOf({ v: type }, { a: 'string' })));
    const rows: unknown = JSON.parse(textOfRows(await query.run(callOf({ v: value }))));
    expect(rows).toEqual(expected === undefined ? [] : [{ a: expected }]);
  });
});

describe('what a type does not take is refused as a parameter', () => {
  const checked: readonly (readonly [sql: string, type: Type, value: unknown, problem: string])[] = [
    [`${found}addr << :v`, 'string', 'zq7marker', 'v: must be a valid inet'],
    [`${found}key = :v`, 'string', 'zq7marker', 'v: must be a valid uuid'],
    [`${found}noon > :v`, 'string', '25:00', 'v: must be a valid time without time zone'],
    ['select (at + :v)::date as a from thing', 'string', 'zq7marker', 'v: must be a valid interval'],
    [`${found}big = :v`, 'string', '9223372036854775808', 'v: must be a valid bigint'],
    [`${found}doc @> :v`, 'string', '{', 'v: must be a valid jsonb'],
    [`${found}doc @? :v`, 'string', '$$$', 'v: must be a valid jsonpath'],
    [`${found}to_tsvector(label) @@ :v`, 'string', 'zq7marker'.repeat(300), 'v: must be a valid tsquery'],
    [`${found}key = any(:v)`, strings, ['zq7marker'], 'v: every item must be a valid uuid'],
    [`${found}cost = :v`, 'string', '1e300', 'v: must be a valid money'],
    [`${found}id = :v::integer`, 'string', 'zq7marker', 'v: must be a valid integer'],
    [`${found}day = :v::date`, 'string', '2024-02-30', 'v: must be a valid date'],
    [`${found}doc @> (:v::jsonb)`, 'string', '{', 'v: must be a valid jsonb'],
    [`${found}doc @> (:v::jsonb)`, 'string', '['.repeat(100_000), 'v: must be a valid jsonb'],
    [`${found}key = cast(:v as uuid)`, 'string', 'zq7marker', 'v: must be a valid uuid'],
    [`${found}price = :v::numeric(3, 1)`, 'string', '1234', 'v: must be a valid numeric'],
    [`${found}id = :v::int`, 'integer', 3e9, 'v: must be a valid integer'],
    [`${found}id = any(:v::int[])`, integers, [3e9], 'v: every item must be a valid integer'],
    [`${found}feels = :v::mood`, 'string', 'zq7marker', 'v: must be a value that the database takes'],
    [`${found}feels = :v::public.mood`, 'string', 'zq7marker', 'v: must be a value that the database takes'],
    ['select half(:v) as a', 'integer', -1, 'v: must be a value that the database takes'],
    ['select host_of(:v) as a', 'string', null, 'v: must be a value that the database takes'],
  ];
  test.each(checked)('%s with %j: %j: %s', async (sql, type, value, problem) => {
    const query = await queryOf(database, capabilityOf(sql, optionsOf({ v: type }, { a: 'string' })));
    const error: unknown = await query.run(callOf({ v: value })).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ kind: 'invalid_params', advice: problem });
    expect(inspect(error, { depth: Infinity, showHidden: true })).not.toContain('zq7marker');
    expect(error).not.toMatchObject({ advice: expect.stringMatching(/positive|thing/) });
  });

  test('every one of them is named, and nothing else', async () => {
    const sql = `${found}addr << :a and key = :b and noon > :c and label = :d`;
    const types = { a: 'string', b: 'string', c: 'string', d: 'string' } as const;
    const query = await queryOf(database, capabilityOf(sql, optionsOf(types, { a: 'integer' })));
    const call = query.run(callOf({ a: 'x', b: null, c: 'x', d: 'x' }));
    await expect(call).rejects.toMatchObject({
      kind: 'invalid_params',
      advice: 'a: must be a valid inet; c: must be a valid time without time zone',
    });
  });

  test('an error of the query itself stays one, whatever its kind', async () => {
    const sql = 'select 1 / length(:v) as a from thing where addr << :n';
    const query = await queryOf(
      database,
      capabilityOf(sql, optionsOf({ v: 'string', n: 'string' }, { a: 'integer' })),
    );
    await expect(query.run(callOf({ v: '', n: '10.0.0.0/8' }))).rejects.toMatchObject({ kind: 'failed' });
    await expect(query.run(callOf({ v: 'a', n: '10.0.0.0/8' }))).resolves.toMatchObject({ count: 1 });
  });
});

test('a cast of the SQL that asks first, or fails in another way, is not held against the value', async () => {
  const asks = "case when :v ~ '^[0-9]+$' then :v::int else label::int end";
  for (const sql of [
    `select ${asks} as a from thing`,
    "select 1 / (id - 1) as a from thing where :v = '' or :v::int > 0",
  ]) {
    const query = await queryOf(database, capabilityOf(sql, optionsOf({ v: 'string' }, { a: 'integer' })));
    await expect(query.run(callOf({ v: '' }))).rejects.toMatchObject({ kind: 'failed' });
  }
});

test('many refused values cost a few rounds, and the message says that there may be more', async () => {
  const names = Array.from({ length: 60 }, (_, index) => `p${index}`);
  const sql = `${found}${names.map((name) => `key = :${name}`).join(' or ')}`;
  const types = Object.fromEntries(names.map((name) => [name, 'string' as const]));
  const verified = await verifyCapabilities(pool, [capabilityOf(sql, optionsOf(types, { a: 'integer' }))]);
  const [query] = verified.prepared;
  if (query === undefined) throw new Error(JSON.stringify(verified.faults));
  const asked = vi.spyOn(pool, 'acquire');
  const values = Object.fromEntries(names.map((name) => [name, 'x']));
  const error: unknown = await createQuery(pool, query)
    .run(callOf(values))
    .catch((reason: unknown) => reason);
  expect(asked.mock.calls.length).toBeLessThanOrEqual(11);
  asked.mockRestore();
  expect(error).toMatchObject({
    kind: 'invalid_params',
    advice: expect.stringMatching(/^p0: must be a valid uuid; p1: .*; and perhaps others$/),
  });
});

describe('the bounds of a narrower type are those of the parameter', () => {
  async function narrowedBy(sql: string, schema: ParamSchema): Promise<ParamSchema | undefined> {
    const { capabilities, faults } = await database.verify([
      capabilityOf(sql, optionsOf({ v: schema }, { a: 'string' })),
    ]);
    expect(faults).toEqual([]);
    return capabilities[0]?.params[0]?.schema;
  }
  const int4 = { minimum: -2_147_483_648, maximum: 2_147_483_647 };

  test.each<[string, ParamSchema, Partial<ParamSchema>]>([
    ["select repeat('x', :v) as a", { type: 'integer' }, int4],
    ["select repeat('x', :v) as a", { type: 'integer', minimum: 1, maximum: 9 }, { minimum: 1, maximum: 9 }],
    ["select repeat('x', :v) as a", { type: 'integer', maximum: 3e9 }, int4],
    ['select small(:v) as a', { type: 'integer' }, { minimum: -32_768, maximum: 32_767 }],
    [`${found}id = :v`, { type: 'integer' }, {}],
    [`${found}feels = :v`, { type: 'string' }, { enum: ['sad', 'glad'] }],
    [`${found}feels = :v`, { type: 'string', enum: ['sad'] }, {}],
    [`${found}feels = any(:v)`, strings, { items: { type: 'string', enum: ['sad', 'glad'] } }],
    ['select shown(:v) as a', { type: 'string' }, { enum: ['sad', 'glad'] }],
    [`${found}addr << :v`, { type: 'string', maxLength: 40 }, {}],
  ])('%s with %j', async (sql, schema, added) => {
    expect(await narrowedBy(sql, schema)).toEqual({ ...schema, ...added });
  });

  test('a parameter that fits as declared is left alone beside one that does not', async () => {
    const { capabilities } = await database.verify([
      capabilityOf('select repeat(:s, :n) || (:big * 2)::text as a', {
        ...optionsOf({ s: 'string', n: 'integer', big: 'integer' }, { a: 'string' }),
      }),
    ]);
    expect(capabilities[0]?.params.map(({ schema }) => schema)).toEqual([
      { type: 'string' },
      { type: 'integer', ...int4 },
      { type: 'integer' },
    ]);
  });

  test.each<[string, ParamSchema, string]>([
    [
      `${found}feels = :v`,
      { type: 'string', default: 'angry' },
      'default must be a value that the database takes',
    ],
    [
      `${found}feels = :v`,
      { type: 'string', enum: ['sad', 'angry'] },
      'enum.1 must be a value that the database takes',
    ],
    [`${found}addr = :v`, { type: 'string', default: 'here' }, 'default must be a valid inet'],
    ["select left('a', :v) as a", { type: 'integer', default: 3e9 }, 'default must be a valid integer'],
    [
      `${found}key = any(:v)`,
      { type: 'array', items: { type: 'string', enum: ['a'] } },
      'items.enum.0 every item must be a valid uuid',
    ],
  ])('what the file itself names must fit: %s with %j', async (sql, schema, message) => {
    const { faults } = await database.verify([capabilityOf(sql, optionsOf({ v: schema }, { a: 'string' }))]);
    expect(faults.map((fault) => `${fault.path} ${fault.message}`)).toEqual([
      `capabilities.sample.params.v.${message}`,
    ]);
  });
});

describe('what cannot be told stays a fault that says what to write', () => {
  test.each<[string, Type, RegExp]>([
    [
      `${found}cost = :v`,
      'number',
      /params\.v is declared number, but the SQL takes it as money: .*:v::money/,
    ],
    [
      "select left('a', :v) as a",
      { type: 'integer', minimum: 3e9 },
      /params\.v has minimum: 3000000000, but the SQL takes it as integer, from -2147483648 to 2147483647: /,
    ],
    [
      'select small(:v) as a',
      { type: 'integer', exclusiveMaximum: -32_768 },
      /has exclusiveMaximum: -32768, .* as smallint/,
    ],
    [
      `${found}id = :v`,
      'string',
      /params\.v is declared string, but the SQL takes it as integer: .*:v::integer/,
    ],
    [
      `${found}label = :v`,
      'integer',
      /params\.v is declared integer, but the SQL takes it as text: .*:v::text/,
    ],
    [
      `${found}id = any(:v)`,
      strings,
      /params\.v is declared array, but the SQL takes it as integer\[\]: .*:v::integer\[\]/,
    ],
    [
      `${found}id = :v`,
      { type: 'array', items: { type: 'integer' } },
      /params\.v is an array, but the SQL takes one integer here: write x in \(:v\) or x = any\(:v\), or declare it integer$/,
    ],
    [
      `${found}label in (:v, 'x')`,
      strings,
      /params\.v is an array, but the SQL takes one text here: write x in \(:v\) .*, or declare it string$/,
    ],
    [`${found}id = :v`, strings, /one integer here: write x in \(:v\) or x = any\(:v\)$/],
    [`${found}id in (:v)`, strings, /params\.v is declared array, but the SQL takes it as integer\[\]: /],
    [
      `${found}(id, id) in (:v)`,
      { type: 'array', items: { type: 'integer' } },
      /params\.v is an array, but the SQL compares several values with each item: compare one$/,
    ],
    [
      `${found}true = id in (:v)`,
      { type: 'array', items: { type: 'integer' } },
      /sql has in \(:v\) beside another comparison: write parentheses around it, as in \(x in \(:v\)\)$/,
    ],
    [
      `${found}feels = :v`,
      'date',
      /params\.v is declared date, but the SQL takes it as a type of the database/,
    ],
    [`${found}at > now() - :v`, 'string', /cast the parameter :v /],
    [`${found}id = 1 and :v`, 'string', /params\.v is declared string, but the SQL takes it as boolean/],
    ['select over(:v, 2) as a', 'integer', /cast the parameter :v to what it takes, as in :v::integer/],
  ])('%s with %j', async (sql, type, message) => {
    const { faults } = await database.verify([capabilityOf(sql, optionsOf({ v: type }, { a: 'string' }))]);
    expect(faults.map((fault) => `${fault.path} ${fault.message}`).join()).toMatch(message);
    expect(JSON.stringify(faults.map((fault) => fault.message))).not.toMatch(/mood|over|thing/);
  });

  test('of several parameters the one at fault is named', async () => {
    const types = { first: 'integer', second: 'integer' } as const;
    const { faults } = await database.verify([
      capabilityOf(
        'select over(:second, 2) as a from thing where id = :first',
        optionsOf(types, { a: 'string' }),
      ),
    ]);
    expect(faults.map(({ message }) => message).join()).toContain('cast the parameter :second');
  });
});

test('starting asks the database a few times for each capability, however its parameters are typed', async () => {
  const asked = vi.spyOn(pool, 'acquire');
  const types = { a: 'string', b: 'string', n: 'integer', m: 'integer' } as const;
  const roundsOf = async (sql: string): Promise<number> => {
    asked.mockClear();
    const { faults } = await verifyCapabilities(pool, [
      capabilityOf(sql, optionsOf(types, { a: 'integer' })),
    ]);
    expect(faults).toEqual([]);
    return asked.mock.calls.length;
  };
  const rest = '(:n is null or id = :n) and id < :m';
  // Two of them ask for what all statements name, many capabilities at once; a further one for what the casts name that are
  // chosen first.
  expect(await roundsOf(`${found}label = :a and label <> :b and ${rest}`)).toBe(5);
  expect(await roundsOf(`${found}(:a is null or code = :a) and label <> :b and ${rest}`)).toBe(8);
  const inferred = `(:a is null or feels = :a) and (:b is null or addr << :b)`;
  expect(await roundsOf(`${found}${inferred} and ${rest}`)).toBe(11);
  const narrow = '(:n is null or day + :n > now()) and length(repeat(label, :m)) > 0';
  expect(await roundsOf(`${found}${inferred} and ${narrow}`)).toBe(12);
});
