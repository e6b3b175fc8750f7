import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { testDatabase, type TestDatabase } from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createReader, prepareChecks, type Account, type Checks } from './checked-sql.testing.ts';

let database: TestDatabase;
let reader: string;
let account: Account;
let checks: Checks;
beforeAll(async () => {
  database = await testDatabase({ sql: ['create table book (id int primary key, title text not null)'] });
  account = await createReader(database);
  checks = await prepareChecks(database);
  reader = account.name;
});
afterAll(() => Promise.all([account.drop(), checks.remove()]));

describe('the account', { tags: ['sql:audit', 'file:database.require_readonly_account'] }, () => {
  const capabilities = { get: { sql: 'select id as a from book', result: { a: { type: 'integer' } } } };
  const asReader = (): Record<string, unknown> => ({ user: reader, password: 'reader' });
  const attempt = async (sql: string): Promise<boolean> =>
    await database.execute(`begin; set local role ${reader}; ${sql}; rollback`).then(
      () => true,
      () => false,
    );

  test('that may only read has no finding', async () => {
    const { code, findings } = await checks.check(capabilities, {
      ...asReader(),
      require_readonly_account: true,
    });
    expect({ code, findings }).toEqual({ code: 0, findings: [] });
  });

  test('each danger is reported with the statement that removes it', async () => {
    const db = database.name;
    const writer = (await database.version()) >= 140_000 ? 'pg_write_all_data' : 'pg_write_server_files';
    await database.execute(`
      create sequence counter;
      create schema drawer;
      create role ${reader}_team;
      grant ${reader}_team to ${reader};
      grant delete on book to ${reader}_team;
      create foreign data wrapper wrapper;
      create server remote foreign data wrapper wrapper;
      alter role ${reader} createdb createrole replication bypassrls;
      grant ${writer}, pg_signal_backend, pg_execute_server_program to ${reader};
      grant insert, update, truncate on book to ${reader};
      grant update (title) on book to public;
      grant usage, update on sequence counter to ${reader};
      grant create on schema drawer to ${reader};
      grant create on schema public to public;
      grant create, temporary on database ${db} to ${reader};
      grant usage on foreign server remote to ${reader};
      grant usage on foreign data wrapper wrapper to ${reader};
    `);
    const remedies = [
      `ALTER ROLE ${reader} NOBYPASSRLS`,
      `ALTER ROLE ${reader} NOCREATEDB`,
      `ALTER ROLE ${reader} NOCREATEROLE`,
      `ALTER ROLE ${reader} NOREPLICATION`,
      `REVOKE ${writer} FROM ${reader}`,
      `REVOKE pg_signal_backend FROM ${reader}`,
      `REVOKE pg_execute_server_program FROM ${reader}`,
      `REVOKE INSERT, TRUNCATE, UPDATE ON TABLE public.book FROM ${reader}`,
      `REVOKE DELETE ON TABLE public.book FROM ${reader}_team`,
      'REVOKE UPDATE (title) ON TABLE public.book FROM PUBLIC',
      `REVOKE UPDATE, USAGE ON SEQUENCE public.counter FROM ${reader}`,
      `REVOKE CREATE ON SCHEMA drawer FROM ${reader}`,
      'REVOKE CREATE ON SCHEMA public FROM PUBLIC',
      `REVOKE CREATE, TEMPORARY ON DATABASE ${db} FROM ${reader}`,
      `REVOKE USAGE ON FOREIGN SERVER remote FROM ${reader}`,
      `REVOKE USAGE ON FOREIGN DATA WRAPPER wrapper FROM ${reader}`,
    ];
    const dangers = [
      "insert into book values (7, 'x')",
      'delete from book',
      'truncate book',
      "select nextval('counter')",
      'create table drawer.x ()',
      'create table public.x ()',
      'create schema other',
      'create temporary table t ()',
    ];
    for (const sql of dangers) expect([sql, await attempt(sql)]).toEqual([sql, true]);

    const { code, findings, output } = await checks.check(capabilities, asReader());
    expect(code).toBe(0);
    expect(findings.map(({ remedy }) => remedy).toSorted()).toEqual(remedies.toSorted());
    expect(findings.every(({ level }) => level === 'warn')).toBe(true);
    expect(output).toContain(remedies[0]);
    const required = await checks.check(capabilities, { ...asReader(), require_readonly_account: true });
    expect(required.code).toBe(2);

    await database.execute(findings.map(({ remedy }) => remedy).join(';\n'));
    const corrected = await checks.check(capabilities, { ...asReader(), require_readonly_account: true });
    expect({ code: corrected.code, findings: corrected.findings }).toEqual({ code: 0, findings: [] });
    for (const sql of dangers) expect([sql, await attempt(sql)]).toEqual([sql, false]);
    await database.execute(`drop owned by ${reader}_team; drop role ${reader}_team`);
  });

  test('what is lacking is told with its GRANT by every command, and by a start in the log alone', async () => {
    await database.execute(
      'create table vault (id int); create schema "Odd drawer"; create view "Odd drawer".v as select 1 as a',
    );
    const lacking = {
      vault: { sql: 'select id as a from vault', result: { a: { type: 'integer' } } },
      odd: { sql: 'select a from "Odd drawer".v', result: { a: { type: 'integer' } } },
    };
    const grants = [
      `GRANT SELECT ON public.vault TO ${reader}`,
      `GRANT USAGE ON SCHEMA "Odd drawer" TO ${reader}; GRANT SELECT ON "Odd drawer".v TO ${reader}`,
    ];
    const checked = await checks.check(lacking, asReader());
    expect(checked.code).toBe(2);
    for (const grant of grants) expect(checked.output).toContain(`; to grant it: ${grant}\n`);
    const json = await checks.run(['check', '--json']);
    expect(JSON.parse(json.stdout)).toMatchObject({ faults: grants.map((remedy) => ({ remedy })) });
    expect((await checks.run(['try', 'vault'])).stderr).toContain(`; to grant it: ${String(grants[0])}\n`);

    const started = await checks.run([]);
    expect(started.code).toBe(2);
    expect(started.stderr).toContain('the account may not read something that it names');
    expect(started.stderr).not.toMatch(/GRANT|vault TO|Odd drawer/);
    for (const grant of grants)
      expect(await checks.logText()).toContain(JSON.stringify(`to grant it: ${grant}`).slice(1, -1));

    await checks.check(capabilities, asReader());
    await writeFile(join(checks.folder, 'more.sql'), 'select id from vault');
    const added = await checks.run(['add', 'more', '--sql-file', 'more.sql']);
    expect(added.stderr).toContain(`; to grant it: ${String(grants[0])}\n`);

    await database.execute(grants.join('; '));
    expect((await checks.check(lacking, asReader())).code).toBe(0);
    await database.execute('drop table vault; drop schema "Odd drawer" cascade');
  });

  test('what it can read that no capability reads is told, and is no fault', async () => {
    await database.execute(`create table unread (id int); grant select on unread to ${reader}`);
    const strict = { ...asReader(), require_readonly_account: true };
    const { code, findings, output } = await checks.check(capabilities, strict);
    expect({ code, findings }).toEqual({ code: 0, findings: [] });
    expect(output).toMatch(/^note: like every account .*\(lo_create\)/m);
    const remedy = `REVOKE SELECT ON public.unread FROM ${reader}`;
    expect(output).toContain(
      `note: the account has SELECT on what no capability names: public.unread; to take it away: ${remedy}\n`,
    );
    const report: { readonly notes: readonly unknown[] } = JSON.parse(
      (await checks.run(['check', '--json'])).stdout,
    );
    expect(report.notes).toContainEqual(expect.objectContaining({ remedy }));
    await database.execute(remedy);
    expect((await checks.check(capabilities, strict)).output).not.toContain('unread');
    await database.execute('drop table unread');
  });

  test.each([
    ['of a superuser', 'alter role reader superuser', 'alter role reader nosuperuser', 'has the attribute'],
    ['of an owner', 'alter table book owner to reader', 'alter table book owner to postgres', 'owns table'],
  ])('%s is told to use another, and how to make it', async (_who, make, unmake, problem) => {
    await database.execute(make.replace('reader', reader));
    const { findings, output } = await checks.check(capabilities, asReader());
    expect(findings.map((finding) => finding.problem.includes(problem))).toEqual([true]);
    const remedy = findings[0]?.remedy ?? '';
    expect(remedy).toMatch(
      /^use another account: CREATE ROLE (svc_reader\w*) LOGIN; GRANT CONNECT ON DATABASE \w+ TO \1; GRANT USAGE ON SCHEMA public TO \1; GRANT SELECT ON public.book TO \1; /,
    );
    expect(output).toContain(remedy);
    expect(output).not.toMatch(/NOSUPERUSER|OWNER TO/);
    await database.execute(unmake.replace('reader', reader));
  });
});
