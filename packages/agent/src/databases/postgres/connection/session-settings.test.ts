import { startPostgres, testDatabase, type TestDatabase } from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Query } from '../../driver/driver.ts';
import {
  callOf,
  capabilityOf,
  configOf,
  openPostgres,
  queryOf,
  textOfRows,
  type TestedDatabase,
} from '../capability.fixture.ts';
import { openSession } from './database-session.ts';

/** What the account has by default and what functions set, neither of which may reach a call, and what a call is to see. */
const SETTINGS = [
  ['search_path', 'data, public', 'nowhere', 'data, public'],
  ['client_encoding', 'LATIN1', 'LATIN2', 'UTF8'],
  ['extra_float_digits', '-15', '-2', '1'],
  ['lock_timeout', '1', '2', '0'],
  ['idle_in_transaction_session_timeout', '1', '2', '30s'],
  ['client_connection_check_interval', '', '0', '1s'],
] as const;

const SCHEMA = `
  create schema data;
  create table data.book (id int primary key);
  insert into data.book values (1);
  create function obey(statement text) returns int language plpgsql as $$ begin execute statement; return 1; end $$;
  create function obey_and_fail(statement text) returns int language plpgsql as
    $$ begin execute statement; raise exception 'failed'; end $$;
  create function obey_within(statement text, fails bool) returns int language plpgsql as $$ begin
    begin
      execute statement;
      if fails then raise exception 'failed'; end if;
    exception when raise_exception then null;
    end;
    return 1;
  end $$;
`;

let server: TestDatabase;
let role: string;
let known: readonly (typeof SETTINGS)[number][];
let database: TestedDatabase;
let look: () => Promise<readonly string[]>;
beforeAll(async () => {
  server = await testDatabase({ sql: [SCHEMA] });
  role = `${server.name}_reader`;
  const names = await server.query<{ name: string }>('select name from pg_settings');
  known = SETTINGS.filter(([name]) => names.some((setting) => setting.name === name));
  await server.execute(`
    create role ${role} login password 'reader';
    grant usage on schema data to ${role};
    grant select on data.book to ${role};
    ${known
      .filter(([, value]) => value !== '')
      .map(([name, value]) => `alter role ${role} set ${name} = ${value};`)
      .join('\n')}
  `);
  database = openAsRole(1);
  look = await lookOver(database);
});
afterAll(async () => {
  await database.close();
  await server.execute(`drop owned by ${role}; drop role ${role}`);
});

function openAsRole(maxConnections: number): TestedDatabase {
  return openPostgres(configOf({ ...server, user: role, password: 'reader' }, { maxConnections }));
}

/** What a call sees: the process of the server, and each of `known`. */
async function lookOver(over: TestedDatabase): Promise<() => Promise<readonly string[]>> {
  const values = known.map(([name]) => `current_setting('${name}')`).join(', ');
  const sql = `select concat_ws('|', pg_backend_pid(), ${values}) as a`;
  const query = await queryOf(over, capabilityOf(sql, { name: 'look', result: { a: 'string' } }));
  return async () => {
    const rows: readonly { readonly a: string }[] = JSON.parse(textOfRows(await query.run(callOf())));
    return rows[0]?.a.split('|') ?? [];
  };
}

function expected(): readonly string[] {
  return known.map(([, , , value]) => value);
}

function obeying(call: string, timing: string = ''): Promise<Query> {
  return queryOf(
    database,
    capabilityOf(`select ${call} as a${timing}`, {
      name: 'obey',
      params: { statement: { type: 'string' } },
      allowFunctions: ['obey', 'obey_and_fail', 'obey_within', 'pg_sleep'],
    }),
  );
}

