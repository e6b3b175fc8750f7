import { testDatabase } from '@svc/testkit';
import { expect, test } from 'vitest';
import { configOf, openPostgres, queryOf } from '../capability.fixture.ts';
import { ask, capabilityOfSpec } from '../../conformance/clauses/lists.testing.ts';

test('a range with two ends is planned for its values at each call, a comparison with a column once', async () => {
  const server = await testDatabase({
    sql: [
      `create table item (id int primary key, day date not null, kind int not null);
       insert into item select i, date '2024-01-01' + i % 100, i % 500 from generate_series(1, 20000) i;
       create index on item (day); create index on item (kind); analyze item`,
    ],
  });
  // Before that the server does not count plans.
  if ((await server.version()) < 140_000) return;
  const database = openPostgres(configOf(server, { maxConnections: 1 }));
  const list = capabilityOfSpec({
    sql: 'select id from item where {filters}',
    params: {
      kind: { type: 'integer', filter: 'kind = :kind' },
      from: { type: 'date', filter: 'day >= :from' },
      to: { type: 'date', filter: 'day < :to' },
      odd: { type: 'boolean', filter: '(id % 2 = 1) = :odd' },
    },
    result: { id: { type: 'integer' } },
  });
  const look = capabilityOfSpec(
    {
      sql: "select generic_plans::int as generic, custom_plans::int as custom from pg_prepared_statements where name like 'svc.list.%' and generic_plans + custom_plans > 0",
      result: { generic: { type: 'integer' }, custom: { type: 'integer' } },
    },
    'look',
  );
  const [query, looking] = [await queryOf(database, list), await queryOf(database, look)];
  const plansOf = async (
    given: Readonly<Record<string, unknown>>,
  ): Promise<{ readonly generic: number; readonly custom: number }> => {
    const before = await counted();
    for (let call = 0; call < 12; call += 1) await ask(query, list, given);
    const after = await counted();
    return { generic: after.generic - before.generic, custom: after.custom - before.custom };
  };
  const counted = async (): Promise<{ readonly generic: number; readonly custom: number }> => {
    const { list: rows } = await ask(looking, look);
    const sum = (name: string): number => rows.reduce((total, row) => total + Number(row[name]), 0);
    return { generic: sum('generic'), custom: sum('custom') };
  };
  const once = await plansOf({ kind: 7 });
  expect(once.generic).toBeGreaterThan(0);
  expect((await plansOf({ from: '2024-01-01', to: '2024-04-01' })).generic).toBe(0);
  expect((await plansOf({ kind: 7, from: '2024-01-01', to: '2024-04-01' })).generic).toBe(0);
  expect((await plansOf({ odd: true, kind: 7 })).generic).toBe(0);
  await database.close();
});
