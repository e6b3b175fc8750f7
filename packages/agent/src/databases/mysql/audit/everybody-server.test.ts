import { executeMysql, findMysqlServers, startMysql, type Mysql } from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mysqlServers } from '../servers.testing.ts';
import { auditedAccount, type Audited } from './audited.testing.ts';

/** What holds for every account of a server needs a server that no other test uses. */
describe.each(mysqlServers().map((address) => [address.name, address] as const))('%s', (name, { kind }) => {
  let server: Mysql;
  const execute = (sql: string): ReturnType<typeof executeMysql> => executeMysql(server.address, sql);
  const audited = (host?: string): Promise<Audited> => auditedAccount(server.address, 'shop', host);
  beforeAll(async () => {
    const program = findMysqlServers().find((each) => each.name === name);
    if (program === undefined) throw new Error(`there is no ${name}`);
    server = await startMysql(program);
    await execute('create database shop; create table shop.book (id int); create table shop.price (id int)');
  });
  afterAll(() => server.stop());

  describe.runIf(kind === 'mysql')('MySQL', () => {
    test('a mandatory role counts, be it taken on at each login or not', async () => {
      await execute(
        "create role everyone; grant insert on shop.book to everyone; set global mandatory_roles = 'everyone'",
      );
      for (const takesOn of ['off', 'on']) {
        await execute(`set global activate_all_roles_on_login = ${takesOn}`);
        const { audit } = await audited();
        expect(await audit()).toEqual([
          {
            problem: 'the account has INSERT on `shop`.`book`, by the role `everyone`@`%`',
            remedy: 'REVOKE INSERT ON `shop`.`book` FROM `everyone`@`%`',
          },
        ]);
      }
      const { followRemedies } = await audited();
      expect(await followRemedies()).toEqual([]);
      await execute("set global mandatory_roles = ''; drop role everyone");
    });

    test('databases that a grant leaves out are left out, and with that names of databases are no patterns', async () => {
      await execute('set global partial_revokes = on');
      const { account, audit, followRemedies } = await audited();
      await execute(`grant select, insert on *.* to ${account}; revoke insert on shop.* from ${account}`);
      expect((await audit()).map(({ problem }) => problem)).toEqual([
        'the account has SELECT, INSERT on *.*',
      ]);
      await execute(`revoke select on mysql.* from ${account}`);
      expect((await audit()).map(({ problem }) => problem)).toEqual(['the account has INSERT on *.*']);
      expect(await followRemedies()).toEqual([]);
      await execute(`grant select on \`m%\`.* to ${account}`);
      expect(await audit()).toEqual([]);
      await execute(`revoke select on \`m%\`.* from ${account}; revoke select on *.* from ${account}`);
      await execute('set global partial_revokes = off');
      await execute(`grant select on \`m%\`.* to ${account}`);
      expect(await audit()).toHaveLength(1);
    });
  });

  describe.runIf(kind === 'mariadb')('MariaDB', () => {
    test('what PUBLIC has counts, and the roles that are granted to it', async () => {
      const [major = 0, minor = 0] = name.replace('mariadb-', '').split('.').map(Number);
      if (major === 10 && minor < 11) return;
      const { audit, followRemedies } = await audited();
      await execute(`create role readers; grant delete on shop.price to readers; grant readers to public;
        grant insert on shop.book to public; grant process on *.* to public`);
      expect((await audit()).map(({ problem }) => problem).toSorted()).toEqual([
        'the account has DELETE on `shop`.`price`, by the role `readers`',
        'the account has INSERT on `shop`.`book`, as every account has',
        'the account has PROCESS on *.*, as every account has',
      ]);
      expect(await followRemedies()).toEqual([]);
      await execute('drop role readers');
    });

    test.each([
      ['a database of the server', 'shop'],
      ['a database that is not there', 'test'],
      ['databases by a pattern', String.raw`test\_%`],
    ])('what is granted to anonymous accounts on %s counts', async (_what, pattern) => {
      const { account, audit, followRemedies } = await audited();
      await execute(`grant select on shop.price to ${account}`);
      expect(await audit()).toEqual([]);
      await execute(`insert into mysql.db (host, db, user, insert_priv, create_priv)
        values ('%', '${pattern.replace('\\', '\\\\')}', '', 'Y', 'Y'); flush privileges`);
      expect(await audit()).toEqual([
        {
          problem: expect.stringMatching(
            /^the account may use the database `(?:shop|test_?)` without a grant/,
          ),
          remedy: expect.stringMatching(
            /^DELETE FROM mysql.db WHERE User = '' AND '(?:shop|test_?)' LIKE Db; /,
          ),
        },
      ]);
      expect(await followRemedies()).toEqual([]);
    });

    test('what is granted to the user name at another host counts', async () => {
      const { account, audit } = await audited('127.0.0.1');
      const elsewhere = account.replace('127.0.0.1', '%');
      await execute(`create user ${elsewhere}; grant insert on shop.* to ${elsewhere}`);
      expect((await audit()).map(({ problem }) => problem)).toEqual([
        "the account may use the database `shop` without a grant of its own: by one to everybody (''@'%'), or to its user name at another host",
      ]);
      await execute(`drop user ${elsewhere}`);
      expect(await audit()).toEqual([]);
    });
  });

  test('an account that may log in without a name is audited as such', async () => {
    await execute("create user ''@'%' identified by 'p'; grant insert on shop.book to ''@'%'");
    const { account, audit, followRemedies } = await auditedAccount(server.address, 'shop', '10.0.0.1');
    expect(account).toContain('10.0.0.1');
    expect(await audit()).toEqual([
      {
        problem: 'the account has INSERT on `shop`.`book`',
        remedy: 'REVOKE INSERT ON `shop`.`book` FROM ``@`%`',
      },
    ]);
    expect(await followRemedies()).toEqual([]);
    await execute("drop user ''@'%'");
  });
});
