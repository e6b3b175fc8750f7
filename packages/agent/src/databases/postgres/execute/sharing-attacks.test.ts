import { describe, expect, test } from 'vitest';
import { capabilityOf, callOf, textOfRows } from '../capability.fixture.ts';
import { ids, inShared, openSharing, sharingCalls, type Asked } from './sharing.fixture.ts';

/** Each tenant has three notes. */
const SCHEMA = `
  create table note (id int primary key, tenant text not null);
  insert into note select i, 'tenant ' || i % 2 from generate_series(0, 5) i;
  create table other (id int primary key, tenant text not null);
  insert into other select i, 'other' from generate_series(0, 5) i;
  create table written (text text);
`;
const POLICY = `create policy own on note using (tenant = current_setting('svc.api_key_name', true))`;
const NOTES = 'select id as a, tenant as b from note where id >= :id order by id';
const OPTIONS = {
  params: { id: { type: 'integer' } },
  result: { a: 'integer', b: 'string' },
  trainedBy: { id: 0 },
} as const;

/** As many calls of each of two tenants. */
function ofTenants(count: number): readonly Asked[] {
  return Array.from({ length: 2 * count }, (_, index) => ({
    values: { id: 0 },
    changes: { apiKeyName: `tenant ${index % 2}` },
  }));
}

function notesOf(tenant: number): string {
  const rows = [0, 2, 4].map((id) => ({ a: id + tenant, b: `tenant ${tenant}` }));
  return JSON.stringify(rows);
}

const ALL = JSON.stringify(Array.from({ length: 6 }, (_, id) => ({ a: id, b: `tenant ${id % 2}` })));

