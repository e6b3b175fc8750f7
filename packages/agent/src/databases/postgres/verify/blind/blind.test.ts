import { testDatabase, type TestDatabase } from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  capabilityOf,
  configOf,
  openPostgres,
  type CapabilityOptions,
  type TestedDatabase,
} from '../../capability.fixture.ts';

const SHOP = `
  create table book (
    id int primary key, title text not null, author varchar(80), price numeric(8, 2), added_at timestamptz, day date,
    tags text[], doc jsonb, genre_id int, sold bool, code uuid, ratio float8, note json
  );
  create table genre (id int primary key, name text);
  create materialized view best as select id, title from book;
  insert into genre values (1, 'poems');
  insert into book values (1, 'One', 'A', 1.5, '2024-01-01 12:00Z', '2024-01-01', '{a,b}', '{"a": 1}', 1, true);
`;

let server: TestDatabase;
let database: TestedDatabase;
beforeAll(async () => {
  server = await testDatabase({ sql: [SHOP] });
  database = openPostgres(configOf(server));
});
afterAll(() => database.close());

async function formOf(sql: string, options?: CapabilityOptions): Promise<string> {
  const { prepared, faults } = await database.verify([capabilityOf(sql, options)]);
  const [query] = prepared;
  if (query === undefined) return JSON.stringify(faults);
  return query.transaction?.form === 'own' ? query.transaction.reason : String(query.transaction?.form);
}

describe('ordinary statements share', () => {
  const text = { result: { a: 'string' } } as const;
  test.each<[string, CapabilityOptions?]>([
    ['select 1 as a'],
    ['select id as a from book'],
    ['select count(*) as a from book'],
    ['select title as a from book where id = :id', { ...text, params: { id: { type: 'integer' } } }],
    ['select sum(price)::float8 as a from book', { result: { a: 'number' } }],
    [
      "select title as a from book b join genre g on g.id = b.genre_id where g.name = 'x' order by title limit 5",
      text,
    ],
    ["select id as a from book where added_at > now() - interval '7 days'"],
    ["select lower(coalesce(title, 'none')) as a from book", text],
    ['with b as (select * from book) select id as a from b'],
    ["select to_char(date_trunc('month', added_at), 'YYYY-MM') as a from book", text],
    ['select extract(year from added_at)::int as a from book'],
    ["select (doc ->> 'a')::int as a from book"],
    ['select id as a from best'],
    ["select id as a from book where title ilike '%' || :q || '%'", { params: { q: { type: 'string' } } }],
    [
      'select id as a from book where id in (:ids)',
      { params: { ids: { type: 'array', items: { type: 'integer' } } } },
    ],
  ])('%s', async (sql, options) => {
    expect(await formOf(sql, options)).toBe('shared');
  });
});
