import { join } from 'node:path';
import { temporaryFolder, type TemporaryFolder } from '@svc/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { change } from '../../packages/agent/src/databases/duckdb/change.testing.ts';
import '../../packages/agent/src/databases/duckdb/engine-code.testing.ts';
import { expectSameAsInit, outcomeOf, startHere, toolsOf } from './same-as-init.testing.ts';

let folder: TemporaryFolder;
beforeAll(async () => {
  folder = await temporaryFolder('duckdb-url');
  await change(
    join(folder.path, 'shop.duckdb'),
    'create table customer (id integer primary key, country text not null, email text)',
    "insert into customer values (1, 'GB', 'Canary1'), (2, 'US', 'Canary2')",
    `create table orders (id bigint primary key, customer_id integer not null references customer (id),
      price decimal(10, 2), ordered_on date)`,
    "insert into orders select i, 1 + i % 2, i / 4, date '2024-03-01' + i::integer from range(1, 151) r (i)",
  );
});
afterAll(() => folder?.remove());

test.each([
  ['a relative path', () => 'duckdb:shop.duckdb'],
  ['an absolute path', () => `duckdb:${join(folder.path, 'shop.duckdb')}`],
])('%s: rows of two tables, within their bounds', async (_what, url) => {
  const client = await startHere([], { cwd: folder.path, env: { SVC_DATABASE_URL: url() } });
  await client.initialize();
  expect((await toolsOf(client)).map(({ name }) => name)).toEqual(
    expect.arrayContaining(['get_customer', 'list_customer', 'get_orders', 'list_orders']),
  );
  expect(await outcomeOf(client, 'get_customer', { id: 2 })).toEqual({
    rows: [{ id: 2, country: 'US' }],
    count: 1,
  });
  expect(await outcomeOf(client, 'get_orders', { id: 3 })).toEqual({
    rows: [{ id: 3, customer_id: 2, price: 0.75, ordered_on: '2024-03-04' }],
    count: 1,
  });
  expect(await outcomeOf(client, 'list_orders', {})).toMatchObject({
    count: 100,
    next: { cursor: expect.any(String) },
  });
  expect(client.process.output()).not.toContain('Canary');
  client.end();
  expect((await client.process.exited).code).toBe(0);
});

test('it serves what init would write', async () => {
  const url = `duckdb:${join(folder.path, 'shop.duckdb')}`;
  const tools = await expectSameAsInit({ url }, [
    ['get_customer', { id: 1 }],
    ['list_customer', {}],
    ['search_customer', { query: 'U' }],
    ['get_orders', { id: 7 }],
    ['list_orders', { sort: 'ordered_on_desc' }],
    ['list_orders', { cursor: 'none' }],
    ['count_orders_by_customer_id', {}],
  ]);
  expect(JSON.stringify(tools)).not.toMatch(/email/);
});
