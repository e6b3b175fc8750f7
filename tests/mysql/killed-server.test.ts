import {
  executeMysql,
  findMysqlServers,
  freePort,
  startMysql,
  startService,
  testDatabase,
  type MysqlAddress,
} from '@svc/testkit';
import { expect, inject, onTestFinished, test } from 'vitest';

const SETUP = `create database shop; create table shop.item (id int primary key, name varchar(20));
  insert into shop.item values (1, 'lamp'); create user 'reader'@'%' identified by 'reader-password';
  grant select, show view on shop.* to 'reader'@'%'`;
const CAPABILITIES = `capabilities:
  item:
    database: shop
    description: One item
    sql: select name from item where id = :id
    params: { id: { type: integer, required: true } }
    result: { name: { type: string } }
  one:
    database: other
    description: One
    sql: select 1 as a
    result: { a: { type: integer } }
`;

const names = new Set(inject('mysql').map(({ name }) => name));
const programs = findMysqlServers().filter(({ name }) => names.has(name));

test.each(programs.map((program) => [program.name, program] as const))(
  '%s, killed and started again, costs only its own capabilities',
  async (_name, program) => {
    const port = await freePort();
    let server = await startMysql(program, { port });
    onTestFinished(() => server.stop());
    const prepare = async (address: MysqlAddress): Promise<unknown> => executeMysql(address, SETUP);
    await prepare(server.address);
    const service = await startService({
      database: {
        shop: {
          driver: program.kind,
          host: '127.0.0.1',
          port,
          name: 'shop',
          user: 'reader',
          password: 'reader-password',
        },
        other: await testDatabase({ sql: [] }),
      },
      capabilities: CAPABILITIES,
    });
    onTestFinished(() => service.stop());
    const item = { status: 200, json: expect.objectContaining({ rows: [{ name: 'lamp' }] }) };
    expect(await service.call('item', { id: 1 })).toMatchObject(item);
    server.process.signal('SIGKILL');
    await server.process.exited;
    expect((await service.call('item', { id: 1 })).status).toBe(502);
    expect((await service.call('one', {})).status).toBe(200);
    await server.stop();
    server = await startMysql(program, { port });
    await prepare(server.address);
    await expect.poll(() => service.call('item', { id: 1 })).toMatchObject(item);
    expect((await service.call('one', {})).status).toBe(200);
  },
);
