import { randomUUID } from 'node:crypto';
import { chmod, copyFile, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  databaseUrl,
  runProcess,
  serverAccount,
  startPostgres,
  SVC_AGENT,
  SVC_GATEWAY,
  temporaryFolder,
  type Postgres,
  type TemporaryFolder,
} from '@svc/testkit';
import { SAMPLES } from './samples/samples.ts';

// A server of its own, whose log has every statement.
let server: Postgres;
let folder: TemporaryFolder;
let agent: string;
beforeAll(async () => {
  server = await startPostgres({ settings: { log_statement: 'all' } });
  for (const { name, sql } of SAMPLES) {
    await server.createDatabase(name);
    await server.execute(name, sql);
  }
});
afterAll(() => server.stop());
beforeEach(async () => {
  folder = await temporaryFolder('init');
  agent = join(folder.path, 'svc-agent');
  await copyFile(SVC_AGENT, agent);
});
afterEach(() => folder.remove());

interface Run {
  readonly database?: string;
  readonly env?: Readonly<Record<string, string>>;
}

function run(
  args: readonly string[],
  { database = 'pagila', env = { DATABASE_URL: databaseUrl(server, database) } }: Run = {},
): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }> {
  return runProcess(process.execPath, [agent, ...args], { cwd: folder.path, env });
}

async function written(): Promise<readonly string[]> {
  const names = await readdir(folder.path, { recursive: true });
  return names.filter((name) => name !== 'svc-agent').toSorted();
}

async function text(path: string): Promise<string> {
  return await readFile(join(folder.path, 'capability', path), 'utf8');
}

/** What the server has logged since; it keeps the end of its log alone, so a statement marks the place. */
async function logSince(): Promise<() => string> {
  const mark = `mark ${randomUUID()}`;
  await server.execute('postgres', `select '${mark}'`);
  return () => server.output().split(mark).at(-1) ?? '';
}

async function dropAccount(database: string): Promise<void> {
  const role = `svc_reader_${database}`;
  await server.execute(database, `drop owned by ${role}; drop role ${role}`);
}

test.for(SAMPLES.map(({ name }) => name))(
  'init proposes capabilities for %s that pass check, and reads no row',
  { tags: ['command:init', 'command:init.catalogs'] },
  async (database) => {
    const logged = await logSince();
    const { code, stderr, stdout } = await run(['init'], { database });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('no row was read');
    const log = logged();
    expect(log).toContain('begin transaction read only');
    for (const table of ['film', 'Track', 'order_details', 'tenant_note']) expect(log).not.toContain(table);
    expect(log).not.toMatch(/most_common|histogram/);

    await server.execute(database, await text('reader.sql'));
    const password = (await text('secrets/db-password')).trimEnd();
    await server.execute(database, `alter role svc_reader_${database} password '${password}'`);
    const check = await run(['check', '--config', 'capability/capability.yaml'], { env: {} });
    expect(check).toMatchObject({ code: 0, stderr: '' });
    await dropAccount(database);
  },
);

test(
  'init writes what is secret for its owner alone, and names it in .gitignore',
  { tags: ['command:init', 'command:init.files'] },
  async () => {
    expect((await run(['init'])).code).toBe(0);
    expect(await written()).toEqual(
      [
        'capability',
        ...[
          '.env.example',
          '.gitignore',
          'capability.yaml',
          'gateway.env',
          'reader.sql',
          'secrets',
          'secrets/agent-key',
          'secrets/db-password',
        ].map((name) => `capability/${name}`),
      ].toSorted(),
    );
    for (const secret of ['gateway.env', 'secrets/agent-key', 'secrets/db-password']) {
      expect((await stat(join(folder.path, 'capability', secret))).mode & 0o777).toBe(0o600);
    }
    expect((await text('.gitignore')).split('\n')).toEqual(
      expect.arrayContaining(['secrets/', 'gateway.env', '.env']),
    );
    const command = /svc-gateway (create-key .*?) prints/.exec(await text('gateway.env'))?.[1] ?? '';
    expect((await runProcess('/bin/sh', ['-c', `${SVC_GATEWAY} ${command}`])).code).toBe(0);
    const password = (await text('secrets/db-password')).trimEnd();
    for (const file of ['capability.yaml', 'reader.sql', '.env.example', 'gateway.env', '.gitignore']) {
      const content = await text(file);
      expect(content).not.toContain(password);
      expect(content).not.toContain(server.password);
    }
  },
);

test(
  'init writes nothing where one of its files is there already',
  { tags: ['command:init', 'command:init.files'] },
  async () => {
    expect((await run(['init'])).code).toBe(0);
    const before = await text('capability.yaml');
    const again = await run(['init', '--json']);
    expect(again.code).toBe(2);
    expect(again.stderr).toContain('nothing was written');
    expect(JSON.parse(again.stdout)).toMatchObject({ ok: false });
    expect(await text('capability.yaml')).toBe(before);
    expect((await readdir(folder.path)).toSorted()).toEqual(['capability', 'svc-agent']);
  },
);

