import { chmod, copyFile, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  ask,
  createAgentSecret,
  createKey,
  gatewaySettings,
  nextRecord,
  runProcess,
  startGateway,
  startProcess,
  SVC_AGENT,
  SVC_GATEWAY,
  temporaryFolder,
  type ProcessOptions,
  type TemporaryFolder,
} from '@svc/testkit';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { holdersOf } from '../../packages/agent/src/databases/engine-process/holders.testing.ts';
import { openForWriting } from '../../packages/agent/src/databases/sqlite/conformance.fixture.ts';
import { problemOfNode } from '../../packages/agent/src/databases/sqlite/node-version.ts';
import { offeredBy, startDev } from '../workbench.testing.ts';

/** Node.js that has no SQLite for the driver runs the rest: `npm run test:sqlite` has one that does. */
const hasSqlite = problemOfNode() === undefined;
const isRoot = process.getuid?.() === 0;
const NOBODY = 65_534;

let folder: TemporaryFolder;
beforeEach(async () => {
  folder = await temporaryFolder('sqlite');
  await copyFile(SVC_AGENT, join(folder.path, 'svc-agent'));
  await writeFile(join(folder.path, 'capability.yaml'), await fileText());
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
    database: { driver: 'sqlite', file: 'library.db', ...section },
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
      endless: {
        sql: 'with recursive n (i) as (select 1 union all select i + 1 from n) select count(*) as n from n',
        result: { n: { type: 'integer' } },
        policy: { timeout: '5m' },
      },
    },
  });
}

interface Ran {
  readonly code: number | null;
  readonly output: string;
}

async function svcAgent(args: readonly string[], options: ProcessOptions = {}): Promise<Ran> {
  const words = [join(folder.path, 'svc-agent'), ...args];
  const cwd = folder.path;
  const { code, stdout, stderr } = await runProcess(process.execPath, words, { cwd, ...options });
  return { code, output: stdout + stderr };
}

function makeFile(sql: string = ''): void {
  const database = openForWriting(join(folder.path, 'library.db'));
  database.exec(`${sql}; create table book (id integer primary key, title text);
    insert into book values (1, 'Emma')`);
  database.close();
}

type Call = () => Promise<readonly [status: number, body: unknown]>;

/** Starts a gateway and the agent until the test is over; what calls `get_book`. */
async function serve(workers: number): Promise<Call> {
  makeFile();
  const { agent_private_key, agent_public_key } = createAgentSecret();
  const { api_key, record } = await createKey('all', '*');
  const { process: gateway, port } = await startGateway(gatewaySettings(agent_public_key, [record]));
  onTestFinished(async () => void (await gateway.stop()));
  const link = { url: `ws://127.0.0.1:${port}/ws/agent`, agent_private_key };
  const text = await fileText({}, { gateway: link, runtime: { workers } });
  await writeFile(join(folder.path, 'capability.yaml'), text);
  const connected = nextRecord(gateway, 'agent_connected');
  const agent = await startProcess(process.execPath, [join(folder.path, 'svc-agent')], {
    cwd: folder.path,
  });
  onTestFinished(async () => void (await agent.stop()));
  await connected;
  return async () => {
    const url = `http://127.0.0.1:${port}/api/v1/capabilities/get_book`;
    const { status, json } = await ask(url, { method: 'POST', apiKey: api_key, body: '{"id":1}' });
    return [status, json];
  };
}

test.skipIf(hasSqlite)('a Node.js that is too old is a fault that names the one that is needed', async () => {
  const fault = `needs Node.js 22.16 or newer, and this is ${process.versions.node}`;
  for (const args of [['check'], [], ['try', 'get_book', '--param', 'id=1']]) {
    const { code, output } = await svcAgent(args);
    expect(code).not.toBe(0);
    expect(output).toContain(fault);
  }
});

test('a database in memory, and a key of another driver, are faults without a database', async () => {
  const check = async (section: Readonly<Record<string, unknown>>): Promise<Ran> => {
    await writeFile(join(folder.path, 'capability.yaml'), await fileText(section));
    return svcAgent(['check', '--offline']);
  };
  expect(await check({ file: ':memory:' })).toMatchObject({
    code: 2,
    output: expect.stringContaining('database.file: must name a file'),
  });
  expect(await check({ read_files: ['exports/'] })).toMatchObject({
    code: 2,
    output: expect.stringContaining('database.read_files: unknown key; accepted: driver, file'),
  });
});

