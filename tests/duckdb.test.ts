import { copyFile, mkdir, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import {
  ask,
  createAgentSecret,
  createKey,
  dial,
  gatewaySettings,
  nextRecord,
  runProcess,
  startGateway,
  startProcess,
  SVC_AGENT,
  SVC_GATEWAY,
  temporaryFolder,
  type TemporaryFolder,
} from '@svc/testkit';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { change } from '../packages/agent/src/databases/duckdb/change.testing.ts';
import { holdersOf } from '../packages/agent/src/databases/engine-process/holders.testing.ts';
import { offeredBy, startDev } from './workbench.testing.ts';
import { allGone, descendantsOf } from './workers/workers.testing.ts';

/** The folder that holds `@duckdb`. */
const INSTALLED = join(dirname(createRequire(import.meta.url).resolve('@duckdb/node-api')), '../../..');

let folder: TemporaryFolder;
beforeEach(async () => {
  folder = await temporaryFolder('duckdb');
  await copyFile(SVC_AGENT, join(folder.path, 'svc-agent'));
  await writeFile(join(folder.path, 'capability.yaml'), await fileText());
  await change(
    join(folder.path, 'sales.duckdb'),
    "create table book as select 1 as id, 'Emma' as title union all select 2, 'Persuasion'",
  );
  await mkdir(join(folder.path, 'exports'));
  await writeFile(join(folder.path, 'exports/rates.csv'), 'currency,rate\nEUR,1.08\n');
});
afterEach(() => folder.remove());

async function fileText(
  section: Readonly<Record<string, unknown>> = {},
  sections: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const { agent_private_key } = createAgentSecret();
  // JSON is YAML, too.
  return JSON.stringify({
    gateway: { url: 'ws://127.0.0.1:1/ws/agent', agent_private_key },
    ...sections,
    database: { driver: 'duckdb', file: 'sales.duckdb', read_files: ['exports/'], ...section },
    capabilities: {
      get_book: {
        sql: 'select title from book where id = :id',
        params: { id: { type: 'integer', required: true } },
        result: { title: { type: 'string' } },
        examples: [
          { params: { id: 1 }, expect: { count: 1, rows: [{ title: 'Emma' }] } },
          { params: { id: 0 }, expect: { rows: [{ title: 'Nothing' }] } },
        ],
      },
      rates: {
        sql: "select currency, rate from read_csv('exports/rates.csv', header = true) order by currency",
        result: { currency: { type: 'string' }, rate: { type: 'number' } },
      },
      endless: {
        sql: 'select count(*) as n from range(100000000000) t(i), range(1000) u(j) where (i * j) % 7 = 8',
        result: { n: { type: 'integer' } },
        policy: { timeout: '5m' },
      },
    },
  });
}

async function svcAgent(
  ...args: readonly string[]
): Promise<{ readonly code: number | null; readonly output: string }> {
  const words = [join(folder.path, 'svc-agent'), ...args];
  const { code, stdout, stderr } = await runProcess(process.execPath, words, { cwd: folder.path });
  return { code, output: stdout + stderr };
}

/** As `npm install` does it in the folder of the agent. */
async function installLibrary(): Promise<void> {
  await mkdir(join(folder.path, 'node_modules'));
  await symlink(join(INSTALLED, '@duckdb'), join(folder.path, 'node_modules/@duckdb'));
}

test('without its library, or with another release of it, a fault says what to install', async () => {
  const install = 'npm install @duckdb/node-api@1.5';
  for (const args of [['check'], ['try', 'get_book', '--param', 'id=1']]) {
    const { code, output } = await svcAgent(...args);
    expect(code).not.toBe(0);
    expect(output).toContain(install);
  }
  const other = join(folder.path, 'node_modules/@duckdb/node-api');
  await mkdir(other, { recursive: true });
  await writeFile(join(other, 'index.js'), "exports.version = () => 'v1.4.9'; exports.DuckDBInstance = {};");
  const { code, output } = await svcAgent('check');
  expect(code).not.toBe(0);
  expect(output).toContain(install);
  expect(output).toContain('v1.4.9');
});

test('checks a file, says what is weaker, calls capabilities, and finds the fields of a new one', async () => {
  await installLibrary();
  const checked = await svcAgent('check');
  expect(checked.output).toContain('DuckDB has no accounts');
  expect(checked.code).toBe(0);
  const tried = await svcAgent('try', 'get_book', '--param', 'id=1', '--json');
  expect(tried.output).toContain('"rows":[{"title":"Emma"}]');
  const rates = await svcAgent('try', 'rates', '--json');
  expect(rates.output).toContain('"rows":[{"currency":"EUR","rate":1.08}]');
  await writeFile(
    join(folder.path, 'new.sql'),
    'select id, title from book where title = :title order by id',
  );
  const added = await svcAgent('add', 'by_title', '--sql-file', 'new.sql', '--print');
  expect(added.output).toMatch(/"id":\{"type":"integer"/);
  await writeFile(
    join(folder.path, 'list.sql'),
    'select id, b.title as name, upper(title) as loud from book b where {filters}',
  );
  const listed = await svcAgent('add', 'list_books', '--sql-file', 'list.sql', '--print', '--json');
  expect(JSON.parse(listed.output)).toMatchObject({ ok: true });
  expect(listed.output).toMatch(/id = :id.*title = :name/);
  expect(listed.output).not.toContain(':loud');
});

test('makes the calls of the examples, and says which of them give something else', async () => {
  await installLibrary();
  const { code, output } = await svcAgent('test', 'get_book', '--json');
  expect(code).toBe(3);
  expect(JSON.parse(output)).toMatchObject({
    passed: 1,
    failed: 1,
    examples: [
      { capability: 'get_book', ok: true },
      { capability: 'get_book', ok: false },
    ],
  });
});

test('proposes capabilities that pass and answer, and knows no account', async () => {
  await installLibrary();
  await change(
    join(folder.path, 'shop.duckdb'),
    'create table author (id integer primary key, name varchar not null)',
    `create table work (id bigint primary key, author_id integer not null references author (id),
      title varchar not null unique, price decimal(8, 2), day date, "order" integer, "a""b" integer[], notes json)`,
    "insert into author values (1, 'Jane Austen')",
    "insert into work values (1, 1, 'Emma', 4.5, '1815-12-23', 3, [1], '[2]')",
  );
  const words = [join(folder.path, 'svc-agent'), 'init'];
  const options = { cwd: folder.path, env: { DATABASE_URL: 'duckdb:shop.duckdb' } };
  expect((await runProcess(process.execPath, [...words, '--create-account', '--yes'], options)).code).toBe(2);
  expect((await runProcess(process.execPath, words, options)).code).toBe(0);
  const config = ['--config', 'capability/capability.yaml'];
  expect(await svcAgent('check', ...config)).toMatchObject({ code: 0 });
  const tried = await svcAgent('try', 'get_work_by_title', '--param', 'title=Emma', '--json', ...config);
  expect(JSON.parse(tried.output).rows).toEqual([
    expect.objectContaining({ id: 1, price: 4.5, day: '1815-12-23', order: 3, notes: '[2]' }),
  ]);
  const listed = await svcAgent('try', 'list_work', '--param', 'sort=day_desc', '--json', ...config);
  expect(JSON.parse(listed.output).rows).toMatchObject([{ id: 1, title: 'Emma' }]);
});

test('a database in memory, and a query of a file that may not be read, are faults', async () => {
  await installLibrary();
  await writeFile(join(folder.path, 'capability.yaml'), await fileText({ file: ':memory:' }));
  expect(await svcAgent('check')).toMatchObject({
    code: 2,
    output: expect.stringContaining('database.file: must name a file'),
  });
  expect(await svcAgent('check', '--offline')).toMatchObject({ code: 2 });
  await writeFile(join(folder.path, 'capability.yaml'), await fileText({ read_files: [] }));
  const refused = await svcAgent('check');
  expect(refused).toMatchObject({ code: 2, output: expect.stringContaining('read_files') });
  expect(refused.output).toContain('capabilities.rates.sql');
});

test('a file of another kind, and too little memory, are faults that say which key to look at', async () => {
  await installLibrary();
  await writeFile(join(folder.path, 'capability.yaml'), await fileText({ file: 'exports/rates.csv' }));
  expect(await svcAgent('check')).toMatchObject({
    code: 2,
    output: expect.stringContaining('the file is no DuckDB database: check file'),
  });
  await writeFile(join(folder.path, 'capability.yaml'), await fileText({ memory: '1MB' }));
  expect(await svcAgent('check')).toMatchObject({
    code: 2,
    output: expect.stringContaining('raise memory'),
  });
});

test('dev serves callers over REST and MCP behind a gateway, and says what is weaker', async () => {
  await installLibrary();
  await copyFile(SVC_GATEWAY, join(folder.path, 'svc-gateway'));
  const bench = await startDev(folder.path);
  onTestFinished(async () => void (await bench.process.stop()));
  await bench.process.waitForLine((line) => line.includes('has no accounts'));
  const emma = { status: 200, json: { rows: [{ title: 'Emma' }] } };
  expect(await bench.call('get_book', { id: 1 })).toMatchObject(emma);
  const names = ['endless', 'get_book', 'rates'];
  const offered = await offeredBy(bench);
  expect([offered.operations.toSorted(), offered.tools.toSorted()]).toEqual([names, names]);
});

async function serve(
  workers: number,
): Promise<(name: string, body: string) => Promise<readonly [number, unknown]>> {
  await installLibrary();
  const { agent_private_key, agent_public_key } = createAgentSecret();
  const { api_key, record } = await createKey('all', '*');
  const { process: gateway, port } = await startGateway(gatewaySettings(agent_public_key, [record]));
  onTestFinished(async () => void (await gateway.stop()));
  const link = { url: `ws://127.0.0.1:${port}/ws/agent`, agent_private_key };
  await writeFile(
    join(folder.path, 'capability.yaml'),
    await fileText({}, { gateway: link, runtime: { workers } }),
  );
  const connected = nextRecord(gateway, 'agent_connected');
  const words = [join(folder.path, 'svc-agent')];
  const agent = await startProcess(process.execPath, words, { cwd: folder.path });
  onTestFinished(async () => void (await agent.stop()));
  await agent.waitForLine((line) => line.includes('database: DuckDB has no accounts'));
  await connected;
  return async (name, body) => {
    const url = `http://127.0.0.1:${port}/api/v1/capabilities/${name}`;
    const { status, json } = await ask(url, { method: 'POST', apiKey: api_key, body });
    return [status, json];
  };
}

test.each([1, 2])('serves callers, by %i process(es)', async (workers) => {
  const call = await serve(workers);
  const emma = [200, expect.objectContaining({ rows: [{ title: 'Emma' }] })];
  expect(await Promise.all([1, 2, 3, 4].map(() => call('get_book', '{"id":1}')))).toEqual([
    emma,
    emma,
    emma,
    emma,
  ]);
});

test('a killed process costs no later call, and a lost file is told, as is its return', async () => {
  const call = await serve(1);
  const [file, away] = [join(folder.path, 'sales.duckdb'), join(folder.path, 'away.duckdb')];
  expect((await call('get_book', '{"id":1}'))[0]).toBe(200);
  for (const pid of holdersOf(file)) process.kill(pid, 'SIGKILL');
  expect((await call('get_book', '{"id":1}'))[0]).toBe(200);
  await rename(file, away);
  expect((await call('get_book', '{"id":1}'))[0]).toBe(502);
  const logged = (): Promise<string> => readFile(join(folder.path, 'svc-agent.log'), 'utf8');
  await expect.poll(logged).toContain('"event":"database_lost"');
  await rename(away, file);
  await expect.poll(logged).toContain('"event":"database_back"');
  expect((await call('get_book', '{"id":1}'))[0]).toBe(200);
});

test('a query does not outlive an agent that is killed', async () => {
  await installLibrary();
  const file = join(folder.path, 'sales.duckdb');
  const agent = await startProcess(process.execPath, [join(folder.path, 'svc-agent'), 'try', 'endless'], {
    cwd: folder.path,
  });
  await expect.poll(() => holdersOf(file)).not.toEqual([]);
  agent.signal('SIGKILL');
  await agent.exited;
  await expect.poll(() => holdersOf(file)).toEqual([]);
});

test(
  'no process of a workbench has a debugger to open, and none is left when it is killed',
  { tags: ['shutdown:signals', 'workers:primary-killed'] },
  async () => {
    await installLibrary();
    await copyFile(SVC_GATEWAY, join(folder.path, 'svc-gateway'));
    const bench = await startDev(folder.path);
    await bench.next('ready');
    void bench.call('endless', {}).catch(() => {});
    const engines = holdersOf(join(folder.path, 'sales.duckdb'));
    const all = await descendantsOf(bench.process.pid);
    expect(engines.length).toBeGreaterThan(0);
    expect(engines.filter((pid) => !all.includes(pid))).toEqual([]);
    for (const pid of [bench.process.pid, ...all]) {
      process.kill(pid, 'SIGUSR1');
      process.kill(pid, 'SIGUSR2');
    }
    // A debugger would be open by the time that this is answered.
    expect((await bench.call('get_book', { id: 1 })).status).toBe(200);
    await expect(dial(9229)).rejects.toThrow('ECONNREFUSED');
    expect(bench.process.output()).not.toContain('Debugger listening');
    bench.process.signal('SIGKILL');
    await allGone(all, 5000);
  },
);
