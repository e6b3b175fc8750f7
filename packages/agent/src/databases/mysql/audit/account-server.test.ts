import { executeMysql } from '@svc/testkit';
import { describe, expect, onTestFinished, test } from 'vitest';
import { configure } from '../config.ts';
import { createPool } from '../connect.ts';
import { mysqlServers } from '../servers.testing.ts';
import { auditAccount } from './account.ts';

const DATABASE = `\`my "db\` ON x_${process.pid}\``.replace('` ON', '`` ON');
const ROLE = `role_${process.pid}`;
const INNER_ROLE = `inner_${process.pid}`;

describe.each(mysqlServers().map((address) => [address.name, address] as const))('%s', (_name, address) => {
  const user = `audited_names_${process.pid}`;
  const account = `'${user}'@'%'`;
  const execute = (sql: string): ReturnType<typeof executeMysql> => executeMysql(address, sql);

  /** The remedies for an account that these were granted to. */
  async function remediesOf(...grants: readonly string[]): Promise<readonly string[]> {
    await execute(`create user ${account} identified by 'p'; create database ${DATABASE};
      create table ${DATABASE}.\`t a\` (\`x)y\` int, \`a, b\` int);
      create procedure ${DATABASE}.\`p q\`() select 1; create role ${ROLE}; create role ${INNER_ROLE}`);
    const { host, port, kind } = address;
    const section = { driver: kind, host, port, name: 'information_schema', user };
    const pool = createPool(configure(section, { password: 'p' }));
    onTestFinished(async () => {
      await pool.close();
      await execute(
        `drop user ${account}; drop database ${DATABASE}; drop role ${ROLE}; drop role ${INNER_ROLE}`,
      );
    });
    for (const grant of grants) await execute(grant);
    return (await auditAccount(pool)).map(({ remedy }) => remedy);
  }

  test.each([
    ['all on', `.* to ${account}`, 'REVOKE ALL PRIVILEGES ON'],
    ['execute on', `.* to ${account}`, 'REVOKE EXECUTE ON'],
    ['select on', `.* to ${account} with grant option`, 'REVOKE GRANT OPTION ON'],
    ['insert on', `.\`t a\` to ${account}`, 'REVOKE INSERT ON'],
    ['execute on procedure', `.\`p q\` to ${account}`, 'REVOKE EXECUTE ON PROCEDURE'],
  ])('%s a database with an odd name%s', async (privilege, to, remedy) => {
    const remedies = await remediesOf(`grant ${privilege} ${DATABASE}${to}`);
    expect(remedies).toEqual([expect.stringContaining(`${remedy} ${DATABASE}`)]);
    expect(remedies[0]).toContain(` FROM \`${user}\`@\`%\``);
    await execute(remedies.join(';'));
  });

  test('columns with odd names are told whole', async () => {
    const remedies = await remediesOf(
      `grant update (\`x)y\`, \`a, b\`) on ${DATABASE}.\`t a\` to ${account}`,
    );
    expect(remedies).toEqual([expect.stringContaining('`x)y`')]);
    await execute(remedies.join(';'));
  });

  test('what a role has, and a role of that role, counts before anybody has taken it on', async () => {
    const remedies = await remediesOf(
      `grant insert on ${DATABASE}.* to ${INNER_ROLE}`,
      `grant ${INNER_ROLE} to ${ROLE}`,
      `grant ${ROLE} to ${account}`,
    );
    expect(remedies).toEqual([expect.stringContaining(`REVOKE INSERT ON ${DATABASE}`)]);
  });

  test('reading the accounts is found where the server writes names without quotes', async () => {
    const [before] = await execute('select @@global.sql_quote_show_create as v');
    onTestFinished(async () => {
      await execute(`set global sql_quote_show_create = ${Number(before?.['v'])}`);
    });
    await execute('set global sql_quote_show_create = 0');
    const remedies = await remediesOf(`grant select on mysql.* to ${account}`);
    expect(remedies).toEqual([expect.stringContaining('REVOKE SELECT ON `mysql`.*')]);
  });

  test.each(['*', '`%`', '`mysq_`', '`m%\\_%`', '`MYSQL`', '`my.ql`'])(
    'reading %s is reading the accounts where that takes them in',
    async (database) => {
      const isReached = !['`m%\\_%`', '`my.ql`'].includes(database);
      const remedies = await remediesOf(`grant select on ${database}.* to ${account}`);
      expect(remedies).toEqual(isReached ? [expect.stringContaining(`REVOKE SELECT ON ${database}.*`)] : []);
    },
  );
});
