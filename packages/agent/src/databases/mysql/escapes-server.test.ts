import { resolve } from 'node:path';
import { executeMysql } from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Capability } from '../../capabilities/model.ts';
import { callOf, capabilityOf, textOf } from '../conformance/capability.testing.ts';
import type { Statement, TestServer } from '../conformance/dialect.testing.ts';
import { openDriver, type TestedDriver } from '../conformance/tested-driver.testing.ts';
import { driverOf } from '../drivers.ts';
import { configure } from './config/config.ts';
import { createPool } from './connect.ts';
import { withSession } from './connection/with-session.ts';
import { dialectOf } from './conformance.fixture.ts';
import { mysqlServers } from './servers.testing.ts';

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
    (await tested.verifier.verify(capabilities)).faults.map(
      ({ message, remedy = '' }) => `${message} ${remedy}`,
    );

  /** At the start where its server tells, and else at each call. */
  async function expectRefused(statement: Statement): Promise<void> {
    const found = await problems(capabilityOf(statement));
    if (found.length > 0) {
      expect(found).toEqual([expect.stringContaining('writes to the database')]);
      return;
    }
    const query = await tested.prepare(capabilityOf(statement));
    await expect(query.run(callOf())).rejects.toMatchObject({ kind: 'failed' });
  }

  test('a function that writes fails, also where a table knows no transactions', async () => {
    await execute(`create table plain (a int) engine = MyISAM;
      create function writes_plain() returns int not deterministic modifies sql data
        begin insert into plain values (1); return 1; end;
      grant execute on function ${nameOf('name')}.writes_plain to '${nameOf('user')}'@'%'`);
    await expectRefused({ sql: 'select writes_plain() as a', allowFunctions: ['writes_plain'] });
    expect(await execute('select count(*) as n from plain')).toEqual([{ n: 0 }]);
  });

  test('an allowed function that turns the read-only mode off still cannot write', async () => {
    await execute(`create function unlocks() returns int not deterministic modifies sql data
        begin set session transaction_read_only = 0; delete from book; return 1; end;
      grant execute on function ${nameOf('name')}.unlocks to '${nameOf('user')}'@'%'`).catch(async () => {
      // Before 11.1 MariaDB knows the variable by its older name alone.
      await execute(`create function unlocks() returns int not deterministic modifies sql data
          begin set session tx_read_only = 0; delete from book; return 1; end;
        grant execute on function ${nameOf('name')}.unlocks to '${nameOf('user')}'@'%'`);
    });
    await expectRefused({ sql: 'select unlocks() as a', allowFunctions: ['unlocks'] });
    expect(await execute('select count(*) as n from book')).toEqual([{ n: 50 }]);
  });

  test('a session writes nothing, with and without a transaction, whatever its account may do', async () => {
    await execute('create table unlogged (a int) engine = MyISAM');
    const { texts, section } = server.writer;
    const of = (key: string): string => String(Reflect.get(section, key));
    const writer = { host: of('host'), port: Number(of('port')), name: of('name'), user: of('user') };
    const pool = createPool(configure({ ...writer, driver: address.kind, sslmode: 'disable' }, texts));
    onTestFinished(() => pool.close());
    await withSession(pool, async (session) => {
      for (const reset of [false, true]) {
        if (reset) await session.reset();
        for (const sql of [
          'delete from book',
          'insert into unlogged values (1)',
          'create temporary table t (a int)',
        ])
          await expect(session.ask(sql)).rejects.toMatchObject({ errno: 1792 });
      }
    });
  });

  test('of variables only those of the caller can be read, and only where the file says so', async () => {
    for (const variable of [
      '@other',
      '@@version',
      '@`svc_capability`',
      '@svc_capability.a',
      '@svc_capability_',
      '@SVC_capability',
    ])
      expect(await problems(capabilityOf({ sql: `select ${variable} as a` }))).toEqual([
        expect.stringContaining('@'),
      ]);
    for (const sql of ['select @svc_capability := 1 as a', 'select 1 as a into @svc_capability'])
      expect(await problems(capabilityOf({ sql }))).toHaveLength(1);
    const untold = { ...tested.config, callerVariables: false };
    const verifier = (await driver.loadVerifier()).open(untold);
    onTestFinished(() => verifier.close());
    const { faults } = await verifier.verify([capabilityOf({ sql: 'select @svc_capability as a' })]);
    expect(faults).toMatchObject([{ message: expect.stringContaining('caller_variables: true') }]);
    const params = { svc_capability: { type: 'string' } } as const;
    expect(await problems(capabilityOf({ sql: 'select :svc_capability as a' }, { params }))).toEqual([
      expect.stringContaining('begins with svc_'),
    ]);
  });

  test('who calls compares with columns of any collation, and is there for functions', async () => {
    await execute(`create table owned (a varchar(20) collate utf8mb4_bin, b varchar(20) collate utf8mb4_unicode_ci,
        c varchar(20) character set latin1);
      insert into owned values ('ann', 'ann', 'ann'), ('Ann', 'bob', 'bob');
      create function who() returns text not deterministic no sql
        begin return concat_ws('/', @svc_api_key_name, @svc_capability, @svc_subject); end;
      grant execute on function ${nameOf('name')}.who to '${nameOf('user')}'@'%'`);
    const of = async (sql: string, ...allowFunctions: readonly string[]): Promise<readonly string[]> => {
      const query = await tested.prepare(capabilityOf({ sql, allowFunctions }, { result: { a: 'string' } }));
      const calls = ['ann', 'bob', ''].map((apiKeyName) => query.run(callOf({}, { apiKeyName })));
      return (await Promise.all(calls)).map(({ rows }) => textOf(rows));
    };
    expect(await of('select a from owned where a = @svc_api_key_name')).toEqual([
      '[{"a":"ann"}]',
      '[]',
      '[]',
    ]);
    for (const column of ['b', 'c']) {
      expect(await of(`select ${column} as a from owned where ${column} = @svc_api_key_name`)).toEqual([
        '[{"a":"ann"}]',
        '[{"a":"bob"}]',
        '[]',
      ]);
    }
    expect(await of('select who() as a', 'who')).toEqual(
      ['ann', 'bob', ''].map((name) => `[{"a":"${name}/sample/"}]`),
    );
  });

  test('no file can allow a function of the server that waits or locks', async () => {
    for (const name of ['sleep', 'get_lock', 'benchmark', 'load_file']) {
      const capability = capabilityOf({ sql: `select ${name}(1) as a`, allowFunctions: [name] });
      expect(await problems(capability)).toEqual([expect.stringContaining('never allowed')]);
    }
  });

  test('a function of the database is not taken for one of the server that this server lacks', async () => {
    const name = address.kind === 'mysql' ? 'nvl' : 'bin_to_uuid';
    await execute(`create function ${name}(n int) returns int not deterministic no sql begin do sleep(n); return 1; end;
      grant execute on function ${nameOf('name')}.${name} to '${nameOf('user')}'@'%'`);
    const sql = `select ${name}(0) as a`;
    expect(await problems(capabilityOf(sql))).toEqual([expect.stringContaining(`calls ${name}`)]);
    expect(await problems(capabilityOf({ sql, allowFunctions: [name] }))).toEqual([]);
  });

  test('a view is read, and what it hides is found behind other views', async () => {
    await execute('create view good as select id as a from book where id < 3');
    expect(await tested.rowsOf(capabilityOf('select a from good order by a'))).toBe('[{"a":1},{"a":2}]');
    for (const sql of ['select a from sleeping', 'select a from hiding', 'select h.a from `hiding` h']) {
      expect(await problems(capabilityOf(sql))).toEqual([expect.stringContaining('calls sleep')]);
    }
    await execute('create view counting as select writes() as a');
    expect(await problems(capabilityOf('select a from counting'))).toEqual([
      expect.stringMatching(/calls .*writes|writes to the database/),
    ]);
  });

  test('a view whose text or tables cannot be seen is refused, with the GRANT', async () => {
    const other = `${nameOf('name')}_other`;
    await execute(`create database ${other}; create table ${other}.hidden (a int);
      create view ${other}.asleep as select sleep(1) as a; create view ${other}.shown as select a from ${other}.asleep;
      create view ${other}.over as select a from ${other}.hidden;
      grant select on ${other}.shown to '${nameOf('user')}'@'%';
      grant select, show view on ${other}.over to '${nameOf('user')}'@'%'`);
    onTestFinished(async () => {
      await execute(`drop database ${other}`);
    });
    expect(await problems(capabilityOf(`select a from ${other}.shown`))).toEqual([
      expect.stringMatching(/SHOW VIEW.*GRANT SELECT, SHOW VIEW ON/),
    ]);
    expect(await problems(capabilityOf(`select a from ${other}.over`))).toEqual([
      expect.stringMatching(/GRANT SHOW VIEW ON/),
    ]);
    await execute(`grant show view on ${other}.hidden to '${nameOf('user')}'@'%'`);
    expect(await problems(capabilityOf(`select a from ${other}.over`))).toEqual([]);
    await execute(`grant select, show view on ${other}.shown to '${nameOf('user')}'@'%';
      grant select, show view on ${other}.asleep to '${nameOf('user')}'@'%'`);
    expect(await problems(capabilityOf(`select a from ${other}.shown`))).toEqual([
      expect.stringContaining('calls sleep'),
    ]);
  });

  test('a number with text behind it does not pass as an identifier', async () => {
    const query = await tested.prepare(
      capabilityOf('select id as a from book where id = :n', { params: { n: { type: 'integer' } } }),
    );
    expect(textOf((await query.run(callOf({ n: 1 }))).rows)).toBe('[{"a":1}]');
    // The gateway refuses it by its type; what comes this far would be no integer on the wire.
    await expect(query.run(callOf({ n: '1abc' }))).rejects.toMatchObject({ name: 'DatabaseError' });
    expect(textOf((await query.run(callOf({ n: 2 }))).rows)).toBe('[{"a":2}]');
  });

  test("the server's own modes and character sets change nothing", async () => {
    const [before] = await execute('select @@global.sql_mode as m');
    onTestFinished(async () => {
      await execute(`set global sql_mode = '${String(before?.['m'])}'`);
    });
    await execute(`set global sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT'`);
    const alone = await openDriver(driver, (...of) => driver.connect(...of), server, 1);
    onTestFinished(alone.close);
    const sql = String.raw`select "it\"s" as a, '\\' as b, 1 || 0 as c`;
    const capability = capabilityOf(sql, { result: { a: 'string', b: 'string', c: 'boolean' } });
    expect(await alone.rowsOf(capability)).toBe(String.raw`[{"a":"it\"s","b":"\\","c":true}]`);
    const awkward = capabilityOf('select cast(:v as char) as a', {
      params: { v: { type: 'string' } },
      result: { a: 'string' },
    });
    expect(await alone.rowsOf(awkward, { v: '\u00bf\\\u5c5c' })).toBe(
      JSON.stringify([{ a: '\u00bf\\\u5c5c' }]),
    );
  });

  test('a plain SELECT reads no more rows than may leave, whatever the switches of the optimizer', async () => {
    const [before] = await execute('select @@global.optimizer_switch as s');
    onTestFinished(async () => {
      await execute(`set global optimizer_switch = '${String(before?.['s'])}'`);
    });
    await execute("set global optimizer_switch = 'derived_merge=off'");
    const alone = await openDriver(driver, (...of) => driver.connect(...of), server, 1);
    onTestFinished(alone.close);
    // Fifty times fifty times as many: far more than can be read within the limit of a call.
    const tables = 'book b, book c, book d, book e, book f, book g';
    const sql = `select b.id as a, c.title as t from ${tables}`.replaceAll(', book', ' cross join book');
    const capability = capabilityOf(sql, { result: { a: 'integer', t: 'string' }, limits: { maxRows: 7 } });
    const query = await alone.prepare(capability);
    const { count, truncated } = await query.run(callOf());
    expect([count, truncated]).toEqual([7, true]);
  });

  test('an endless recursion ends with its time', async () => {
    const sql = 'with recursive n (i) as (select 1 union all select 1 from n) select count(*) as a from n';
    const query = await tested.prepare(capabilityOf(sql));
    const error: unknown = await query.run(callOf({}, { timeoutMs: 500 })).catch((reason: unknown) => reason);
    expect(['timeout', 'failed']).toContain(Reflect.get(Object(error), 'kind'));
    await expect.poll(() => server.busySessions()).toBe(0);
  });

  test('a cell as large as the server takes does not travel', async () => {
    // Of 64 and of 16 MiB: as JSON it is longer than the server makes a text.
    const size = address.kind === 'mysql' ? 67_108_860 : 16_777_210;
    const query = await tested.prepare(
      capabilityOf(`select repeat('x', ${size}) as a`, {
        result: { a: 'string' },
        limits: { maxBytes: 1000 },
      }),
    );
    await expect(query.run(callOf())).rejects.toMatchObject({ kind: 'too_large' });
    expect(await tested.rowsOf(capabilityOf('select 1 as a'))).toBe('[{"a":1}]');
  });

  test('many rows beyond max_bytes are stopped', async () => {
    const sql = "select concat(b.id, repeat('x', 1000)) as a from book b cross join book c cross join book d";
    const query = await tested.prepare(
      capabilityOf(sql, { result: { a: 'string' }, limits: { maxBytes: 5000, maxRows: 100_000 } }),
    );
    const { count, truncated } = await query.run(callOf());
    expect([count, truncated]).toEqual([4, true]);
    await expect.poll(() => server.busySessions()).toBe(0);
  });

  test('the audit finds what an account may do to files and others', async () => {
    const user = `audited_${process.pid}`;
    await execute(`create user ${user}@'%' identified by 'p'; create role role_${process.pid};
      grant select, insert on book to role_${process.pid}; grant role_${process.pid} to ${user}@'%';
      grant file on *.* to ${user}@'%'; grant select on mysql.* to ${user}@'%'; grant select on ${nameOf('name')}.* to ${user}@'%';
      grant update (title) on book to ${user}@'%'`);
    onTestFinished(async () => {
      await execute(`drop user ${user}@'%'; drop role role_${process.pid}`);
    });
    const section = { ...server.reader.section, user } as typeof server.reader.section;
    const config = driver.configure(section, { password: 'p' }, resolve);
    const verifier = (await driver.loadVerifier()).open(config);
    onTestFinished(() => verifier.close());
    const remedies = (await verifier.auditAccount([])).map(({ remedy }) => remedy).join('\n');
    expect(remedies).toMatch(/REVOKE FILE ON \*\.\*/);
    expect(remedies).toMatch(/REVOKE SELECT ON `mysql`\.\*/);
    expect(remedies).toMatch(/UPDATE \(`?title`?\)/);
    expect(remedies).toMatch(/INSERT/);
    expect(remedies).not.toMatch(/^REVOKE SELECT ON `test/m);
  });

  test('a server of the other kind is told', async () => {
    const other = address.kind === 'mysql' ? 'mariadb' : 'mysql';
    const config = { ...tested.config, driver: other };
    const verifier = (await driver.loadVerifier()).open(config);
    onTestFinished(() => verifier.close());
    await expect(verifier.ping()).rejects.toMatchObject({
      kind: 'unavailable',
      advice: expect.stringContaining(`driver: ${address.kind}`),
    });
  });
});
