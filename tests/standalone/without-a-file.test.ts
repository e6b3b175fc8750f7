import { freePort, runProcess, SVC_AGENT, testDatabase, type TestDatabase } from '@svc/testkit';
import { beforeAll, describe, expect, test } from 'vitest';
import { LIBRARY } from './library.testing.ts';
import { expectSameAsInit } from './same-as-init.testing.ts';
import { start } from './scene.testing.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase({ sql: LIBRARY });
});

describe('without a file', () => {
  test('tables that the account cannot read are left out and named; names and SQL equal those of init', async () => {
    const own = await testDatabase({
      sql: [
        'create table book (id integer primary key, title text)',
        'create table author (id integer primary key, name text)',
        'create table secret (id integer primary key, word text)',
        'create schema hidden create table vault (id integer primary key)',
        `do $$ begin
          if not exists (select from pg_roles where rolname = 'reader_of_some') then
            create role reader_of_some login password 'some';
          end if; end $$`,
        'grant select on book, author to reader_of_some',
      ],
    });
    const url = `postgres://reader_of_some:some@${own.host}:${own.port}/${own.name}`;
    const client = await start(['--url', url, '--exclude', 'author']);
    const { result } = await client.initialize();
    expect(result?.['instructions']).toMatch(/svc-agent init --exclude author/);
    const listed = await client.request('tools/list');
    const tools = listed.result?.['tools'];
    if (!Array.isArray(tools)) throw new Error('there are no tools');
    const names = tools.map(({ name }: { readonly name: string }) => name);
    expect(names).toEqual(['get_book', 'list_book', 'search_book']);
    const said = client.process.output('stderr');
    expect(said).toMatch(/left out, since the account cannot read them: .*secret/);
    expect(said).not.toContain(url);
    const init = await runProcess(SVC_AGENT, ['init', '--dry-run', '--json', '--exclude', 'author'], {
      env: { DATABASE_URL: url },
    });
    const proposed = JSON.stringify(JSON.parse(init.stdout));
    for (const name of names) expect(proposed).toContain(name);
  });

  test('it serves what init would write: SQL, bounds, and no column that looks personal', async () => {
    const shop = await testDatabase({
      sql: [
        'create table customer (id integer primary key, country text not null, email text, born date)',
        `create table product (sku varchar(8) primary key, title text not null,
          price numeric(10, 2) not null check (price >= 0),
          status text not null check (status in ('active', 'retired')))`,
        `create table orders (id bigint primary key, customer_id integer not null references customer,
          sku varchar(8) not null references product, ordered_on date not null)`,
        'create index on orders (customer_id)',
        "insert into customer values (1, 'GB', 'Canary1', '2000-01-01'), (2, 'US', 'Canary2', null)",
        "insert into product values ('A1', 'Lamp', 19.9, 'active'), ('B2', 'Desk', 199, 'retired')",
        `insert into orders select i, 1 + i % 2, case i % 3 when 0 then 'A1' else 'B2' end, date '2024-03-01' + i
          from generate_series(1, 150) i`,
        'analyze',
      ],
    });
    const { user, password } = shop;
    const tools = await expectSameAsInit(
      { url: shop.url },
      [
        ['get_customer', { id: 1 }],
        ['list_customer', {}],
        ['search_customer', { query: 'g' }],
        ['get_product', { sku: 'A1' }],
        ['list_product', { sort: 'price_desc' }],
        ['search_product', { query: 'Lam' }],
        ['count_product_by_status', {}],
        ['get_orders', { id: 7 }],
        ['list_orders', { customer_id: 1, sort: 'ordered_on_desc' }],
        ['list_orders', { sort: 'sku' }],
        ['search_orders', { query: 'A' }],
        ['count_orders_by_customer_id', {}],
        ['count_orders_by_sku', {}],
      ],
      { user, password },
    );
    const orders = tools.find(({ name }) => name === 'list_orders')?.inputSchema.properties;
    expect(orders).toMatchObject({
      sort: { enum: ['id', 'ordered_on', 'ordered_on_desc'], default: 'id' },
      cursor: { type: 'string' },
    });
    expect(orders).not.toHaveProperty('limit');
    expect(JSON.stringify(tools)).not.toMatch(/email|born/);
  });

  test('GATEWAY_MCP_OUTPUT_SCHEMA=true has the schemas shown', async () => {
    const client = await start(['--url', database.url], { env: { GATEWAY_MCP_OUTPUT_SCHEMA: 'true' } });
    await client.initialize();
    expect(JSON.stringify(await client.request('tools/list'))).toContain('outputSchema');
  });

  test.each([
    ['a scheme that no driver has', () => 'oracle://a:Canary@127.0.0.1/b', /must look like .*`sqlite:`/],
    ['a path without a scheme', () => 'shop.db', /must look like .*`sqlite:`/],
    ['a path that no shell has expanded', () => 'sqlite:~/Canary.db', /no shell has expanded/],
    ['a server that is away', async () => `postgres://a:Canary@127.0.0.1:${await freePort()}/b`, /database/],
    [
      'a password that is refused',
      () => `postgres://${database.user}:Canary@${database.host}:${database.port}/${database.name}`,
      /password|log/i,
    ],
    [
      'a password that is missing',
      () => `postgres://${database.user}@${database.host}:${database.port}/${database.name}`,
      /it asks for a password and got none/,
    ],
  ])('%s is told, without the URL', async (_what, urlOf, expected) => {
    const url = await urlOf();
    const client = await start([], { env: { SVC_DATABASE_URL: url } });
    const { error } = await client.initialize();
    expect(error?.message).toMatch(/^svc cannot start: database: /);
    expect(error?.message).toMatch(expected);
    expect(client.process.output()).not.toMatch(/Canary/);
    client.end();
    expect((await client.process.exited).code).toBe(2);
  });
});
