import { testDatabase } from '@svc/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { VerifierDatabase } from '../../driver/driver.ts';
import { capabilityOf, configOf } from '../capability.fixture.ts';
import { verifier } from '../verifier.ts';

const SCHEMA = `
  create schema "Odd";
  create table "Odd"."Album" ("AlbumId" int primary key, "Title" text, "ArtistId" int);
  create table artist (id int primary key, "ArtistId" int unique, name text);
  create table book (isbn text, shelf int, place int, title text, unique (shelf, place) include (title));
  create unique index on book (isbn) where title is not null;
  create unique index on book (lower(title));
  create table parent (number int primary key);
  create table child () inherits (parent);
`;

let database: VerifierDatabase;
beforeAll(async () => {
  const server = await testDatabase({ sql: [SCHEMA] });
  database = verifier.open(configOf(server));
});
afterAll(() => database.close());

async function findsOne(sql: string): Promise<boolean> {
  const names = ['a', 'b'].filter((name) => sql.includes(`:${name}`));
  const params = Object.fromEntries(
    names.map((name) => [name, { type: sql.includes('isbn') ? 'string' : 'integer' } as const]),
  );
  return (await database.findUnordered([capabilityOf(sql, { params })])).length === 0;
}

test.each([
  'select "Title" from "Odd"."Album" where "AlbumId" = :a',
  'select "Title" from "Odd"."Album" where 7 = "AlbumId" and "Title" is not null',
  'select title from book where shelf = :a and place = (:b)',
  'select t."Title", p.name from "Odd"."Album" t left join artist p on p."ArtistId" = t."ArtistId" where t."AlbumId" = :a',
  'select t."Title" from artist p join "Odd"."Album" t on t."AlbumId" = p.id where p."ArtistId" = :a',
  'select name from "Odd"."Album" t, artist p where t."AlbumId" = :a and p.id = t."ArtistId"',
])('one row is found by a key: %s', { tags: ['command:lint'] }, async (sql) => {
  expect(await findsOne(sql)).toBe(true);
});

test.each([
  'select "Title" from "Odd"."Album" where "ArtistId" = :a',
  'select "Title" from "Odd"."Album" where "AlbumId" >= :a',
  'select "Title" from "Odd"."Album" where "AlbumId" = "ArtistId"',
  'select "Title" from "Odd"."Album" where "AlbumId" in (:a, :b)',
  'select "Title" from "Odd"."Album" where "AlbumId" = :a or "AlbumId" = :b',
  'select title from book where shelf = :a',
  'select title from book where isbn = :a',
  'select title from book where lower(title) = (:a)::text',
  'select number from parent where number = :a',
  'with "Album" as (select 1 as "AlbumId" union all select 1) select "AlbumId" from "Album" where "AlbumId" = :a',
  'select p.name from "Odd"."Album" t left join artist p on p.id = t."ArtistId" and t."AlbumId" = :a',
  'select p.name from "Odd"."Album" t right join artist p on p.id = t."ArtistId" where t."AlbumId" = :a',
  'select name from "Odd"."Album" t, artist p where t."AlbumId" = :a',
])('several rows may be found: %s', { tags: ['command:lint'] }, async (sql) => {
  expect(await findsOne(sql)).toBe(false);
});
