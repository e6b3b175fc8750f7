import { executeMysql } from '@svc/testkit';
import { describe, expect, onTestFinished, test } from 'vitest';
import { capabilityOf } from '../../conformance/capability.testing.ts';
import { mysqlServers } from '../servers.testing.ts';
import { auditedAccount, type Audited } from './audited.testing.ts';

const DATABASE = `\`my "db\` ON x_${process.pid}\``.replace('` ON', '`` ON');
const PLAIN = `plain_${process.pid}`;
const ROLE = `role_${process.pid}`;
const INNER_ROLE = `inner_${process.pid}`;

describe.each(mysqlServers().map((address) => [address.name, address] as const))('%s', (_name, address) => {
  const isMariaDb = address.kind === 'mariadb';
  const execute = (sql: string): ReturnType<typeof executeMysql> => executeMysql(address, sql);

  /** An account that these are granted to, in which `?` stands for it. */
  async function accountWith(...grants: readonly string[]): Promise<Audited> {
    await execute(`create database ${DATABASE}; create table ${DATABASE}.\`t a\` (\`x)y\` int, \`a, b\` int);
      create database ${PLAIN}; create table ${PLAIN}.book (id int, title varchar(20));
      insert into ${PLAIN}.book values (1, 'one'); create role ${ROLE}; create role ${INNER_ROLE}`);
    await execute(`create procedure ${DATABASE}.\`p q\`() select 1`);
    await execute(
      `create function ${PLAIN}.changes() returns int deterministic modifies sql data
         begin insert into ${PLAIN}.book values (2, 'two'); return 1; end`,
    );
    await execute(`create function ${PLAIN}.reads() returns int deterministic reads sql data return 1`);
    onTestFinished(async () => {
      await execute(
        `drop database ${DATABASE}; drop database ${PLAIN}; drop role ${ROLE}; drop role ${INNER_ROLE}`,
      );
    });
    const audited = await auditedAccount(address, PLAIN);
    for (const grant of grants) await execute(grant.replaceAll('?', audited.account));
    return audited;
  }

  test.each([
    ['all on', `.* to ?`, 'REVOKE ALL PRIVILEGES ON'],
    ['all on', `.* to ? with grant option`, 'REVOKE ALL PRIVILEGES ON'],
    ['all on', `.\`t a\` to ? with grant option`, 'REVOKE ALL PRIVILEGES ON'],
    ['execute on', `.* to ?`, 'REVOKE EXECUTE ON'],
    ['select on', `.* to ? with grant option`, 'REVOKE GRANT OPTION ON'],
    ['insert, update on', `.* to ? with grant option`, 'REVOKE INSERT, UPDATE ON'],
    ['insert on', `.\`t a\` to ?`, 'REVOKE INSERT ON'],
    ['execute on procedure', `.\`p q\` to ?`, 'REVOKE EXECUTE ON PROCEDURE'],
    [
      'execute, alter routine on procedure',
      `.\`p q\` to ? with grant option`,
      'REVOKE EXECUTE, ALTER ROUTINE ON PROCEDURE',
    ],
  ])('%s a database with an odd name%s', async (privilege, to, remedy) => {
    const { account, remedies, followRemedies } = await accountWith(`grant ${privilege} ${DATABASE}${to}`);
    expect(await remedies()).toEqual([expect.stringContaining(`${remedy} ${DATABASE}`)]);
    expect((await remedies())[0]).toContain(` FROM ${account}`);
    expect(await followRemedies()).toEqual([]);
  });

  test('columns with odd names are told whole', async () => {
    const { remedies, followRemedies } = await accountWith(
      `grant update (\`x)y\`, \`a, b\`), select (\`x)y\`) on ${DATABASE}.\`t a\` to ? with grant option`,
    );
    expect(await remedies()).toEqual([
      expect.stringMatching(/^REVOKE UPDATE \(.*`x\)y`.*\) ON .*; REVOKE GRANT OPTION ON/),
    ]);
    expect(await followRemedies()).toEqual([]);
  });

  test('every privilege of the server but those of reading is found, by its name', async () => {
    const rows = await execute('show privileges');
    const all = rows.map((row) => String(row['Privilege']).toUpperCase());
    const unusual = new Set(['USAGE', 'PROXY', 'GRANT OPTION', 'SELECT', 'SHOW VIEW']);
    const privileges = all.filter((name) => !unusual.has(name));
    expect(privileges.length).toBeGreaterThan(30);
    const { audit, followRemedies } = await accountWith(
      `grant ${privileges.join(', ')}, show view on *.* to ?`,
      `grant select on ${PLAIN}.* to ?`,
    );
    const findings = await audit();
    const told = findings.flatMap(({ remedy }) =>
      (/^REVOKE (.*) ON \*\.\* FROM/.exec(remedy)?.[1] ?? '').split(/, ?/),
    );
    expect(told.toSorted()).toEqual(privileges.toSorted());
    for (const { problem } of findings) expect(problem).toMatch(/^the account has [A-Z_, ]+ on \*\.\*(;|$)/);
    expect(await followRemedies()).toEqual([]);
  });

  test('FILE is told with the files that it reaches', async () => {
    const { audit, followRemedies } = await accountWith('grant file on *.* to ?');
    const [settings] = await execute('select @@secure_file_priv as folder');
    expect(await audit()).toEqual([
      {
        problem: `the account has FILE on *.*; FILE reaches files of the server below ${settings?.['folder']}`,
        remedy: expect.stringMatching(/^REVOKE FILE ON \*\.\* FROM/),
      },
    ]);
    expect(await followRemedies()).toEqual([]);
  });

  test('who has all privileges reads its database still when the remedies were followed', async () => {
    const audited = await accountWith('grant all on *.* to ? with grant option');
    expect(await audited.followRemedies()).toEqual([]);
    const lines = (await execute(`show grants for ${audited.account}`)).flatMap((row) => Object.values(row));
    expect(lines.slice(1)).toEqual([
      `GRANT SELECT, SHOW VIEW ON \`${PLAIN.replaceAll('_', String.raw`\_`)}\`.* TO ${audited.account}`,
    ]);
  });

  test('acting as another account is found, and may be passed on', async () => {
    await execute(
      "replace into mysql.proxies_priv (host, user, with_grant, grantor) values ('%', 'administrator', 1, ''); flush privileges",
    );
    const odd = `\`o'dd "${process.pid}\`@\`%\``;
    await execute(`create user ${odd}`);
    onTestFinished(async () => {
      await execute(`drop user ${odd}`);
    });
    const { account, audit, followRemedies } = await accountWith(
      `grant proxy on ${odd} to ? with grant option`,
      `grant proxy on ${ROLE} to ?`,
    );
    expect(await audit()).toEqual(
      expect.arrayContaining([
        {
          problem: `the account may act as ${odd} (PROXY)`,
          remedy: `REVOKE PROXY ON ${odd} FROM ${account}`,
        },
        {
          problem: `the account may act as \`${ROLE}\`@\`%\` (PROXY)`,
          remedy: `REVOKE PROXY ON \`${ROLE}\`@\`%\` FROM ${account}`,
        },
      ]),
    );
    expect(await followRemedies()).toEqual([]);
  });

  test('what a role has, and a role of that role, counts before anybody has taken it on', async () => {
    const { audit, followRemedies } = await accountWith(
      `grant insert on ${DATABASE}.* to ${INNER_ROLE}`,
      `grant select, delete on ${DATABASE}.* to ${ROLE}`,
      `grant reload on *.* to ${ROLE} with grant option`,
      `grant ${INNER_ROLE} to ${ROLE}`,
      `grant ${ROLE} to ?`,
      `grant select on ${DATABASE}.* to ?`,
    );
    const told = (await audit()).map(({ problem }) => problem);
    for (const problem of told) expect(problem).toMatch(/, by the role `(?:role|inner)_\d+`/);
    expect(told.join()).toContain('INSERT');
    expect(told.join()).toContain('DELETE');
    expect(told.join()).toContain('RELOAD');
    expect(await followRemedies()).toEqual([]);
    // The roles stay, and with them what they may read.
    const [row] = await execute(`show grants for ${ROLE}`).then((rows) =>
      rows.filter((each) => Object.values(each).join().includes('SELECT')),
    );
    expect(row).toBeDefined();
  });

  test('a role that is on by default is told as a role', async () => {
    const to = isMariaDb ? 'for' : 'to';
    const { audit, followRemedies } = await accountWith(
      `grant insert on ${PLAIN}.book to ${ROLE}`,
      `grant ${ROLE} to ?`,
      `set default role ${ROLE} ${to} ?`,
    );
    expect(await audit()).toEqual([
      {
        problem: expect.stringMatching(/^the account has INSERT on .*`book`, by the role `role_/),
        remedy: expect.stringMatching(/^REVOKE INSERT ON .*`book` FROM `role_\d+`(?:@`%`)?$/),
      },
    ]);
    expect(await followRemedies()).toEqual([]);
  });

  test.runIf(address.kind === 'mysql')(
    'dynamic privileges that may still be granted to others are told with statements that work',
    async () => {
      const { audit, followRemedies } = await accountWith(
        'grant backup_admin, clone_admin, process on *.* to ? with grant option',
        'revoke grant option on *.* from ?',
      );
      expect(await audit()).toEqual([
        { problem: expect.stringContaining('CLONE_ADMIN, GRANT OPTION on *.*'), remedy: expect.any(String) },
      ]);
      expect(await followRemedies()).toEqual([]);
    },
  );

  test('a role that may be granted to others is told, and stays without that', async () => {
    const { account, audit, followRemedies } = await accountWith(
      `grant ${ROLE} to ? with admin option`,
      ...(isMariaDb ? [`set default role ${ROLE} for ?`] : [`set default role ${ROLE} to ?`]),
      `grant select on ${PLAIN}.* to ${ROLE}`,
    );
    expect(await audit()).toEqual([
      { problem: expect.stringMatching(/may grant the role .* to others$/), remedy: expect.any(String) },
    ]);
    expect(await followRemedies()).toEqual([]);
    const defaults = isMariaDb
      ? `mysql.user where default_role = '${ROLE}'`
      : `mysql.default_roles where default_role_user = '${ROLE}'`;
    const users = (await execute(`select user as u from ${defaults}`)).map(({ u }) => `\`${u}\`@\`%\``);
    expect(users).toEqual([account]);
  });

  test('a function that is declared to change data is found unless the file allows it', async () => {
    const { account, audit, followRemedies } = await accountWith(
      `grant execute on function ${PLAIN}.changes to ?`,
      `grant execute on function ${PLAIN}.reads to ?`,
    );
    expect(await audit()).toEqual([
      {
        problem: `the account may call the function \`${PLAIN}\`.\`changes\`, with the rights of administrator@%, which is declared to change data, and no capability may`,
        remedy: `REVOKE EXECUTE ON FUNCTION \`${PLAIN}\`.\`changes\` FROM ${account}`,
      },
    ]);
    for (const name of ['changes', `${PLAIN}.changes`]) {
      const allowing = capabilityOf({ sql: `select ${PLAIN}.changes() as a`, allowFunctions: [name] });
      expect(await audit([allowing])).toEqual([]);
    }
    expect(await followRemedies()).toEqual([]);
  });

  test('reading the accounts is found where the server writes names without quotes', async () => {
    const [before] = await execute('select @@global.sql_quote_show_create as v');
    onTestFinished(async () => {
      await execute(`set global sql_quote_show_create = ${Number(before?.['v'])}`);
    });
    await execute('set global sql_quote_show_create = 0');
    const { remedies } = await accountWith('grant select on mysql.* to ?');
    expect(await remedies()).toEqual([expect.stringContaining('REVOKE SELECT ON `mysql`.*')]);
  });

  test.each([
    '*.*',
    '`%`.*',
    '`mysq_`.*',
    '`m%\\_%`.*',
    '`MYSQL`.*',
    '`my.ql`.*',
    'mysql.db',
    'mysql.help_topic',
  ])('reading %s is reading the accounts where that takes them in', async (object) => {
    const isReached = !['`m%\\_%`.*', '`my.ql`.*', 'mysql.help_topic'].includes(object);
    const { audit, followRemedies } = await accountWith(`grant select on ${object} to ?`);
    const found = (await audit()).map(({ problem }) => problem);
    expect(found).toEqual(isReached ? [expect.stringMatching(/^the account has SELECT on /)] : []);
    expect(await followRemedies()).toEqual([]);
  });
});
