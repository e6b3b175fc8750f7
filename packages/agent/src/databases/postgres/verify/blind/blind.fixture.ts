import { capabilityOf, type CapabilityOptions, type TestedDatabase } from '../../capability.fixture.ts';

export const SHOP = `
  create type mood as enum ('sad', 'glad');
  create domain email as text check (value like '%@%' and length(value) < 100);
  create table genre (id int primary key, name text, parent_id int);
  create table book (
    id int primary key, title text not null, author varchar(80), price numeric(8, 2), added_at timestamptz, day date,
    tags text[], doc jsonb, note json, genre_id int references genre, sold bool, code uuid, ratio float8, feels mood,
    contact email, at_noon time, during tstzrange, made timestamp
  );
  create index on book (genre_id) where not sold;
  create index on book (lower(title));
  create materialized view best as select id, title from book;
  create schema "Own. ""Stock""";
  create table "Own. ""Stock"""."Büch.er" (id int, "Größe" text);
  insert into genre values (1, 'poems', null), (2, 'odes', 1), (3, 'novels', null);
  insert into book (id, title, author, price, added_at, day, tags, doc, note, genre_id, sold, code, ratio, feels, contact, at_noon, made)
  select i, 'Book ' || i, case when i % 3 > 0 then 'Author ' || i % 5 end, i / 4.0,
    timestamptz '2024-01-01 22:30Z' + i * interval '37 hours', date '2024-01-01' + i, array['a', 't' || i % 4],
    jsonb_build_object('n', i, 'list', array[i, 2]), '{"k": 1}', 1 + i % 3, i % 2 = 0,
    'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', i / 3.0, 'glad', 'a@b', '12:00', timestamp '2024-03-31 01:30' + i * interval '1 hour'
  from generate_series(1, 40) i;
  insert into "Own. ""Stock"""."Büch.er" values (1, 'große');
`;

/** Of each statement 'shared', the reason why not, or what is wrong with it. */
export async function formsOf(
  database: TestedDatabase,
  statements: readonly (readonly [sql: string, options?: CapabilityOptions])[],
): Promise<readonly string[]> {
  const { prepared, faults } = await database.verify(
    statements.map(([sql, options], at) => capabilityOf(sql, { ...options, name: `c${at}` })),
  );
  const found = new Map(prepared.map((query) => [query.capability, query.transaction]));
  return statements.map((_, at) => {
    const transaction = found.get(`c${at}`);
    if (transaction === undefined) return JSON.stringify(faults);
    return transaction.form === 'own' ? transaction.reason : transaction.form;
  });
}

export async function formOf(
  database: TestedDatabase,
  sql: string,
  options?: CapabilityOptions,
): Promise<string | undefined> {
  return (await formsOf(database, [[sql, options ?? {}]]))[0];
}