describe.skipIf(!hasSqlite)('the agent on SQLite (`npm run test:sqlite` has a Node.js with it)', () => {
  test('checks a file, says what is weaker, and calls a capability', async () => {
    makeFile();
    const checked = await svcAgent(['check']);
    expect(checked.output).toContain('SQLite has no accounts');
    expect(checked.output).not.toContain('ExperimentalWarning');
    expect(checked.code).toBe(0);
    const tried = await svcAgent(['try', 'get_book', '--param', 'id=1', '--json']);
    expect(tried.output).toContain('"rows":[{"title":"Emma"}]');
    expect(tried.output).not.toContain('ExperimentalWarning');
  });

  test('makes the calls of the examples, and says which of them give something else', async () => {
    makeFile();
    const { code, output } = await svcAgent(['test', 'get_book', '--json']);
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

  test('finds the fields of a new capability', async () => {
    makeFile();
    const sql = 'select id, title from book where title = :title order by id';
    await writeFile(join(folder.path, 'new.sql'), sql);
    const { code, output } = await svcAgent(['add', 'by_title', '--sql-file', 'new.sql', '--print']);
    expect(code).toBe(0);
    expect(output).toMatch(/"id":\{"type":"integer"/);
    await writeFile(
      join(folder.path, 'list.sql'),
      'select id, b.title as name, upper(title) as loud from book b where {filters}',
    );
    const listed = await svcAgent(['add', 'list_books', '--sql-file', 'list.sql', '--print', '--json']);
    expect(JSON.parse(listed.output)).toMatchObject({ ok: true });
    expect(listed.output).toMatch(/id = :id.*title = :name/);
    expect(listed.output).not.toContain(':loud');
  });

  test('proposes capabilities that pass and answer, and knows no account', async () => {
    makeFile(`create table author (id integer primary key, name text not null);
      create table work (id integer primary key, author_id integer not null references author (id), title varchar(80) not null,
        price real, day date, "order" integer, unique (title));
      create index by_day on work (day); create view cheap as select id, title from work where price < 5;
      insert into author values (1, 'Jane Austen');
      insert into work values (1, 1, 'Emma', 4.5, '1815-12-23', 3); analyze`);
    const env = { DATABASE_URL: 'sqlite:library.db' };
    expect((await svcAgent(['init', '--create-account', '--yes'], { env })).code).toBe(2);
    const made = await svcAgent(['init', '--json'], { env });
    expect(made.code).toBe(0);
    const report: unknown = JSON.parse(made.output);
    expect(report).not.toHaveProperty('account');
    const names = ['get_work', 'get_work_by_title', 'list_work', 'search_work'];
    expect(report).toHaveProperty('capabilities', expect.arrayContaining(names));
    const config = ['--config', 'capability/capability.yaml'];
    expect(await svcAgent(['check', ...config])).toMatchObject({ code: 0 });
    const rows = async (...args: readonly string[]): Promise<unknown> => {
      const { output } = await svcAgent(['try', ...args, '--json', ...config]);
      return JSON.parse(output).rows;
    };
    const emma = expect.objectContaining({ id: 1, title: 'Emma', price: 4.5, day: '1815-12-23', order: 3 });
    expect(await rows('get_work_by_title', '--param', 'title=Emma')).toEqual([emma]);
    expect(await rows('search_work', '--param', 'query=EMM')).toEqual([emma]);
    expect(await rows('list_work', '--param', 'day=1815-12-23')).toEqual([emma]);
    expect(await rows('list_work', '--param', 'sort=price_desc')).toEqual([emma]);
  });

  test('dev serves callers over REST and MCP behind a gateway, and says what is weaker', async () => {
    makeFile();
    await copyFile(SVC_GATEWAY, join(folder.path, 'svc-gateway'));
    const bench = await startDev(folder.path);
    onTestFinished(async () => void (await bench.process.stop()));
    await bench.process.waitForLine((line) => line.includes('has no accounts'));
    const emma = { status: 200, json: { rows: [{ title: 'Emma' }] } };
    expect(await bench.call('get_book', { id: 1 })).toMatchObject(emma);
    const names = ['endless', 'get_book'];
    const offered = await offeredBy(bench);
    expect([offered.operations.toSorted(), offered.tools.toSorted()]).toEqual([names, names]);
  });

  test('does not start without the file, and says so without its place', async () => {
    const { code, output } = await svcAgent(['check']);
    expect([code, output]).toEqual([2, expect.stringContaining('check file')]);
    expect(output).not.toContain(`${folder.path}/library.db`);
  });

  test.runIf(isRoot)('a file that root may change is refused where that is asked for', async () => {
    makeFile();
    const start = async (section: Readonly<Record<string, unknown>>): Promise<Ran> => {
      await writeFile(
        join(folder.path, 'capability.yaml'),
        await fileText({ require_readonly_account: true, ...section }),
      );
      return svcAgent(['check']);
    };
    expect(await start({})).toMatchObject({ code: 2, output: expect.stringContaining('is true, but') });
    expect(await start({ immutable: true })).toMatchObject({ code: 0 });
  });

  test.runIf(isRoot)('a file in WAL mode in a closed folder is a fault that names immutable', async () => {
    makeFile('pragma journal_mode = wal');
    await chmod(folder.path, 0o755);
    const asNobody = { uid: NOBODY, gid: NOBODY };
    const refused = await svcAgent(['check'], asNobody);
    expect(refused).toMatchObject({ code: 2, output: expect.stringContaining('immutable: true') });
    await writeFile(join(folder.path, 'capability.yaml'), await fileText({ immutable: true }));
    expect(await svcAgent(['check'], asNobody)).toMatchObject({ code: 0 });
  });

  test.each([1, 2])('serves callers, by %i process(es)', async (workers) => {
    const call = await serve(workers);
    expect(await call()).toEqual([200, expect.objectContaining({ rows: [{ title: 'Emma' }] })]);
  });

  test('tells a file that is lost, and its return', async () => {
    const call = await serve(1);
    const [file, away] = [join(folder.path, 'library.db'), join(folder.path, 'away.db')];
    expect((await call())[0]).toBe(200);
    await rename(file, away);
    expect((await call())[0]).toBe(502);
    const logged = (): Promise<string> => readFile(join(folder.path, 'svc-agent.log'), 'utf8');
    await expect.poll(logged).toContain('"event":"database_lost"');
    await rename(away, file);
    await expect.poll(logged).toContain('"event":"database_back"');
    expect((await call())[0]).toBe(200);
  });

  test.each([1, 2])(
    'beside another, a missing file costs its own calls until it is there, by %i process(es)',
    async (workers) => {
      makeFile();
      const section = (file: string): object => ({ driver: 'sqlite', file });
      const reading = (database: string): object => ({
        database,
        sql: 'select title from book where id = 1',
        result: { title: { type: 'string' } },
      });
      const { agent_private_key, agent_public_key } = createAgentSecret();
      const { api_key, record } = await createKey('all', '*');
      const { process: gateway, port } = await startGateway(gatewaySettings(agent_public_key, [record]));
      onTestFinished(async () => void (await gateway.stop()));
      const file = {
        gateway: { url: `ws://127.0.0.1:${port}/ws/agent`, agent_private_key },
        runtime: { workers },
        databases: { library: section('library.db'), absent: section('absent.db') },
        capabilities: { of_library: reading('library'), of_absent: reading('absent') },
      };
      await writeFile(join(folder.path, 'capability.yaml'), JSON.stringify(file));
      const connected = nextRecord(gateway, 'agent_connected');
      const agent = await startProcess(process.execPath, [join(folder.path, 'svc-agent')], {
        cwd: folder.path,
      });
      onTestFinished(async () => void (await agent.stop()));
      await connected;
      const call = async (name: string): Promise<readonly [status: number, json: unknown]> => {
        const url = `http://127.0.0.1:${port}/api/v1/capabilities/${name}`;
        const { status, json } = await ask(url, { method: 'POST', apiKey: api_key, body: '{}' });
        return [status, json];
      };
      const emma = [200, expect.objectContaining({ rows: [{ title: 'Emma' }] })];
      expect(await call('of_library')).toEqual(emma);
      expect(await call('of_absent')).toMatchObject([503, { error: { code: 'AGENT_DATABASE_UNAVAILABLE' } }]);
      const logged = await readFile(join(folder.path, 'svc-agent.log'), 'utf8');
      expect(logged).toContain('"event":"database_away"');
      await copyFile(join(folder.path, 'library.db'), join(folder.path, 'absent.db'));
      await expect.poll(() => call('of_absent')).toEqual(emma);
      expect(await call('of_library')).toEqual(emma);
    },
  );

  test('a query does not outlive an agent that is killed', async () => {
    makeFile();
    const words = [join(folder.path, 'svc-agent'), 'try', 'endless'];
    const agent = await startProcess(process.execPath, words, { cwd: folder.path });
    await expect.poll(() => holdersOf(join(folder.path, 'library.db'))).not.toEqual([]);
    agent.signal('SIGKILL');
    await agent.exited;
    await expect.poll(() => holdersOf(join(folder.path, 'library.db'))).toEqual([]);
  });
});
