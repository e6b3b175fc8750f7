import { testDatabase, type TestDatabase } from '@svc/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Capability } from '../../../capabilities/model.ts';
import type { AccountFinding } from '../../driver/driver.ts';
import { capabilityOf, configOf, openPostgres } from '../capability.fixture.ts';
import { quoteIdentifier } from '../dialect/quote-identifier.ts';

let server: TestDatabase;
let version: number;
let reader: string;
let me: string;
let helper: string;
let other: string;

beforeAll(async () => {
  server = await testDatabase();
  version = await server.version();
  reader = `${server.name} "reader`;
  me = quoteIdentifier(reader);
  helper = `${server.name}_helper`;
  other = `${server.name}_other`;
  await server.execute(`
    create role ${me} login password 'reader'; create role ${helper}; create role ${other};
    revoke temporary on database ${server.name} from public;
    create table fact (id int, note text, secret text); grant select on fact to ${me};
  `);
});
afterAll(async () => {
  for (const role of [me, helper, other]) await server.execute(`drop owned by ${role} cascade`);
  await server.execute(`drop role ${me}; drop role ${helper}; drop role ${other}`);
});

async function audit(
  capabilities: readonly Capability[] = [capabilityOf('select id as a from fact')],
): Promise<readonly AccountFinding[]> {
  const database = openPostgres(configOf({ ...server, user: reader, password: 'reader' }));
  try {
    return await database.auditAccount(capabilities);
  } finally {
    await database.close();
  }
}