describe('a table that changes between shared transactions', () => {
  test.each([
    ['gets row-level security', `${POLICY}; alter table note enable row level security`],
    [
      'gets a view in its place',
      `alter table note rename to kept; grant select on kept to public;
       create view note as select * from kept where tenant = current_setting('svc.api_key_name', true)`,
    ],
    [
      'is swapped for another with row-level security',
      `alter table note rename to gone; create table note as select * from gone; grant select on note to public;
       ${POLICY}; alter table note enable row level security`,
    ],
    [
      'becomes a partition of a table of its name with row-level security',
      `alter table note rename to part; create table note (like part) partition by list (tenant);
       alter table note attach partition part default;
       ${POLICY}; alter table note enable row level security`,
    ],
  ])('that %s: no call is answered as if it were another caller', async (_title, change) => {
    const opened = await openSharing(SCHEMA);
    const calls = await sharingCalls(opened, NOTES, OPTIONS);
    expect(new Set(await inShared(opened, calls, ofTenants(4)))).toEqual(new Set([ALL]));
    await opened.server.execute(`${change}; grant select on note to public`);
    const before = { ...opened.database.transactions };
    for (let round = 0; round < 20; round += 1) {
      const answers = await calls.together(ofTenants(4));
      expect(answers).toEqual(ofTenants(4).map((_, index) => notesOf(index % 2)));
    }
    expect(opened.database.transactions.sharedCalls).toBe(before.sharedCalls);
    expect(opened.database.transactions.sharedResends).toBeGreaterThan(before.sharedResends);
    expect(opened.ended).toEqual(['sample']);
  });

  test('that is swapped for another is read there, and shared again once it is judged again', async () => {
    const opened = await openSharing(SCHEMA);
    const calls = await sharingCalls(opened, NOTES, OPTIONS);
    await opened.server.execute(
      'begin; alter table note rename to x; alter table other rename to note; commit',
    );
    const last = ids(4).map(() => ({ values: { id: 5 } }));
    const expected = new Set(['[{"a":5,"b":"other"}]']);
    const before = opened.database.transactions.sharedCalls;
    while (opened.ended.length === 0) expect(new Set(await calls.together(last))).toEqual(expected);
    expect(opened.database.transactions.sharedCalls).toBe(before);
    const again = await sharingCalls(opened, NOTES, OPTIONS);
    expect(new Set(await inShared(opened, again, last))).toEqual(expected);
    expect(opened.ended).toEqual(['sample']);
  });

  test('that another is put before on the search path is read there by all, together or alone', async () => {
    const opened = await openSharing(SCHEMA);
    const calls = await sharingCalls(opened, NOTES, OPTIONS);
    await inShared(opened, calls, ofTenants(2));
    const role = `${opened.server.name}_reader`;
    await opened.server.execute(`create schema ${role}; grant usage on schema ${role} to ${role};
      create table ${role}.note as table other; grant select on ${role}.note to ${role}`);
    const last = ids(4).map(() => ({ values: { id: 5 } }));
    for (let round = 0; round < 20 || opened.ended.length === 0; round += 1) {
      const answers = [...(await calls.together(last)), ...(await calls.together(last.slice(3)))];
      expect(new Set(answers)).toEqual(new Set(['[{"a":5,"b":"other"}]']));
    }
    expect(opened.ended).toEqual(['sample']);
  });

  test('that gets and loses row-level security while calls run: who sees that it is on sees only its own rows', async () => {
    const opened = await openSharing(
      `${SCHEMA}; ${POLICY}; create table state (is_on bool); insert into state values (false)`,
      { maxConnections: 2 },
    );
    const sql = `select n.id as a, n.tenant as b, s.is_on as c from note n, state s where n.id >= :id order by n.id`;
    const options = { ...OPTIONS, result: { ...OPTIONS.result, c: 'boolean' } } as const;
    let seenOn = 0;
    let seenOff = 0;
    for (let round = 0; round < 30; round += 1) {
      const calls = await sharingCalls(opened, sql, options);
      let isChanged = false;
      const running = (async () => {
        for (let after = 0; after < 3;) {
          if (isChanged) after += 1;
          const asked = ofTenants(4);
          for (const [index, answer] of (await calls.together(asked)).entries()) {
            const rows: readonly { readonly b: string; readonly c: boolean }[] = JSON.parse(answer);
            const isOn = rows[0]?.c;
            expect(rows).toHaveLength(isOn === true ? 3 : 6);
            if (isOn === true)
              expect(new Set(rows.map(({ b }) => b))).toEqual(new Set([`tenant ${index % 2}`]));
            if (isOn === true) seenOn += 1;
            else seenOff += 1;
          }
        }
      })();
      const change =
        'begin; alter table note enable row level security; update state set is_on = true; commit';
      await opened.server.execute(change).finally(() => {
        isChanged = true;
      });
      await running;
      await opened.server.execute(
        'begin; alter table note disable row level security; update state set is_on = false; commit',
      );
    }
    expect(seenOn).toBeGreaterThan(100);
    expect(seenOff).toBeGreaterThan(100);
    expect(opened.database.transactions.sharedCalls).toBeGreaterThan(50);
  });

  test('that becomes a view by a rule, before PostgreSQL 16, ends its sharing', async ({ skip }) => {
    const opened = await openSharing(`${SCHEMA}; create table empty (id int, tenant text)`);
    if ((await opened.server.version()) >= 160_000) skip('PostgreSQL 16 and later refuses such a rule');
    const calls = await sharingCalls(opened, NOTES.replace('note', 'empty'), OPTIONS);
    await inShared(opened, calls, ofTenants(2));
    await opened.server.execute(`create rule "_RETURN" as on select to empty do instead
      select id, tenant from note where tenant = current_setting('svc.api_key_name', true)`);
    await opened.server.execute(`grant select on all tables in schema public to public`);
    for (let round = 0; round < 5 || opened.ended.length === 0; round += 1) {
      expect(await calls.together(ofTenants(2))).toEqual([0, 1, 0, 1].map(notesOf));
    }
    expect(opened.ended).toEqual(['sample']);
  });
});

