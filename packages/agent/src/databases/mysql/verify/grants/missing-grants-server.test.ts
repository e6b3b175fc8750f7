import { executeMysql } from '@svc/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { VerifierDatabase } from '../../../driver/driver.ts';
import { databaseFault, type VerificationFault } from '../../../driver/errors.ts';
import { capabilityOf } from '../../../conformance/capability.testing.ts';
import { configure } from '../../config/config.ts';
import { createPool, ping } from '../../connect.ts';
import { withSession } from '../../connection/with-session.ts';
import { mysqlServers } from '../../servers.testing.ts';
import { verifier } from '../../verifier.ts';
import { describeStatement } from '../describe-statement.ts';

const DATABASE = `shop_${process.pid}`;
const OTHER = `other_${process.pid}`;
const USER = `denied '${process.pid}`;
const ME = `\`${USER}\`@\`127.0.0.%\``;
const ON = `\`${DATABASE}\``;

describe.each(mysqlServers().map((address) => [address.name, address] as const))('%s', (_name, address) => {
  const execute = (sql: string): ReturnType<typeof executeMysql> => executeMysql(address, sql);
  const { host, port, kind } = address;
  const configOf = (name: string): ReturnType<typeof configure> =>
    configure({ driver: kind, host, port, name, user: USER }, { password: 'p' });
  let database: VerifierDatabase;
  beforeAll(() => execute(`create user ${ME} identified by 'p'`));
  afterAll(() => execute(`drop user ${ME}`));
  beforeEach(async () => {
    await execute(`
      drop database if exists ${ON}; drop database if exists ${OTHER}; create database ${ON}; create database ${OTHER};
      revoke all privileges, grant option from ${ME};
      create table ${ON}.book (id int, title text, price int, secret int);
      create table ${ON}.\`od\`\`d t\` (id int, \`co l\` int, book int);
      create table ${ON}.sale (id int, book int, price int, note int);
      create table ${ON}.visible (id int);
      create table ${OTHER}.far (id int);
      create sql security invoker view ${ON}.books as select id from ${ON}.book;
      create function ${ON}.twice(n int) returns int deterministic return 2 * n;
      create function ${OTHER}.thrice(n int) returns int deterministic return 3 * n;
      grant select on ${ON}.visible to ${ME}`);
    database = verifier.open(configOf(DATABASE));
    return async () => {
      await database.close();
      await execute(`drop database ${ON}; drop database ${OTHER}`);
    };
  });
  const faultsOf = async (sql: string): Promise<readonly VerificationFault[]> => {
    const params = { n: { type: 'integer' }, list: { type: 'array', items: { type: 'integer' } } } as const;
    const used = Object.entries(params).filter(([name]) => sql.includes(`:${name}`));
    const statement = { sql, allowFunctions: ['twice', 'thrice'] };
    return (await database.verify([capabilityOf(statement, { params: Object.fromEntries(used) })])).faults;
  };

  test.each([
    ['a table', '', 'select id as a from book', [`SELECT ON ${ON}.\`book\``]],
    [
      'tables, wherever they stand, with names that need quotes',
      '',
      "select b.id as a, extract(year from '2000-01-01') from (book b), `od``d t` o where b.id in (select s.book from sale s) limit :n",
      [`SELECT ON ${ON}.\`book\``, `SELECT ON ${ON}.\`od\`\`d t\``, `SELECT ON ${ON}.\`sale\``],
    ],
    [
      'a table of another database, and none for a query of WITH',
      '',
      `with book as (select id from ${OTHER}.far) select id as a from book where id in (:list)`,
      [`SELECT ON \`${OTHER}\`.\`far\``],
    ],
    [
      'columns, in a join without their tables',
      `grant select (id) on ${ON}.book to ${ME}; grant select (id, book) on ${ON}.sale to ${ME}`,
      'select b.id as a, title, b.secret as price2 from book b join sale s on s.book = b.id where note > :n order by b.secret, note',
      [`SELECT (\`title\`, \`secret\`) ON ${ON}.\`book\``, `SELECT (\`note\`) ON ${ON}.\`sale\``],
    ],
    [
      'a column whose name needs quotes',
      `grant select (id) on ${ON}.\`od\`\`d t\` to ${ME}`,
      'select `co l` as a from `od``d t`',
      [`SELECT (\`co l\`) ON ${ON}.\`od\`\`d t\``],
    ],
    [
      'a table for a star, if columns are granted',
      `grant select (id) on ${ON}.book to ${ME}`,
      'select id as a, b.* from book b',
      [`SELECT ON ${ON}.\`book\``],
    ],
    [
      'functions',
      '',
      `select twice(id) as a, ${OTHER}.thrice(1) as b from visible`,
      [`EXECUTE ON FUNCTION ${ON}.\`twice\``, `EXECUTE ON FUNCTION \`${OTHER}\`.\`thrice\``],
    ],
    [
      'a table and a function at once',
      '',
      'select twice(id) as a from book',
      [`SELECT ON ${ON}.\`book\``, `EXECUTE ON FUNCTION ${ON}.\`twice\``],
    ],
    [
      'a table behind a view that is run as who reads it',
      `grant select, show view on ${ON}.books to ${ME}`,
      'select id as a from books',
      [`SELECT ON ${ON}.\`book\``],
    ],
  ] as const)(
    'a refusal names the GRANT of %s, with which the check passes',
    async (_what, setup, sql, grants) => {
      if (setup !== '') await execute(setup);
      const [fault, ...others] = await faultsOf(sql);
      expect(others).toEqual([]);
      expect(fault?.remedy?.split('; ')).toEqual(grants.map((grant) => `GRANT ${grant} TO ${ME}`));
      expect(fault?.message).toContain('check the names, and grant what it reads');
      await execute(fault?.remedy ?? '');
      expect(await faultsOf(sql)).toEqual([]);
    },
  );

  test('a view whose text may not be seen is told with its GRANT', async () => {
    await execute(
      `create view ${ON}.titles as select title from ${ON}.book; grant select on ${ON}.titles to ${ME}`,
    );
    const sql = 'select length(title) as a from titles';
    for (const grant of ['SELECT, SHOW VIEW ON', 'SHOW VIEW ON']) {
      const [fault] = await faultsOf(sql);
      expect(fault?.remedy).toMatch(new RegExp(`^GRANT ${grant} .* TO ${ME}$`));
      await execute(fault?.remedy ?? '');
    }
    expect(await faultsOf(sql)).toEqual([]);
  });

  test('a statement that is to become a capability is refused with its GRANT', async () => {
    const pool = createPool(configOf(DATABASE));
    try {
      const described = await withSession(pool, (session) =>
        describeStatement(session, 'x', 'select id from book'),
      );
      expect(described).toMatchObject({
        ok: false,
        faults: [{ remedy: `GRANT SELECT ON ${ON}.\`book\` TO ${ME}` }],
      });
    } finally {
      await pool.close();
    }
  });

  test('a database that the account has no grant in is told with one that lets it in', async () => {
    const pool = createPool(configOf(OTHER));
    try {
      const fault = databaseFault(await ping(pool).catch((error: unknown) => error));
      expect(fault.remedy).toBe(`GRANT SELECT ON \`${OTHER.replace('_', '\\_')}\`.* TO ${ME}`);
      await execute(fault.remedy ?? '');
    } finally {
      await pool.close();
    }
    const again = createPool(configOf(OTHER));
    await ping(again);
    await again.close();
  });

  test('what is not refused for want of a grant has none', async () => {
    expect((await faultsOf('select nothing as a from visible')).map(({ remedy }) => remedy)).toEqual([
      undefined,
    ]);
  });
});