/** Each with what it is a finding for, and what takes it away. */
const cases: readonly {
  readonly name: string;
  readonly setup: string;
  readonly remedies: readonly string[];
  readonly problem?: string;
  readonly since?: number;
  readonly undo?: string;
}[] = [
  {
    name: 'a function that runs as its owner, which PUBLIC may execute',
    setup: `create function act(n int) returns int language sql security definer as 'select 1'`,
    problem: 'the account may EXECUTE what runs as its owner (SECURITY DEFINER): public.act(integer)',
    remedies: ['REVOKE EXECUTE ON FUNCTION public.act(integer) FROM PUBLIC'],
  },
  {
    name: 'a procedure that runs as its owner, which a role of the account may execute',
    setup: `create procedure "Act"() language sql security definer as 'select 1'; revoke execute on procedure "Act"() from public;
      grant execute on procedure "Act"() to HELPER; grant HELPER to ME`,
    remedies: ['REVOKE EXECUTE ON PROCEDURE public."Act"() FROM HELPER'],
    undo: 'revoke HELPER from ME',
  },
  {
    name: 'many functions that run as their owners, in one finding',
    setup: Array.from(
      { length: 12 },
      (_, n) => `create function act_${n + 10}() returns int language sql security definer as 'select 1'`,
    ).join('; '),
    problem: `the account may EXECUTE what runs as its owner (SECURITY DEFINER): ${Array.from({ length: 10 }, (_, n) => `public.act_${n + 10}()`).join(', ')} and 2 more`,
    remedies: [
      `REVOKE EXECUTE ON FUNCTION ${Array.from({ length: 12 }, (_, n) => `public.act_${n + 10}()`).join(', ')} FROM PUBLIC`,
    ],
  },
  {
    name: 'the functions of dblink',
    setup: 'create schema links; grant usage on schema links to public; create extension dblink schema links',
    remedies: [expect.stringMatching(/^REVOKE EXECUTE ON FUNCTION links\.dblink\(text\), .* FROM PUBLIC$/)],
    undo: 'drop extension dblink; drop schema links',
  },
  {
    name: 'code in an untrusted language',
    setup: `create function raw() returns int language c as '$libdir/dblink', 'dblink_connect'`,
    problem: 'the account may EXECUTE code in the untrusted language c: public.raw()',
    remedies: ['REVOKE EXECUTE ON FUNCTION public.raw() FROM PUBLIC'],
  },
  {
    name: 'REFERENCES on a table and a column',
    setup: 'grant references on fact to ME; grant references (id) on fact to HELPER; grant HELPER to ME',
    remedies: [
      'REVOKE REFERENCES ON TABLE public.fact FROM ME',
      'REVOKE REFERENCES (id) ON TABLE public.fact FROM HELPER',
    ],
    undo: 'revoke HELPER from ME',
  },
  {
    name: 'MAINTAIN on a table',
    since: 170_000,
    setup: 'grant maintain on fact to ME',
    remedies: ['REVOKE MAINTAIN ON TABLE public.fact FROM ME'],
  },
  {
    name: 'a role whose members the account decides upon',
    setup: 'grant OTHER to ME with admin option',
    problem: 'the account may make others members of the role OTHER',
    remedies: ['REVOKE ADMIN OPTION FOR OTHER FROM ME'],
    undo: 'revoke OTHER from ME',
  },
  {
    name: 'a role that somebody else has granted',
    since: 160_000,
    setup: `grant pg_monitor to HELPER with admin option; set role HELPER; grant pg_monitor to ME; reset role`,
    remedies: ['REVOKE pg_monitor FROM ME GRANTED BY HELPER'],
    undo: 'revoke pg_monitor from HELPER',
  },
  {
    name: 'a grant that somebody else has made, and that was granted on',
    setup: `grant insert on fact to HELPER with grant option; set role HELPER; grant insert on fact to ME with grant option; reset role;
      set role ME; grant insert on fact to OTHER; reset role`,
    remedies: ['SET ROLE HELPER; REVOKE INSERT ON TABLE public.fact FROM ME CASCADE; RESET ROLE'],
    undo: 'revoke insert on fact from HELPER cascade',
  },
  {
    name: 'grant options',
    setup: `create schema drawer; grant usage on schema drawer to ME with grant option;
      grant connect on database DATABASE to ME with grant option; create function plain() returns int language sql as 'select 1';
      grant execute on function plain() to ME with grant option; create domain whole as int; grant usage on type whole to ME with grant option;
      grant select (note) on fact to ME with grant option`,
    remedies: [
      'REVOKE GRANT OPTION FOR CONNECT ON DATABASE DATABASE FROM ME',
      'REVOKE GRANT OPTION FOR EXECUTE ON FUNCTION public.plain() FROM ME',
      'REVOKE GRANT OPTION FOR SELECT (note) ON TABLE public.fact FROM ME',
      'REVOKE GRANT OPTION FOR USAGE ON SCHEMA drawer FROM ME',
      'REVOKE GRANT OPTION FOR USAGE ON TYPE public.whole FROM ME',
    ],
    undo: 'drop schema drawer; drop domain whole; revoke select (note) on fact from ME',
  },
  {
    name: 'a language that PUBLIC may not use',
    setup: 'revoke usage on language plpgsql from public; grant usage on language plpgsql to ME',
    remedies: ['REVOKE USAGE ON LANGUAGE plpgsql FROM ME'],
    undo: 'grant usage on language plpgsql to public',
  },
  {
    name: 'the catalog of passwords',
    setup: 'grant select on pg_catalog.pg_authid to ME; grant select on pg_catalog.pg_class to ME',
    problem: 'the account may SELECT from pg_catalog.pg_authid, which the server keeps from others',
    remedies: ['REVOKE SELECT ON TABLE pg_catalog.pg_authid FROM ME'],
    undo: 'revoke select on pg_catalog.pg_class from ME',
  },
  {
    name: 'logins at a foreign server',
    setup: `create foreign data wrapper wrapper; create server remote foreign data wrapper wrapper;
      create user mapping for ME server remote; create user mapping for public server remote`,
    problem: 'the account has a login at the foreign server remote',
    remedies: ['DROP USER MAPPING FOR ME SERVER remote', 'DROP USER MAPPING FOR PUBLIC SERVER remote'],
    undo: 'drop foreign data wrapper wrapper cascade',
  },
  {
    name: 'large objects that are still to be made',
    since: 180_000,
    setup: 'alter default privileges grant select, update on large objects to ME',
    remedies: ['ALTER DEFAULT PRIVILEGES FOR ROLE postgres REVOKE UPDATE ON LARGE OBJECTS FROM ME'],
    undo: 'alter default privileges revoke all on large objects from ME',
  },
];

