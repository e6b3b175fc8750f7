import { executeMysql } from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Capability } from '../../capabilities/model.ts';
import { capabilityOf } from '../conformance/capability.testing.ts';
import type { TestServer } from '../conformance/dialect.testing.ts';
import { openDriver, type TestedDriver } from '../conformance/tested-driver.testing.ts';
import { driverOf } from '../drivers.ts';
import { dialectOf } from './conformance.fixture.ts';
import { mysqlServers } from './servers.testing.ts';
import { vocabulary } from './dialect/vocabulary.ts';

/** Every place in which a view can name a table. */
const PLACES = [
  'select b.id as a from book b, sleeping s',
  'select b.id as a from book b natural join sleeping s',
  'select b.id as a from sleeping s right join (book b join book c on b.id = c.id) on s.a = b.id',
  'select b.id as a from book b straight_join sleeping s on s.a < b.id',
  'select a from (select a from sleeping) d',
  'select id as a from book where id in (select a from sleeping)',
  'select (select max(a) from sleeping) as a',
  'select id as a from book order by (select max(a) from sleeping) limit 1',
  'select id as a from book group by id having id > (select max(a) from sleeping)',
  'select id as a from book union all select a from sleeping',
  'with x as (select a from sleeping) select a from x',
];

describe.each(mysqlServers().map((address) => [address.name, address] as const))('%s', (_name, address) => {
  const driver = driverOf(address.kind);
  let server: TestServer;
  let tested: TestedDriver;
  beforeAll(async () => {
    server = await dialectOf(address).start();
    tested = await openDriver(driver, (...of) => driver.connect(...of), server, 2);
  });
  afterAll(async () => {
    await tested.close();
    await server.stop();
  });

  const nameOf = (key: string): string => String(Reflect.get(server.reader.section, key));
  const execute = (sql: string): ReturnType<typeof executeMysql> =>
    executeMysql(address, sql, nameOf('name'));
  const problems = async (...capabilities: readonly Capability[]): Promise<readonly string[]> =>
    (await tested.verifier.verify(capabilities)).faults.map(({ message }) => message);
  const asleep = [expect.stringContaining('calls sleep')];

  test('a view is found wherever another names it, with and without quotes', async () => {
    for (const quoting of [1, 0]) {
      for (const [index, sql] of PLACES.entries()) {
        const view = `place_${quoting}_${index}`;
        // How names are written in the text of a view is up to who makes it.
        await execute(`set session sql_quote_show_create = ${quoting}; create view ${view} as ${sql}`);
        expect([sql, await problems(capabilityOf(`select a from ${view}`))]).toEqual([sql, asleep]);
      }
    }
  });

  test('a view is found by every name that its server takes', async () => {
    const names = [...vocabulary.allowed, 'l\u0131m\u0131t', 'off\u017fet'];
    let accepted = 0;
    for (const name of names) {
      await execute(`create view \`${name}\` as select sleep(0) as a`);
      for (const sql of [`select x.a from ${name} x`, `select x.a from book b join ${name} x`]) {
        const found = await problems(capabilityOf(sql));
        expect(found).toHaveLength(1);
        if (found[0]?.includes('calls sleep') === true) accepted += 1;
      }
      await execute(`drop view \`${name}\``);
    }
    expect(accepted).toBeGreaterThan(4);
  });

  test('names that only some take for the same are different views', async () => {
    await execute('create view viewk as select 1 as a; create view `view\u212a` as select sleep(0) as a');
    for (const sql of ['select y.a from viewk x, `view\u212a` y', 'select y.a from `view\u212a` y, viewk x'])
      expect(await problems(capabilityOf(sql))).toEqual(asleep);
  });

  test('a view behind a dot that nothing stands before is read by none or found', async () => {
    for (const dot of ['.sleeping', '. sleeping', '.`sleeping`']) {
      expect(await problems(capabilityOf(`select a from ${dot}`))).toEqual([
        address.kind === 'mariadb'
          ? expect.stringContaining('calls sleep')
          : expect.stringContaining('error 1064'),
      ]);
    }
  });

  test('a function whose name is a word of SQL has to be allowed', async () => {
    for (const name of [...vocabulary.allowed, 'l\u0131m\u0131t', '\u0131n', 'ran\u212a']) {
      await execute(`create function \`${name}\`(n int) returns int no sql return n + 4710;
        grant execute on function ${nameOf('name')}.\`${name}\` to '${nameOf('user')}'@'%'`);
      for (const sql of [`select ${name}(1) as a`, `select ${name} (1) as a`]) {
        const capability = capabilityOf(sql);
        const found = await problems(capability);
        if (found.length === 0) expect(await tested.rowsOf(capability)).not.toContain('4711');
      }
      await execute(`drop function \`${name}\``);
    }
    expect(await problems(capabilityOf('select id as a from book where id in (1, 2) and (id > 1)'))).toEqual(
      [],
    );
  });

  test("no file can allow what waits by the name of the server's own schema", async () => {
    for (const schema of ['mariadb_schema', 'MariaDB_schema', 'oracle_schema', '`maxdb_schema`']) {
      const sql = `select ${schema}.sleep(0) as a`;
      const allowFunctions = ['sleep', 'mariadb_schema.sleep', 'oracle_schema.sleep', 'maxdb_schema.sleep'];
      expect(await problems(capabilityOf({ sql, allowFunctions }))).toEqual([
        expect.stringContaining('never allowed'),
      ]);
    }
  });

  test('a limit on what is looked at, which gives some rows as if they were all, is refused', async () => {
    for (const limit of ['limit rows examined 5', 'limit 2 rows examined 5', 'LIMIT ROWS /**/ EXAMINED 5'])
      expect(await problems(capabilityOf(`select id as a from book order by id desc ${limit}`))).toEqual([
        expect.stringContaining('ROWS EXAMINED'),
      ]);
  });
});