describe('what is the same for every call', () => {
  test('is set for the session, and holds whatever the account has by default', async () => {
    const session = await openSession(
      configOf({ ...server, user: role, password: 'reader' }),
      new AbortController().signal,
    );
    expect(session.facts).toMatchObject({ keepsSettings: true, searchPath: 'data, public' });
    session.close();
    expect((await look()).slice(1)).toEqual(expected());
  });

  test.each(SETTINGS.map(([name, , value]) => [name, value] as const))(
    'is right for the next call on the connection, whatever a function has done to %s',
    async (name, value) => {
      const before = await look();
      const statements = [
        `select set_config('${name}', '${value}', false)`,
        `select set_config('${name}', '${value}', true)`,
        `set session ${name} = ${value}`,
        `set local ${name} = ${value}`,
        `set ${name} to default`,
        `reset ${name}`,
        `reset ${name}; set ${name} = ${value}`,
        `alter role ${role} set ${name} = ${value}`,
      ];
      const ways = [
        'obey(:statement)',
        'obey_and_fail(:statement)',
        'obey_within(:statement, false)',
        'obey_within(:statement, true)',
      ];
      for (const way of ways) {
        const query = await obeying(way);
        for (const statement of statements) {
          await query.run(callOf({ statement })).catch(() => {});
          expect([statement, ...(await look())]).toEqual([statement, ...before]);
        }
      }
      expect(before.slice(1)).toEqual(expected());
    },
  );

  test.each([
    'reset all',
    'discard plans',
    'discard sequences',
    'discard temp',
    'discard all',
    'deallocate all',
    'set session authorization default',
    'reset session authorization',
    'set role none',
    'set session characteristics as transaction read write',
    'reset all; set client_encoding = latin1; set search_path = nowhere',
  ])('is right for the next call on the connection after %s', async (statement) => {
    const before = await look();
    const query = await obeying('obey(:statement)');
    for (let round = 0; round < 3; round += 1) {
      await query.run(callOf({ statement })).catch(() => {});
      expect(await look()).toEqual(before);
    }
    expect(before.slice(1)).toEqual(expected());
  });

  test('is right for the next call when the one that changed it ran out of time or was cancelled', async () => {
    const before = await look();
    const query = await obeying('obey(:statement)', ' from pg_sleep(5)');
    const slow = await queryOf(
      database,
      capabilityOf('select obey(:statement) + length(pg_sleep(5)::text) as a', {
        name: 'slow',
        params: { statement: { type: 'string' } },
        allowFunctions: ['obey', 'pg_sleep'],
      }),
    );
    const statement = "reset all; set search_path = nowhere; set client_encoding = 'LATIN1'";
    for (const each of [query, slow]) {
      await expect(each.run(callOf({ statement }, { timeoutMs: 150 }))).rejects.toMatchObject({
        kind: 'timeout',
      });
      expect(await look()).toEqual(before);
      const abort = new AbortController();
      const call = each.run(callOf({ statement }, { signal: abort.signal }));
      setTimeout(() => abort.abort(), 100);
      await expect(call).rejects.toMatchObject({ kind: 'cancelled' });
      expect(await look()).toEqual(before);
    }
  });

  test('stays when the defaults of account and database change; a new connection has the new search path', async () => {
    const before = await look();
    await server.execute(`
      alter database ${server.name} set lock_timeout = 2;
      alter database ${server.name} set extra_float_digits = 0;
      alter role ${role} in database ${server.name} set search_path = public;
      alter role ${role} in database ${server.name} set client_encoding = 'SQL_ASCII';
    `);
    onTestFinished(() =>
      server.execute(
        `alter database ${server.name} reset all; alter role ${role} in database ${server.name} reset all`,
      ),
    );
    expect(await look()).toEqual(before);
    const later = openAsRole(1);
    onTestFinished(() => later.close());
    expect((await (await lookOver(later))()).slice(1)).toEqual(['public', ...expected().slice(1)]);
  });
});

describe('limits that an account has by default', () => {
  test('do not end a call that waits for a lock within its time', async () => {
    const query = await queryOf(database, capabilityOf('select id as a from book'));
    const locked = server.execute('begin; lock table data.book; select pg_sleep(0.3); commit');
    const waiting = `select from pg_locks where relation = 'data.book'::regclass`;
    await expect.poll(() => server.query(waiting), { interval: 5 }).not.toEqual([]);
    expect(textOfRows(await query.run(callOf()))).toBe('[{"a":1}]');
    await locked;
  });

  test('do not end a connection between a query that fails and the end of its transaction', async () => {
    const [before] = await look();
    const query = await queryOf(database, capabilityOf('select 1 / (id - 1) as a from book'));
    for (let round = 0; round < 20; round += 1) {
      await expect(query.run(callOf())).rejects.toMatchObject({ kind: 'failed' });
    }
    expect((await look())[0]).toBe(before);
  });

  test('a call that waits for a lock longer than it may is out of time', async () => {
    const query = await queryOf(database, capabilityOf('select id as a from book'));
    const locked = server.execute('begin; lock table data.book; select pg_sleep(0.8); commit');
    const held = `select from pg_locks where relation = 'data.book'::regclass`;
    await expect.poll(() => server.query(held), { interval: 5 }).not.toEqual([]);
    await expect(query.run(callOf({}, { timeoutMs: 200 }))).rejects.toMatchObject({ kind: 'timeout' });
    await locked;
  });
});

test('a change of the server configuration, reloaded, reaches no call of an open connection', async () => {
  const own = await startPostgres();
  onTestFinished(() => own.stop());
  const over = openPostgres(configOf({ ...own, name: 'postgres' }, { maxConnections: 1 }));
  onTestFinished(() => over.close());
  const lookThere = await lookOver(over);
  const resets = await queryOf(
    over,
    capabilityOf(
      `select string_agg(reset_val, ',' order by name) as a from pg_settings
       where name in (${known.map(([name]) => `'${name}'`).join(', ')})`,
      { result: { a: 'string' } },
    ),
  );
  const before = await lookThere();
  const reset = textOfRows(await resets.run(callOf()));
  for (const [name, , value] of known) await own.execute('postgres', `alter system set ${name} = ${value}`);
  await own.execute('postgres', 'select pg_reload_conf()');
  // The connection's process has read the new files.
  await expect.poll(async () => textOfRows(await resets.run(callOf())), { interval: 5 }).not.toBe(reset);
  expect(await lookThere()).toEqual(before);
  expect(before.slice(2)).toEqual(expected().slice(1));
});
