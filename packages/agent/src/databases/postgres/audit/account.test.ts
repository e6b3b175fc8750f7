import { testDatabase, type TestDatabase } from '@svc/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AccountFinding } from '../../driver/driver.ts';
import { configOf, openPostgres, capabilityOf } from '../capability.fixture.ts';

let server: TestDatabase;
let reader: string;
let helper: string;
const password = 'reader';

beforeAll(async () => {
  server = await testDatabase();
  // Roles belong to the whole server: names as unique as the database, and awkward enough to need quotes.
  reader = `${server.name} "reader`;
  helper = `${server.name}_helper`;
  await server.execute(`
    create role ${quoted(reader)} login noinherit password '${password}';
    create role ${quoted(helper)};
    revoke temporary on database ${quoted(server.name)} from public;
    create table fact (id serial primary key, note text);
    create schema "Odd drawer";
    create view "Odd drawer"."Odd view" as select id from fact;
    grant select on fact to ${quoted(reader)};
    grant usage on schema "Odd drawer" to ${quoted(reader)};
    grant select on "Odd drawer"."Odd view" to ${quoted(reader)};
  `);
});
afterAll(async () => {
  await server.execute(
    `drop owned by ${quoted(reader)}, ${quoted(helper)}; drop role ${quoted(reader)}, ${quoted(helper)}`,
  );
});

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

async function audit(user: {
  readonly user: string;
  readonly password: string;
}): Promise<readonly AccountFinding[]> {
  const database = openPostgres(configOf({ ...server, ...user }));
  try {
    return await database.auditAccount([
      capabilityOf(
        'with own as (select * from fact) select id as a from own join "Odd drawer"."Odd view" using (id)',
      ),
      capabilityOf('select relname as a from pg_class, public.fact where note = :note', {
        params: { note: { type: 'string' } },
      }),
    ]);
  } finally {
    await database.close();
  }
}

test('an account that may only read has no findings', async () => {
  expect(await audit({ user: reader, password })).toEqual([]);
});

test('a superuser is told only that, and how to make an account that may read what is read', async () => {
  const findings = await audit(server);
  expect(findings.map(({ problem }) => problem)).toEqual([
    'the account postgres has the attribute SUPERUSER',
  ]);
  const remedy = findings[0]?.remedy ?? '';
  const [, role = ''] = /^use another account: CREATE ROLE (svc_reader\w*) LOGIN; /.exec(remedy) ?? [];
  expect(remedy.split('; ').slice(1)).toEqual([
    `GRANT CONNECT ON DATABASE ${server.name} TO ${role}`,
    `GRANT USAGE ON SCHEMA "Odd drawer", public TO ${role}`,
    `GRANT SELECT ON "Odd drawer"."Odd view", public.fact TO ${role}`,
    `-- then set its password: \\password ${role}`,
  ]);
  const statements = remedy.replace('use another account: ', '');
  await server.execute(`${statements}\n; alter role ${role} password '${password}'`);
  try {
    expect(await audit({ user: role, password })).toEqual([]);
    // A name that is taken is not proposed again.
    expect((await audit(server))[0]?.remedy).not.toContain(`CREATE ROLE ${role} `);
  } finally {
    await server.execute(`drop owned by ${role}; drop role ${role}`);
  }
});

test('an owner is told to use another account, once for all that it owns', async () => {
  const me = quoted(reader);
  const tables = Array.from({ length: 12 }, (_, index) => `create table own.t${index} (id int)`);
  await server.execute(
    `create schema own authorization ${me}; set role ${me}; ${tables.join('; ')}; reset role`,
  );
  const findings = await audit({ user: reader, password });
  expect(findings).toEqual([
    {
      problem: expect.stringMatching(
        /^the account owns schema own, table own.t0, .*, table own.t6 and 3 more$/,
      ),
      remedy: expect.stringMatching(/^use another account: CREATE ROLE svc_reader\w* LOGIN; GRANT /),
    },
  ]);
  await server.execute('drop schema own cascade');
});

test('each finding is removed by its own remedy', async () => {
  const me = quoted(reader);
  // Before 14 no role of PostgreSQL's own may write tables.
  const writer = (await server.version()) >= 140_000 ? 'pg_write_all_data' : 'pg_write_server_files';
  await server.execute(`
    alter role ${me} createdb createrole bypassrls;
    grant ${writer}, pg_read_server_files to ${quoted(helper)};
    grant ${quoted(helper)} to ${me};
    grant insert, truncate on fact to ${quoted(helper)};
    grant update (note) on fact to ${me};
    grant delete on fact to public;
    grant usage on sequence fact_id_seq to ${me};
    grant create, temporary on database ${quoted(server.name)} to ${me};
    create schema "Odd schema";
    grant create on schema "Odd schema" to ${me};
    create foreign data wrapper wrapper;
    create server remote foreign data wrapper wrapper;
    grant usage on foreign server remote to ${me};
    grant usage on foreign data wrapper wrapper to ${me};
  `);
  const findings = await audit({ user: reader, password });
  const remedies = findings.map(({ remedy }) => remedy);
  expect(remedies).toEqual(
    expect.arrayContaining([
      `ALTER ROLE ${me} NOCREATEROLE`,
      `REVOKE ${writer} FROM ${helper}`,
      `REVOKE INSERT, TRUNCATE ON TABLE public.fact FROM ${helper}`,
      `REVOKE UPDATE (note) ON TABLE public.fact FROM ${me}`,
      'REVOKE DELETE ON TABLE public.fact FROM PUBLIC',
      `REVOKE CREATE ON SCHEMA "Odd schema" FROM ${me}`,
      `REVOKE CREATE, TEMPORARY ON DATABASE ${server.name} FROM ${me}`,
    ]),
  );
  expect(remedies).toHaveLength(new Set(remedies).size);
  await server.execute(remedies.join(';\n'));
  expect(await audit({ user: reader, password })).toEqual([]);
});