test(
  'init --create-account makes an account that passes check, once',
  { tags: ['command:init', 'command:init.create-account'] },
  async () => {
    const logged = await logSince();
    const { code, stdout, stderr } = await run(['init', '--create-account', '--yes', '--json']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const report: unknown = JSON.parse(stdout);
    expect(report).toMatchObject({
      ok: true,
      account: { name: 'svc_reader_pagila', created: true },
      check: { faults: [], findings: [{ problem: expect.stringContaining('TEMPORARY') }] },
    });
    expect(logged()).not.toContain((await text('secrets/db-password')).trimEnd());
    expect(logged()).not.toMatch(/: revoke/i);
    expect(await run(['check', '--config', 'capability/capability.yaml'])).toMatchObject({ code: 0 });

    const again = await run(['init', '--create-account', '--yes', '--dir', 'other']);
    expect(again.code).toBe(2);
    expect(again.stderr).toContain('svc_reader_pagila already exists');
    expect((await readdir(folder.path)).filter((name) => name.includes('other'))).toEqual([]);
    await dropAccount('pagila');
  },
);

test(
  'init --create-account whose check fails says what to do, and keeps what the database said',
  { tags: ['command:init', 'command:init.create-account'] },
  async () => {
    // It counts for the new account alone: the other one is a superuser.
    await server.createDatabase('closed');
    await server.execute(
      'closed',
      'create table shelf (shelf_id int primary key); alter database closed connection limit 0',
    );
    const { code, stdout, stderr } = await run(['init', '--create-account', '--yes', '--log', 'init.log'], {
      database: 'closed',
    });
    expect(code).toBe(2);
    expect(stdout).toContain('account: svc_reader_closed was created');
    expect(stdout).toContain('check: fails');
    const next = stdout.slice(stdout.indexOf('Next:')).trimEnd().split('\n');
    expect(next).toEqual([
      'Next:',
      expect.stringContaining('do not run init again'),
      '  svc-agent check --config capability/capability.yaml',
      '  svc-agent dev --config capability/capability.yaml',
    ]);
    expect(stderr).toMatch(/^capability\/capability\.yaml {2}database: cannot use the database: /);
    expect(stderr).toMatch(/^Details: init\.log$/m);
    expect(await readFile(join(folder.path, 'init.log'), 'utf8')).toContain(
      'too many connections for database',
    );
    await dropAccount('closed');
  },
);

test(
  'init in a folder that cannot be written says how to see the details',
  { tags: ['command:init'] },
  async () => {
    const account = await serverAccount();
    const owned = account === undefined ? {} : { owner: account };
    const home = await temporaryFolder('init-read-only', owned);
    const program = join(home.path, 'svc-agent');
    await copyFile(SVC_AGENT, program);
    await chmod(home.path, 0o555);
    const as = account === undefined ? {} : { uid: account.uid, gid: account.gid };
    const env = { DATABASE_URL: 'postgres://u:p@127.0.0.1:1/d' };
    const { code, stderr } = await runProcess(process.execPath, [program, 'init'], {
      cwd: home.path,
      env,
      ...as,
    });
    await chmod(home.path, 0o755);
    await home.remove();
    expect(code).toBe(2);
    expect(stderr).toContain('nothing listens');
    expect(stderr).toMatch(/^Details: .*--log FILE/m);
    expect(stderr).not.toContain('has the details');
  },
);

test(
  'init --create-account needs --yes without a terminal, and leaves nothing behind where it may not',
  { tags: ['command:init', 'command:init.create-account'] },
  async () => {
    const without = await run(['init', '--create-account']);
    expect(without.code).toBe(2);
    expect(without.stderr).toContain('`--yes`');
    await server.execute('pagila', "create role plain login password 'plain'");
    const url = databaseUrl({ ...server, user: 'plain', password: 'plain' }, 'pagila');
    const plain = await run(['init', '--create-account', '--yes'], { env: { DATABASE_URL: url } });
    expect(plain.code).toBe(1);
    expect(plain.stderr).toContain('may not create roles');
    expect(await written()).toEqual([]);
    await server.execute('pagila', 'drop role plain');
  },
);

test(
  'init --dry-run prints what it would write, and writes nothing',
  { tags: ['command:init', 'command:init.files'] },
  async () => {
    const { code, stdout } = await run(['init', '--dry-run', '--json', '--tables', 'film*', '--max', '3']);
    expect(code).toBe(0);
    const report: { readonly capabilities: readonly string[]; readonly files: readonly { path: string }[] } =
      JSON.parse(stdout);
    expect(report.capabilities).toEqual(['get_film', 'list_film', 'get_film_actor']);
    expect(report.files.find(({ path }) => path === 'capability.yaml')).toHaveProperty('text');
    expect(report.files.find(({ path }) => path === 'secrets/db-password')).not.toHaveProperty('text');
    expect(await written()).toEqual([]);
  },
);

test(
  'init leaves out what looks personal or secret, and includes it when told',
  { tags: ['command:init', 'command:init.personal'] },
  async () => {
    const fields = async (...args: readonly string[]): Promise<string> =>
      (await run(['init', '--dry-run', '--tables', 'staff', ...args])).stdout;
    const left = await fields();
    expect(left).toContain('# Left out: column password (looks secret: its name has "password")');
    expect(left).not.toMatch(/t\.(?:password|email)/);
    expect(left).not.toMatch(/GRANT SELECT.*"(?:password|email)"/);
    const included = await fields('--include', 'staff.email');
    expect(included).toMatch(/t\.email/);
    expect(included).toMatch(/GRANT SELECT.*"email"/);
    expect((await run(['init', '--include', 'staff.emial'])).code).toBe(2);
  },
);

test.for([
  ['no database', ['init'], { env: {} }, 'DATABASE_URL'],
  ['another kind of database', ['init'], { env: { DATABASE_URL: 'oracle://h/d' } }, 'postgres://'],
  ['a gateway without TLS', ['init', '--gateway-url', 'ws://gateway.example.com/ws/agent'], {}, 'wss://'],
  ['no capability at all', ['init', '--max', '0'], {}, '--max'],
  ['a schema that is not there', ['init', '--schema', 'publc'], {}, '--schema "publc"'],
  [
    'a server that is not there',
    ['init'],
    { env: { DATABASE_URL: 'postgres://u:p@127.0.0.1:1/d' } },
    'nothing listens',
  ],
] as const)('init refuses %s with exit code 2', { tags: ['command:init'] }, async ([, args, how, says]) => {
  const { code, stderr } = await run(args, how);
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(says) });
  expect(await written()).toEqual([]);
});

