import { executeMysql } from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { capabilityOf } from '../../conformance/capability.testing.ts';
import { mysqlServers } from '../servers.testing.ts';
import { auditedAccount } from './audited.testing.ts';

const DATABASE = `noted_${process.pid}`;
const on = (name: string): string => `\`${DATABASE}\`.\`${name}\``;
const capabilities = [
  capabilityOf('select id as a from book'),
  capabilityOf({ sql: 'select allowed() as a from priced', allowFunctions: ['allowed'] }),
];
const ALL = `\`${DATABASE.replace('_', '\\_')}\`.*`;
const UNREAD = 'the account has SELECT on what no capability names: ';

describe.each(mysqlServers().map((address) => [address.name, address] as const))('%s', (_name, address) => {
  const execute = (sql: string): ReturnType<typeof executeMysql> => executeMysql(address, sql);
  beforeAll(async () => {
    await execute(`create database ${DATABASE}; create table ${on('book')} (id int); create table ${on('Odd ``one')} (id int);
      create table ${on('price')} (id int); create view ${on('prices')} as select id from ${on('price')};
      create sql security invoker view ${on('priced')} as select id from ${on('prices')}; create table ${on('salary')} (id int)`);
    for (const name of ['allowed', 'other'])
      await execute(`create function ${on(name)}() returns int deterministic reads sql data return 1`);
  });
  afterAll(() => execute(`drop database ${DATABASE}`));

  test('what every account can do by itself is one line', async () => {
    const { account, describe: notesFor } = await auditedAccount(address, DATABASE);
    await execute(`grant select on ${on('book')} to ${account}`);
    const notes = await notesFor(capabilities);
    expect(notes).toEqual([
      { note: expect.stringMatching(/^like every account of a (?:MariaDB|MySQL) server/) },
    ]);
    expect(notes[0]?.note).toMatch(/SLEEP.*GET_LOCK.*password.*no statement takes that from one account$/);
  });

  test('tables that no capability names are listed, and the statements leave what is named, behind views too', async () => {
    const { account, audit, describe: notesFor } = await auditedAccount(address, DATABASE);
    await execute(
      `grant select, show view on ${ALL} to ${account}; grant select on ${on('salary')} to ${account}`,
    );
    const notes = (await notesFor(capabilities)).slice(1);
    expect(notes).toEqual([
      {
        note: `${UNREAD}${on('Odd ``one')}, ${on('salary')}`,
        remedy: [
          `REVOKE SELECT ON ${ALL} FROM ${account}`,
          ...['book', 'price', 'priced', 'prices'].map((name) => `GRANT SELECT ON ${on(name)} TO ${account}`),
        ].join('; '),
      },
      { note: `${UNREAD}${on('salary')}`, remedy: `REVOKE SELECT ON ${on('salary')} FROM ${account}` },
    ]);
    for (const { remedy = '' } of notes) await execute(remedy);
    expect(await notesFor(capabilities)).toHaveLength(1);
    expect(await audit(capabilities)).toEqual([]);
  });

  test('more than ten tables are counted, and columns and what a role may read are told with it', async () => {
    const { account, describe: notesFor } = await auditedAccount(address, DATABASE);
    const many = `many_${process.pid}`;
    const role = `reading_${process.pid}`;
    const tables = Array.from({ length: 13 }, (_, index) => `create table ${many}.t${index + 10} (id int)`);
    await execute(`create database ${many}; ${tables.join('; ')}; create role ${role}; grant select on ${many}.* to ${role};
      grant ${role} to ${account}; grant select (id) on ${on('salary')} to ${account}`);
    try {
      const notes = (await notesFor(capabilities)).slice(1);
      expect(notes.map(({ note }) => note).toSorted()).toEqual([
        expect.stringMatching(/`t10`, .*`t19` and 3 more, by the role `reading_/),
        `${UNREAD}${on('salary')}`,
      ]);
      for (const { remedy = '' } of notes) await execute(remedy);
      expect(await notesFor(capabilities)).toHaveLength(1);
    } finally {
      await execute(`drop database ${many}; drop role ${role}`);
    }
  });

  test('functions that the file does not allow, and what tells of other sessions', async () => {
    const { account, audit, describe: notesFor } = await auditedAccount(address, DATABASE);
    await execute(`grant execute on function ${on('allowed')} to ${account};
      grant execute on function ${on('other')} to ${account}; grant select on performance_schema.* to ${account}`);
    const notes = (await notesFor(capabilities)).slice(1);
    expect(notes.map(({ note }) => note)).toEqual([
      `${UNREAD}\`performance_schema\`.*`,
      `the account may call the function ${on('other')}, with the rights of administrator@%, and no capability may`,
    ]);
    for (const { remedy = '' } of notes) await execute(remedy);
    expect(await notesFor(capabilities)).toHaveLength(1);
    expect(await audit(capabilities)).toEqual([]);
  });
});