test('what acts beyond tables is found, and removed by its own remedy', async () => {
  const [me, group] = [quoted(reader), quoted(helper)];
  const version = await server.version();
  const largeObjects = Array.from({ length: 12 }, (_, index) => 91_000 + index);
  const parameters = ['ALTER SYSTEM, SET ON PARAMETER work_mem', 'SET ON PARAMETER svc_audit.odd'];
  await server.execute(`
    grant pg_monitor, pg_read_all_stats to ${me};
    grant pg_signal_backend to ${group};
    grant ${group} to ${me};
    grant execute on function pg_reload_conf(), pg_switch_wal() to ${me};
    grant execute on function pg_read_file(text) to public;
    grant execute on function pg_rotate_logfile() to ${group};
    ${largeObjects.map((oid) => `select lo_create(${oid}); grant update on large object ${oid} to ${me};`).join('\n')}
    grant update on large object 91000, 91001 to public;
    grant select on fact to ${me} with grant option;
    grant create on tablespace pg_default to ${me};
    alter default privileges in schema public grant select, insert, update on tables to ${me};
    alter default privileges grant usage on sequences to ${group};
    ${version >= 150_000 ? parameters.map((each) => `grant ${each} to ${me};`).join('\n') : ''}
  `);
  const findings = await audit({ user: reader, password });
  const remedies = findings.map(({ remedy }) => remedy);
  expect(remedies).toEqual(
    expect.arrayContaining([
      `REVOKE pg_monitor FROM ${me}`,
      `REVOKE pg_read_all_stats FROM ${me}`,
      `REVOKE pg_signal_backend FROM ${helper}`,
      `REVOKE EXECUTE ON FUNCTION pg_reload_conf() FROM ${me}`,
      `REVOKE EXECUTE ON FUNCTION pg_switch_wal() FROM ${me}`,
      'REVOKE EXECUTE ON FUNCTION pg_read_file(text) FROM PUBLIC',
      `REVOKE EXECUTE ON FUNCTION pg_rotate_logfile() FROM ${helper}`,
      'REVOKE UPDATE ON LARGE OBJECT 91000, 91001 FROM PUBLIC',
      `REVOKE GRANT OPTION FOR SELECT ON TABLE public.fact FROM ${me}`,
      `REVOKE CREATE ON TABLESPACE pg_default FROM ${me}`,
      `ALTER DEFAULT PRIVILEGES FOR ROLE postgres IN SCHEMA public REVOKE INSERT, UPDATE ON TABLES FROM ${me}`,
      `ALTER DEFAULT PRIVILEGES FOR ROLE postgres REVOKE USAGE ON SEQUENCES FROM ${helper}`,
      ...(version >= 150_000 ? parameters.map((each) => `REVOKE ${each} FROM ${me}`) : []),
    ]),
  );
  expect(findings.map(({ problem }) => problem)).toContain(
    `the account has UPDATE on large object ${largeObjects.slice(0, 10).join(', ')} and 2 more`,
  );
  // One for the large objects of the account, and nothing that only comes with pg_monitor.
  expect(remedies).toHaveLength(version >= 150_000 ? 15 : 13);
  await server.execute(remedies.join(';\n'));
  expect(await audit({ user: reader, password })).toEqual([]);
  await server.execute(`alter default privileges in schema public revoke all on tables from ${me}`);
});

test('an account that may not read a catalog is told the GRANT of it', async () => {
  await server.execute('revoke select on pg_catalog.pg_foreign_server from public');
  const grant = `GRANT SELECT ON pg_catalog.pg_foreign_server TO ${quoted(reader)}`;
  try {
    await expect(audit({ user: reader, password })).rejects.toThrow(`; to grant it: ${grant}`);
    await server.execute(grant);
    expect(await audit({ user: reader, password })).toEqual([]);
  } finally {
    await server.execute('grant select on pg_catalog.pg_foreign_server to public');
  }
});

test('whatever the account owns is named', async () => {
  const me = quoted(reader);
  await server.execute(`
    create function public.act() returns int language sql as 'select 1'; alter function public.act() owner to ${me};
    create domain public.whole as int; alter domain public.whole owner to ${me};
    select lo_create(92000); alter large object 92000 owner to ${me};
  `);
  expect(await audit({ user: reader, password })).toMatchObject([
    { problem: 'the account owns function public.act(), large object 92000, type public.whole' },
  ]);
  await server.execute('drop function act(); drop domain whole; select lo_unlink(92000)');
  expect(await audit({ user: reader, password })).toEqual([]);
});
