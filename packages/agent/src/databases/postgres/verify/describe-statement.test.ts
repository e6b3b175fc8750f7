import { testDatabase, type TestDatabase } from '@svc/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { DescribedStatement } from '../../driver/describe-statement.ts';
import { configOf } from '../capability.fixture.ts';
import { createPool } from '../connect.ts';
import type { SessionPool } from '../pool/session-pool.ts';
import { describeStatement } from './describe-statement.ts';

let database: TestDatabase;
let pool: SessionPool;
beforeAll(async () => {
  database = await testDatabase();
  await database.execute(`
    create type mood as enum ('glad', 'sad');
    create domain code as varchar(8);
    create table author (id int primary key, name text not null, born date, mood mood not null, key uuid not null);
    create table book (id bigint primary key, author int references author, price numeric(8, 2) not null,
      sold timestamptz not null, data jsonb not null, tags text[] not null, code code not null, pages numeric(6) not null);
    create table old_book () inherits (book);
    create view names as select name from author`);
  pool = createPool(configOf(database));
});
afterAll(() => pool.close());

async function described(sql: string): Promise<DescribedStatement> {
  const description = await describeStatement(pool, 'new', sql);
  if (!description.ok) throw new Error(JSON.stringify(description.faults));
  return description.statement;
}

test.each([
  ['a.id = :x', { type: 'integer' }],
  ['a.name = :x', { type: 'string' }],
  ['a.name ilike :x', { type: 'string' }],
  ['a.born >= :x', { type: 'date' }],
  ['a.mood = :x', { type: 'string', enum: ['glad', 'sad'] }],
  ['a.key = :x', { type: 'uuid' }],
  ['b.price < :x', { type: 'number' }],
  ['b.sold < :x', { type: 'datetime' }],
  ['b.data @> :x', { type: 'object' }],
  ['b.code = :x', { type: 'string' }],
  ['b.id = any (:x)', { type: 'array', items: { type: 'integer' } }],
  ['a.id = :x::smallint', { type: 'integer' }],
  [':x', { type: 'boolean' }],
])('the parameter of %s', async (condition, schema) => {
  const { params } = await described(`select 1 as one from author a, book b where ${condition}`);
  expect(params).toEqual([{ name: 'x', schema, required: true }]);
});

test('a parameter that may be absent is not required; each is there once, in the order of its first use', async () => {
  const { params } = await described(
    'select id from author where (:name::text is null or name = :name) and id > :after order by id limit coalesce(:n, 10)',
  );
  expect(params).toEqual([
    { name: 'name', schema: { type: 'string' }, required: false },
    { name: 'after', schema: { type: 'integer' }, required: true },
    { name: 'n', schema: { type: 'integer' }, required: false },
  ]);
  const bare = await described('select id from author where :name is null or name = :name');
  expect(bare.params).toEqual([{ name: 'name', schema: { type: 'string' }, required: false }]);
});

test('fields have the types of the columns', async () => {
  const { fields } = await described(
    'select a.*, b.sold, b.data, b.tags, b.price, b.pages, b.code from author a, old_book b',
  );
  expect(fields.map(({ column: _column, ...field }) => field)).toEqual([
    { name: 'id', type: 'integer', nullable: false },
    { name: 'name', type: 'string', nullable: false },
    { name: 'born', type: 'date', nullable: true },
    { name: 'mood', type: 'string', nullable: false },
    { name: 'key', type: 'string', format: 'uuid', nullable: false },
    { name: 'sold', type: 'datetime', nullable: true },
    { name: 'data', type: 'string', nullable: false },
    { name: 'tags', type: 'array', nullable: false },
    { name: 'price', type: 'number', nullable: true },
    { name: 'pages', type: 'integer', nullable: true },
    { name: 'code', type: 'string', nullable: false },
  ]);
  expect(fields.map(({ column }) => column)).toEqual(fields.map(({ name }) => name));
});

test.each([
  ['select name as x from author', 'name'],
  ['select x from (select name as x from author) q', 'name'],
  ['select left(name, 3) as name from author', undefined],
  ['select name from (select left(name, 3) as name from author) q', undefined],
])('the column of a table in %s: %s', async (sql, column) => {
  expect((await described(sql)).fields.map((field) => field.column)).toEqual([column]);
});

test.each([
  ['select name as x from author', false],
  ['select x from (select name as x from author offset 0) q', false],
  ['with q as (select name as x from author) select x from q where x > :p', false],
  ['select a.name as x from old_book b join author a on a.id = b.author', false],
  ['select a.name as x from old_book b left join author a on a.id = b.author', true],
  ['select x from (select a.name as x from old_book b full join author a on a.id = b.author) q', true],
  ['select name as x from author group by rollup (name)', true],
  ['select name as x from author union all select null', true],
  ['select upper(name) as x from author', true],
  ['select name as x from names', true],
  // A child may hold what its parent may not.
  ['select price as x from book', true],
  ['select max(name) as x from author', true],
])('%s: null %s', async (sql, nullable) => {
  expect((await described(sql)).fields.map((field) => field.nullable)).toEqual([nullable]);
});

test.each([
  ['delete from author', /must be one SELECT/],
  ['select 1 as one; select 2 as two', /must be one SELECT/],
  ['select nothing from author', /a column does not exist/],
  ["select 'x", /cannot be read as SQL/],
])('%s is refused', async (sql, message) => {
  const description = await describeStatement(pool, 'new', sql);
  expect(description).toMatchObject({ ok: false, faults: [{ message: expect.stringMatching(message) }] });
});
