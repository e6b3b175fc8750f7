import { expect, test } from 'vitest';
import { capabilityOf } from '../capability.fixture.ts';
import { unorderedStatements } from './unordered-statements.ts';

const PARAMS = { id: { type: 'integer' }, other: { type: 'integer' } } as const;

async function isOrdered(sql: string): Promise<boolean> {
  const used = Object.entries(PARAMS).filter(([name]) => sql.includes(`:${name}`));
  const unordered = await unorderedStatements([capabilityOf(sql, { params: Object.fromEntries(used) })]);
  return unordered.length === 0;
}

test.each([
  'select title from film order by title',
  'select title from film limit 1',
  'select 1 as one',
  'values (1), (2)',
  'select v from generate_series(1, :id) as v',
  'select count(*) + 1 as n from film',
  "select coalesce(jsonb_agg(title), '[]') as titles from film",
  'select title from film where id = :id',
  'select title from film f left join language l on true where :id = f.film_id and f.title is not null',
  'select title from categories where category_id = :id',
  'select last_update from film_actor where film_id = :id and actor_id = :other',
  'select title from (select title from film order by title) f',
  '(select title from film) union (select title from book) order by title',
])('has an order, or one row: %s', { tags: ['command:lint'] }, async (sql) => {
  expect(await isOrdered(sql)).toBe(true);
});

test.each([
  'select title from film',
  'select title from film limit 10',
  'select title from film union select title from book',
  'select rating, count(*) as n from film group by rating',
  'select title, count(*) over () as n from film',
  'select (select count(*) from book) as n from film',
  'select title from film where id = :id or id = :other',
  'select title from film where id > :id',
  'select title from rental where customer_id = :id',
  'select title from (select title from film order by title) f, book b',
])('has no order: %s', { tags: ['command:lint'] }, async (sql) => {
  expect(await isOrdered(sql)).toBe(false);
});

test('what else the process has to do goes between', { tags: ['command:lint'] }, async () => {
  const capabilities = Array.from({ length: 50 }, () => capabilityOf('select title from film'));
  let turns = 0;
  const count = (): void => {
    turns += 1;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  await unorderedStatements(capabilities);
  clearImmediate(next);
  expect(turns).toBeGreaterThanOrEqual(50);
});