test.for(cases)(
  'the audit finds $name, and its remedy takes it away',
  async ({ setup, remedies, problem, since = 0, undo }, { skip }) => {
    skip(version < since, 'this server does not have it');
    const named = (text: string): string =>
      text
        .replaceAll(/\bME\b/g, () => me)
        .replaceAll(/\bHELPER\b/g, helper)
        .replaceAll(/\bOTHER\b/g, other)
        .replaceAll(/\bDATABASE DATABASE\b/g, `DATABASE ${server.name}`)
        .replaceAll(/\bdatabase DATABASE\b/g, `database ${server.name}`);
    await server.execute(named(setup));
    try {
      const findings = await audit();
      expect(findings.map(({ remedy }) => remedy)).toEqual(
        remedies.map((remedy) => (typeof remedy === 'string' ? named(remedy) : remedy)),
      );
      if (problem !== undefined) expect(findings[0]?.problem).toBe(named(problem));
      await server.execute(findings.map(({ remedy }) => remedy).join('; '));
      expect(await audit()).toEqual([]);
    } finally {
      if (undo !== undefined) await server.execute(named(undo));
      await server.execute(`do $$ declare f record; begin for f in select p.oid::regprocedure as name from pg_proc p
      where p.pronamespace = 'public'::regnamespace loop execute format('drop routine %s', f.name); end loop; end $$`);
    }
  },
);

test('functions that capabilities call, by name, in views and in policies, are no finding', async () => {
  await server.execute(`
    create function own_id() returns int language sql stable security definer as 'select 1';
    create function own_note() returns text language sql stable security definer as 'select ''x''';
    create function allowed() returns boolean language sql stable security definer as 'select true';
    create function unused() returns int language sql security definer as 'select 1';
    create function fires() returns trigger language plpgsql security definer as 'begin return null; end';
    create view noted as select id, own_note() as note from fact; grant select on noted to ${me};
    alter table fact enable row level security; create policy own on fact using (allowed());
  `);
  const capabilities = ['select own_id() as a', 'select id as a from noted', 'select id as a from fact'].map(
    (sql, index) => capabilityOf(sql, { name: `sample_${index}` }),
  );
  expect((await audit(capabilities)).map(({ remedy }) => remedy)).toEqual([
    'REVOKE EXECUTE ON FUNCTION public.unused() FROM PUBLIC',
  ]);
  await server.execute(
    'drop policy own on fact; drop view noted; drop routine own_id, own_note, allowed, unused, fires',
  );
});

test('a login that a capability reads foreign tables by is no finding', async () => {
  await server.execute(
    `create foreign data wrapper wrapper; create server remote foreign data wrapper wrapper; create user mapping for ${me} server remote`,
  );
  expect(await audit([capabilityOf('select 1 as a', { allowForeignTables: ['public.far'] })])).toEqual([]);
  await server.execute('drop foreign data wrapper wrapper cascade');
});

test('a function in a schema that the account may not use cannot be called', async () => {
  await server.execute(
    `create schema hidden; create function hidden.act() returns int language sql security definer as 'select 1'`,
  );
  expect(await audit()).toEqual([]);
  await server.execute('drop schema hidden cascade');
});

test('the audit of ten thousand tables and five thousand functions takes less than a second', async () => {
  const big = await testDatabase();
  const create = Array.from(
    { length: 20 },
    (_, batch) => `do $$ begin for n in ${batch * 500 + 1}..${batch * 500 + 500} loop
      execute format('create table big.t%s (id int, note text); grant select on big.t%1$s to public', n);
      if n <= 5000 then execute format('create function big.f%s() returns int language sql security definer as ''select 1''', n); end if;
    end loop; end $$`,
  );
  await big.execute('create schema big; grant usage on schema big to public');
  for (const sql of create) await big.execute(sql);
  await big.execute(
    'analyze pg_catalog.pg_class; analyze pg_catalog.pg_attribute; analyze pg_catalog.pg_proc',
  );
  const database = openPostgres(configOf({ ...big, user: reader, password: 'reader' }));
  const capabilities = ['select id as a from big.t1', 'select big.f2() as a from big.t2'].map((sql, index) =>
    capabilityOf(sql, { name: `sample_${index}` }),
  );
  const timed = async <Result>(work: () => Promise<Result>): Promise<readonly [Result, number]> => {
    const start = performance.now();
    return [await work(), performance.now() - start];
  };
  try {
    await database.ping();
    const [findings, audited] = await timed(() => database.auditAccount(capabilities));
    const [notes, described] = await timed(() => database.describeAccount(capabilities));
    expect(findings.at(-1)?.problem).toMatch(/^the account may EXECUTE .* and 4989 more$/);
    expect(notes[1]?.note).toMatch(/^the account has SELECT on .* and 9988 more$/);
    // Five times the promise, for the machine may be busy.
    expect(Math.max(audited, described)).toBeLessThan(5000);
  } finally {
    await database.close();
  }
}, 120_000);