/** Statements that many have: all share. */
export const ORDINARY: readonly [sql: string, options?: CapabilityOptions][] = [
  ['select 1 as a'],
  ['select id as a from book'],
  [
    'select count(*) as a, sum(price) as b, avg(price) as c, min(day) as d, max(added_at) as e from book',
    { result: { a: 'integer', b: 'number', c: 'number', d: 'date', e: 'datetime' } },
  ],
  [
    'select title as a from book where id = :id',
    { result: { a: 'string' }, params: { id: { type: 'integer' } } },
  ],
  [
    'select id as a, title as b, author as c, price as d, added_at as e from book where id > :id order by id limit 100',
    {
      result: { a: 'integer', b: 'string', c: 'string', d: 'number', e: 'datetime' },
      params: { id: { type: 'integer' } },
    },
  ],
  [
    "select b.title as a from book b join genre g on g.id = b.genre_id where g.name = 'poems' order by b.title limit 5",
    { result: { a: 'string' } },
  ],
  ["select id as a from book where added_at > now() - interval '7 days'"],
  [
    "select id as a from book where added_at between date_trunc('month', timestamptz '2024-01-15') and current_date",
  ],
  [
    'select id as a from book where day >= current_date - 30 or added_at < current_timestamp or made > localtimestamp',
  ],
  ["select lower(coalesce(title, 'none')) as a from book", { result: { a: 'string' } }],
  ['with b as (select * from (select id, title from book) x) select id as a from b'],
  ['with recursive t (n) as (values (1) union all select n + 1 from t where n < 5) select n as a from t'],
  [
    "select to_char(added_at, 'YYYY-MM') as a, count(*) as b from book group by 1 order by 1",
    { result: { a: 'string', b: 'integer' } },
  ],
  ['select extract(year from added_at)::int as a from book'],
  [
    "select date_part('dow', day)::int as a, age(made, timestamp '2020-01-01')::text as b from book",
    { result: { a: 'integer', b: 'string' } },
  ],
  [
    "select (doc ->> 'n')::int as a from book where doc @> '{\"n\": 5}' or doc -> 'list' ->> 0 = '1' or doc #>> '{a,b}' is null or doc ? 'x'",
  ],
  ['select id as a from best'],
  ["select id as a from book where title ilike '%' || :q || '%'", { params: { q: { type: 'string' } } }],
  [
    'select id as a from book where id in (:ids)',
    { params: { ids: { type: 'array', items: { type: 'integer' } } } },
  ],
  [
    'select id as a from book where id in (1, 2, 3) and author not in (:x, :y)',
    { params: { x: { type: 'string' }, y: { type: 'string' } } },
  ],
  [
    "select id as a from book where author = 'x' or author is distinct from 'y' or author like 'A%' or author ~ '^A'",
  ],
  [
    'select b.id as a from book b left join genre g on g.id = b.genre_id and g.parent_id is null where exists (select 1 from book c where c.genre_id = b.genre_id and c.id <> b.id)',
  ],
  ['select id as a from genre natural join (select id from book) b'],
  ['select id as a from (select id, title from book) b join (select id from genre) g using (id)'],
  ['select (select max(b.id) from book b where b.genre_id = g.id) as a from genre g'],
  [
    'select x.a from genre g, lateral (select b.id as a from book b where b.genre_id = g.id order by b.price desc limit 1) x',
  ],
  ["select case author when 'A' then 1 when 'B' then 2 else 0 end as a from book"],
  ['select case when price between 1 and 5 then 1 else nullif(id, 3) end as a from book'],
  [
    'select id as a from book where (genre_id, id) < (2, 5) or (author, id) = (:x, 1) or row(id, title) is null',
    { params: { x: { type: 'string' } } },
  ],
  [
    'select row_number() over (partition by genre_id order by price desc nulls last)::int as a, lag(id) over w as b from book window w as (order by id rows between 1 preceding and current row)',
    { result: { a: 'integer', b: 'integer' } },
  ],
  [
    'select sum(id)::int as a from book group by grouping sets ((genre_id), (sold), ()) having grouping(sold) >= 0',
  ],
  [
    'select genre_id as a, percentile_cont(0.5) within group (order by ratio) as b, mode() within group (order by author) as c from book group by rollup (genre_id)',
    { result: { a: 'integer', b: 'number', c: 'string' } },
  ],
  [
    "select string_agg(distinct title, ', ' order by title) as a, array_agg(id order by id) as b, count(*) filter (where sold) as c from book",
    { result: { a: 'string', b: 'array', c: 'integer' } },
  ],
  [
    "select json_agg(json_build_object('id', id, 'title', title) order by id) as a from book",
    { result: { a: 'array' } },
  ],
  [
    "select jsonb_build_object('n', id, 'd', day, 't', added_at) || doc as a from book",
    { result: { a: 'object' } },
  ],
  ['select to_jsonb(g) as a, row_to_json(g) as b from genre g', { result: { a: 'object', b: 'object' } }],
  [
    "select concat(title, ' ', added_at) as a, format('%s at %s', title, day) as b, concat_ws('-', id, day) as c from book",
    { result: { a: 'string', b: 'string', c: 'string' } },
  ],
  [
    "select title || ' ' || price || added_at as a, array_to_string(tags, ',') as b from book",
    { result: { a: 'string', b: 'string' } },
  ],
  ['select unnest(tags) as a from book', { result: { a: 'string' } }],
  ['select t as a from book, unnest(tags) with ordinality x (t, n)', { result: { a: 'string' } }],
  [
    'select e ->> 0 as a from book, jsonb_array_elements(jsonb_build_array(doc)) e',
    { result: { a: 'string' } },
  ],
  [
    'select id as a from book where :t = any (tags) or tags && array[:t] or cardinality(tags) > 2',
    { params: { t: { type: 'string' } } },
  ],
  ['select n as a from generate_series(1, 5) n'],
  [
    "select substring(title from 1 for 3) as a, upper(left(title, 2)) as b, trim(both ' ' from title) as c, position('o' in title) as d from book",
    { result: { a: 'string', b: 'string', c: 'string', d: 'integer' } },
  ],
  [
    "select replace(regexp_replace(title, 'o', '0', 'g'), 'k', 'c') as a, split_part(title, ' ', 2) as b, length(title) as c from book",
    { result: { a: 'string', b: 'string', c: 'integer' } },
  ],
  [
    'select round(price, 1) as a, ceil(ratio) as b, greatest(id, 5) as c, id % 3 as d, abs(-id) as e, power(ratio, 2) as f from book',
    { result: { a: 'number', b: 'number', c: 'integer', d: 'integer', e: 'integer', f: 'number' } },
  ],
  [
    'select distinct on (genre_id) genre_id as a, id as b from book order by genre_id, price desc',
    { result: { a: 'integer', b: 'integer' } },
  ],
  [
    'select id as a from book union all select id from genre except select 3 order by a offset 1 fetch first 2 rows only',
  ],
  ['select id as a from only book where sold is not true'],
  ['select id as a from (table genre) g'],
  ['select book.id as a from public.book join genre on genre.id = book.genre_id where public.book.id > 3'],
  ['select id as a, "Größe" as b from "Own. ""Stock"""."Büch.er"', { result: { a: 'integer', b: 'string' } }],
  [
    "select id as a, 'ü€' || title as b from book /* Größe */ where title <> 'ß'",
    { result: { a: 'integer', b: 'string' } },
  ],
  [
    'select id as a from book where contact = :e and lower(contact) like :e',
    { params: { e: { type: 'string' } } },
  ],
  ['select contact as a from book', { result: { a: 'string' } }],
  [
    'select id as a from book where code = :u and day = :d and added_at >= :t and sold = :b',
    { params: { u: { type: 'uuid' }, d: { type: 'date' }, t: { type: 'datetime' }, b: { type: 'boolean' } } },
  ],
  [
    "select id as a from book where during @> :t or during && tstzrange('2024-01-01', null)",
    { params: { t: { type: 'datetime' } } },
  ],
  [
    'select id as a from book where date(added_at) = :d order by title collate "C"',
    { params: { d: { type: 'date' } } },
  ],
  ['select (clock_timestamp() > statement_timestamp())::int as a'],
  [
    'select id as a from book b where b.title = :x and b.ctid is not null and b.tableoid > 0',
    { params: { x: { type: 'string' } } },
  ],
  [
    'select make_date(2024, 1, id)::text as a, to_date(:y::text, $$YYYY$$) as b from genre',
    { result: { a: 'string', b: 'date' }, params: { y: { type: 'integer' } } },
  ],
  [
    'select id as a from book where (:genre is null or genre_id = :genre) order by case when :down then -id else id end limit :n offset :from',
    {
      params: {
        genre: { type: 'integer' },
        down: { type: 'boolean' },
        n: { type: 'integer', minimum: 0 },
        from: { type: 'integer', minimum: 0 },
      },
    },
  ],
];