describe('a function that is planted after the verification', () => {
  const LIES = `
    create function lies(int) returns bool language plpgsql immutable as $$ begin
      perform set_config('default_transaction_read_only', 'off', false);
      begin insert into written values ('by lies'); exception when others then null; end;
      return true;
    end $$;
    create function turns(int) returns bool language plpgsql immutable as $$ begin
      perform set_config('search_path', 'evil, pg_catalog', false);
      return true;
    end $$;
    create schema evil;
    grant insert on written to public; grant usage on schema evil to public;
  `;

  test.each([
    ['an index', 'create index on note (id) where lies(1)'],
    ['an index of an expression', 'create index on note (lies(id))'],
    ['statistics', 'create statistics planted (dependencies) on id, tenant from note; analyze note'],
    ['a CHECK', 'alter table note add check (lies(id))'],
  ])('in %s writes nothing, and nothing stays of it', async (_title, plant) => {
    const opened = await openSharing(`${SCHEMA} ${LIES}`);
    const calls = await sharingCalls(opened, NOTES, OPTIONS);
    await inShared(opened, calls, ofTenants(2));
    await opened.server.execute(plant);
    await opened.server.execute('delete from written');
    for (let round = 0; round < 10; round += 1) {
      expect(new Set(await calls.together(ofTenants(4)))).toEqual(new Set([ALL]));
    }
    expect(await opened.server.query('select * from written')).toEqual([]);
    const look = capabilityOf("select current_setting('default_transaction_read_only') as a", {
      result: { a: 'string' },
    });
    const [query] = (await opened.database.verify([look])).prepared;
    if (query === undefined) throw new Error('not verified');
    const read = await opened.database.prepare(query).run(callOf());
    expect(textOfRows(read)).toBe('[{"a":"off"}]');
  });

  test('that turns the search path answers no call by a shared transaction', async () => {
    const opened = await openSharing(`${SCHEMA} ${LIES}`);
    const calls = await sharingCalls(opened, NOTES.replace('where', 'where id <> 77 and'), OPTIONS);
    await inShared(opened, calls, ofTenants(2));
    await opened.server.execute('create index on note (id) where turns(1)');
    const before = opened.database.transactions.sharedCalls;
    for (let round = 0; round < 10; round += 1) {
      expect(new Set(await calls.together(ofTenants(4)))).toEqual(new Set([ALL]));
    }
    expect(opened.database.transactions.sharedCalls).toBe(before);
    expect(opened.ended).toEqual(['sample']);
  });

  test('and operators and overloads that fit better change no answer, on new connections neither', async () => {
    const opened = await openSharing(SCHEMA.replaceAll('text not null', 'varchar(20) not null'));
    const sql =
      "select id as a, lower(tenant) as b from note where tenant = lower('TENANT 1') and id >= :id order by id";
    const calls = await sharingCalls(opened, sql, OPTIONS);
    const expected = new Set([notesOf(1)]);
    expect(new Set(await inShared(opened, calls, ofTenants(2)))).toEqual(expected);
    await opened.server.execute(`
      create function yes(varchar, text) returns bool language sql immutable as 'select true';
      create operator public.= (leftarg = varchar, rightarg = text, function = yes);
      create function public.lower(varchar) returns text language sql immutable as $$ select 'other' $$;
    `);
    expect(new Set(await inShared(opened, calls, ofTenants(2)))).toEqual(expected);
    await opened.server.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'svc-agent'",
    );
    expect(new Set(await inShared(opened, calls, ofTenants(2)))).toEqual(expected);
  });
});

