import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder, type TemporaryFolder } from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openForWriting } from '../../packages/agent/src/databases/sqlite/conformance.fixture.ts';
import { problemOfNode } from '../../packages/agent/src/databases/sqlite/node-version.ts';
import { expectSameAsInit, outcomeOf, startHere, toolsOf } from '../standalone/same-as-init.testing.ts';
import './engine-code.ts';

const hasSqlite = problemOfNode() === undefined;

let folder: TemporaryFolder;
beforeAll(async () => {
  folder = await temporaryFolder('sqlite-url');
  if (!hasSqlite) return;
  const database = openForWriting(join(folder.path, 'shop.db'));
  database.exec(`
    create table customer (id integer primary key, country text not null, email text, password_hash text);
    create table product (sku text primary key, title text not null, price numeric not null);
    create table orders (id integer primary key, customer_id integer not null references customer (id),
      sku text not null references product (sku), quantity integer not null);
    create index orders_customer on orders (customer_id);
    insert into customer values (1, 'GB', 'Canary1', 'Canary2'), (2, 'US', 'Canary3', 'Canary4');
    insert into product values ('A1', 'Lamp', 19.9), ('B2', 'Desk', 199);
    insert into orders with recursive n (i) as (select 1 union all select i + 1 from n where i < 150)
      select i, 1 + i % 2, case i % 3 when 0 then 'A1' else 'B2' end, i from n`);
  database.close();
});
afterAll(() => folder?.remove());

test.skipIf(hasSqlite)('a Node.js that is too old is told to the client', async () => {
  const client = await startHere(['--url', 'sqlite:shop.db'], { cwd: folder.path });
  const { error } = await client.initialize();
  expect(error?.message).toMatch(
    new RegExp(
      `^svc cannot start: database: .*needs Node.js 22.16 or newer, and this is ${process.versions.node}`,
    ),
  );
});

describe.skipIf(!hasSqlite)('svc stdio on SQLite (`npm run test:sqlite` has a Node.js with it)', () => {
  const absolute = (): string => `sqlite:${join(folder.path, 'shop.db')}`;

  test.each([
    ['a relative path', () => 'sqlite:shop.db'],
    ['an absolute path', absolute],
  ])('%s: rows of three tables, within their bounds', async (_what, url) => {
    const client = await startHere([], { cwd: folder.path, env: { SVC_DATABASE_URL: url() } });
    await client.initialize();
    expect((await toolsOf(client)).map(({ name }) => name)).toEqual([
      'get_customer',
      'list_customer',
      'get_orders',
      'list_orders',
      'get_product',
    ]);
    expect(await outcomeOf(client, 'get_customer', { id: 2 })).toEqual({
      rows: [{ id: 2, country: 'US' }],
      count: 1,
    });
    expect(await outcomeOf(client, 'list_orders', { customer_id: 2 })).toMatchObject({ count: 75 });
    const first = await outcomeOf(client, 'list_orders', {});
    expect(first).toMatchObject({ count: 100, next: { cursor: expect.any(String) } });
    expect(await outcomeOf(client, 'list_orders', Reflect.get(Object(first), 'next'))).toMatchObject({
      count: 50,
    });
    expect(client.process.output()).not.toContain('Canary');
    client.end();
    expect((await client.process.exited).code).toBe(0);
  });

  test('it serves what init would write', async () => {
    const tools = await expectSameAsInit({ url: absolute() }, [
      ['get_customer', { id: 1 }],
      ['list_customer', {}],
      ['get_orders', { id: 7 }],
      ['list_orders', { customer_id: 1 }],
      ['list_orders', { cursor: 'none' }],
      ['get_product', { sku: 'B2' }],
    ]);
    expect(tools[0]?.inputSchema.required).toEqual(['id']);
    expect(JSON.stringify(tools)).not.toMatch(/email|password/);
    await expectSameAsInit(
      { url: absolute(), flags: ['--tables', 'customer', '--include', 'customer.email', '--max', '1'] },
      [['get_customer', { id: 1 }]],
    );
  });

  test.each([
    ['a file that does not exist', 'absent.db', /there is no such file/],
    ['a file that is no database', 'notes.txt', /is no SQLite database/],
  ])('%s is told to the client, without its name', async (_what, name, expected) => {
    await writeFile(
      join(folder.path, 'notes.txt'),
      'Canary, and more text than the header of a database has, so much is certain.\n'.repeat(20),
    );
    const client = await startHere(['--url', `sqlite:${name}`], { cwd: folder.path });
    const { error } = await client.initialize();
    expect(error?.message).toMatch(/^svc cannot start: database: /);
    expect(error?.message).toMatch(expected);
    expect(client.process.output()).not.toMatch(/absent|notes|Canary/);
    client.end();
    expect((await client.process.exited).code).toBe(2);
  });
});