test(
  'init leaves out what cannot be read, with its reason, so that its file passes',
  { tags: ['command:init', 'command:init.catalogs'] },
  async () => {
    await server.createDatabase('unread');
    await server.execute(
      'unread',
      `create table product (id int primary key, name text not null);
       create materialized view by_category as select id, name from product with no data;
       create unique index on by_category (id);
       create table broken (id int primary key, name text not null);
       create function acts() returns boolean language plpgsql as 'begin return true; end';
       alter table broken enable row level security;
       create policy odd on broken using (acts())`,
    );
    const made = await run(['init', '--create-account', '--yes', '--json'], { database: 'unread' });
    expect(made).toMatchObject({ code: 0, stderr: '' });
    const reason = 'it has no rows until this is run: REFRESH MATERIALIZED VIEW public.by_category';
    const report: unknown = JSON.parse(made.stdout);
    expect(report).toMatchObject({
      ok: true,
      capabilities: ['get_product', 'list_product', 'search_product'],
      left_out: expect.arrayContaining([
        { table: 'public.by_category', unreadable: true, reason },
        {
          table: 'public.broken',
          capability: 'get_broken',
          reason: expect.stringMatching(/^its check failed: it /),
        },
      ]),
    });
    expect(await text('capability.yaml')).toContain(`Left out: all of it (${reason})`);
    const check = await run(['check', '--config', 'capability/capability.yaml'], { env: {} });
    expect(check).toMatchObject({ code: 0, stderr: '' });
    await dropAccount('unread');
    const only = await run(['init', '--dry-run', '--tables', 'by_category'], { database: 'unread' });
    expect(only).toMatchObject({ code: 2, stderr: expect.stringContaining(reason) });
  },
);

test('init says that a database is empty', { tags: ['command:init'] }, async () => {
  await server.createDatabase('empty');
  const { code, stderr } = await run(['init'], { database: 'empty' });
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('has no table and no view') });
});

test('init takes PG* variables, and warns of --url', { tags: ['command:init'] }, async () => {
  const { host, port, user, password } = server;
  const env = {
    PGHOST: host,
    PGPORT: String(port),
    PGUSER: user,
    PGPASSWORD: password,
    PGDATABASE: 'chinook',
  };
  const byVariables = await run(['init', '--dry-run'], { env });
  expect(byVariables).toMatchObject({ code: 0, stderr: '' });
  expect(byVariables.stdout).toContain('get_playlist_track:');
  const byFlag = await run(['init', '--dry-run', '--url', databaseUrl(server, 'northwind')], { env: {} });
  expect(byFlag.code).toBe(0);
  expect(byFlag.stderr).toContain('list of processes');
});