test('a foreign child that writes when it is read leaves nothing in the other database', async () => {
  const opened = await openSharing(SCHEMA);
  const { server } = opened;
  const calls = await sharingCalls(opened, NOTES, OPTIONS);
  await inShared(opened, calls, ofTenants(2));
  await server.execute(`
    create function writes() returns int language plpgsql as $$ begin
      insert into public.written values ('by the child');
      return 6;
    end $$;
    create view far_away as select writes() as id, 'far'::text as tenant;
    create extension postgres_fdw;
    create server loop foreign data wrapper postgres_fdw
      options (host '${server.host}', port '${server.port}', dbname '${server.name}');
    create user mapping for public server loop options (user '${server.user}', password '${server.password}');
    create foreign table far (id int not null, tenant text not null) server loop options (table_name 'far_away');
    alter foreign table far inherit note;
  `);
  const expected = JSON.stringify([...JSON.parse(ALL), { a: 6, b: 'far' }]);
  for (let round = 0; round < 10; round += 1) {
    expect(new Set(await calls.together(ofTenants(4)))).toEqual(new Set([expected]));
  }
  expect(await server.query('select * from written')).toEqual([]);
});

test('statements that an earlier call prepared under the names of a session write nothing', async () => {
  const opened = await openSharing(`${SCHEMA} grant insert on written to public;
    create function usurp() returns int language plpgsql stable as $$ declare name text; begin
      for name in select p.name from pg_prepared_statements p loop
        execute format('deallocate %I', name);
        execute format('prepare %I as insert into written values (''usurped'') returning 1', name);
      end loop;
      return 1;
    end $$;`);
  const calls = await sharingCalls(opened, NOTES, OPTIONS);
  const { prepared } = await opened.database.verify([
    capabilityOf('select usurp() as a', { name: 'usurp', allowFunctions: ['usurp'] }),
  ]);
  const [usurping] = prepared;
  if (usurping === undefined) throw new Error('not verified');
  const query = opened.database.prepare(usurping);
  for (let round = 0; round < 20; round += 1) {
    await query.run(callOf()).catch(() => {});
    expect(new Set(await calls.together(ofTenants(4)))).toEqual(new Set([ALL]));
  }
  expect(await opened.server.query('select * from written')).toEqual([]);
});

test('a migration that locks in the opposite order meets no deadlock', async () => {
  const opened = await openSharing(SCHEMA);
  const first = await sharingCalls(opened, NOTES, { ...OPTIONS, name: 'first' });
  const second = await sharingCalls(opened, NOTES.replace('note', 'other'), { ...OPTIONS, name: 'second' });
  const migrations = Array.from({ length: 20 }, async () => {
    await opened.server.execute(
      'begin; lock table other; select pg_sleep(0.02); lock table note; select pg_sleep(0.01); commit',
    );
  });
  let over = false;
  const migrating = Promise.all(migrations).finally(() => {
    over = true;
  });
  while (!over) {
    const [some, others] = await Promise.all([first.together(ofTenants(2)), second.together(ofTenants(2))]);
    expect(new Set(some)).toEqual(new Set([ALL]));
    expect(others).not.toContain('failed');
  }
  await expect(migrating).resolves.toHaveLength(20);
});

test("10,000 calls of two tenants under row-level security among those that share: no row is another's", async () => {
  const opened = await openSharing(`${SCHEMA}; ${POLICY}; alter table note enable row level security`, {
    maxConnections: 2,
  });
  const blind = await sharingCalls(opened, NOTES.replace('note', 'other'), OPTIONS);
  const { prepared } = await opened.database.verify([capabilityOf(NOTES, { ...OPTIONS, name: 'own' })]);
  const [own] = prepared;
  if (own === undefined) throw new Error('not verified');
  expect(own.transaction).toEqual({ form: 'own', reason: 'row_security' });
  const query = opened.database.prepare(own);
  const before = opened.database.transactions.sharedCalls;
  for (let calls = 0; calls < 10_000; calls += 8) {
    const asked = ofTenants(4);
    const [answers] = await Promise.all([
      Promise.all(asked.map(({ values, changes }) => query.run(callOf(values, changes)).then(textOfRows))),
      blind.together(ids(8).map(() => ({ values: { id: 5 } }))),
    ]);
    expect(answers).toEqual(asked.map((_, index) => notesOf(index % 2)));
  }
  expect(opened.database.transactions.sharedCalls - before).toBeGreaterThan(5000);
});
