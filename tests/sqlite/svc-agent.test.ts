import { chmod, copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  createAgentSecret,
  runProcess,
  startProcess,
  SVC_AGENT,
  temporaryFolder,
  type ProcessOptions,
  type TemporaryFolder,
} from '@svc/testkit';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { holdersOf, openForWriting } from '../../packages/agent/src/databases/sqlite/conformance.fixture.ts';
import { problemOfNode } from '../../packages/agent/src/databases/sqlite/connection/node-version.ts';

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

async function fileText(section: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const { agent_private_key } = await createAgentSecret();
  // JSON is YAML, too.
  return JSON.stringify({
    gateway: { url: 'ws://127.0.0.1:1/ws/agent', agent_private_key },
    database: { driver: 'sqlite', file: 'library.db', ...section },
    capabilities: {
      get_book: {
        sql: 'select title from book where id = :id',
        params: { id: { type: 'integer', required: true } },
        result: { title: { type: 'string' } },
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

test.skipIf(hasSqlite)('a Node.js that is too old is a fault that names the one that is needed', async () => {
  const fault = `needs Node.js 22.16 or newer, and this is ${process.versions.node}`;
  for (const args of [['check'], [], ['try', 'get_book', '--param', 'id=1']]) {
    const { code, output } = await svcAgent(args);
    expect(code).not.toBe(0);
    expect(output).toContain(fault);
  }
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
