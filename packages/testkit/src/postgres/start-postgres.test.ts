import { chmod, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { isPortFree } from '../network/free-port.ts';
import { startProcess } from '../processes/start-process.ts';
import { temporaryFolder, temporaryPrefix, type TemporaryFolder } from '../temporary-folder.ts';
import { withClient } from './server-address.ts';
import { startPostgres } from './start-postgres.ts';

async function eventually(isTrue: () => Promise<boolean>, withinMs: number): Promise<boolean> {
  for (const started = performance.now(); performance.now() - started < withinMs; await sleep(20)) {
    if (await isTrue()) return true;
  }
  return await isTrue();
}

// Every test has the temporary folder to itself, to see what is left there.
let own: TemporaryFolder;
beforeEach(async () => {
  own = await temporaryFolder('test');
  await chmod(own.path, 0o755);
  vi.stubEnv('TMPDIR', own.path);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await own.remove();
});

test('a temporary server speaks UTF-8, compares by code point, clones databases, and is gone with its files after stop', async () => {
  const postgres = await startPostgres({ settings: { work_mem: '5MB' } });
  const [row] = await withClient(postgres, 'postgres', async (client) => {
    const sql = `select lower('ÄÖ') as lower, 'a' > 'B' as binary, current_setting('work_mem') as work_mem`;
    return (await client.query(sql)).rows;
  });
  expect(row).toEqual({ lower: 'äö', binary: true, work_mem: '5MB' });

  const wrong = { ...postgres, password: 'wrong' };
  await expect(withClient(wrong, 'postgres', async () => {})).rejects.toThrow(/password authentication/);

  await postgres.createDatabase('origin');
  await postgres.execute('origin', 'create table t (x int); insert into t values (1), (2)');
  await postgres.createDatabase('Copy of it', { template: 'origin' });
  const count = await withClient(postgres, 'Copy of it', async (client) => {
    const { rows } = await client.query('select count(*)::int as count from t');
    // While somebody is connected.
    await postgres.dropDatabase('Copy of it');
    return rows;
  });
  expect(count).toEqual([{ count: 2 }]);

  await postgres.stop();
  expect(await isPortFree(postgres.port)).toBe(true);
  expect(await readdir(own.path)).toEqual([]);
});

test('a temporary folder that only root may enter is no obstacle', async () => {
  await chmod(own.path, 0o700);
  const postgres = await startPostgres();
  await expect(postgres.execute('postgres', 'select 1')).resolves.toBeUndefined();
  await postgres.stop();
});

test('a kept cluster is found again, left alone while it is in use, and what keeps it from starting is told', async () => {
  const folder = join(own.path, 'cluster');
  const first = await startPostgres({ folder });
  await first.execute('postgres', 'create table kept (x int)');
  await expect(startPostgres({ folder })).rejects.toMatchObject({
    cause: { message: expect.stringContaining('lock file "postmaster.pid" already exists') },
  });
  await first.execute('postgres', 'select 1');
  await first.stop();
  const second = await startPostgres({ folder });
  await second.execute('postgres', 'insert into kept values (1)');
  await second.stop();
  expect([first.isNew, second.isNew]).toEqual([true, false]);
  await expect(startPostgres({ folder, settings: { shared_buffers: 'many' } })).rejects.toMatchObject({
    message: 'cannot start PostgreSQL',
    cause: { message: expect.stringContaining('invalid value for parameter "shared_buffers"') },
  });
});

test('nothing is left when the process that started it is killed', async () => {
  const fixture = fileURLToPath(new URL('hold-postgres.testing.ts', import.meta.url));
  const owner = await startProcess(process.execPath, ['--import', 'tsx', fixture], {
    env: { TMPDIR: own.path },
  });
  const line = await owner.waitForLine((text) => text.startsWith('{'), 30_000);
  const port = Number(/"port":(\d+)/.exec(line)?.[1]);
  expect(await isPortFree(port)).toBe(false);
  const holds = async (): Promise<boolean> =>
    (await readdir(own.path)).some((name) => name.startsWith(temporaryPrefix));
  expect(await holds()).toBe(true);

  owner.signal('SIGKILL');
  await owner.exited;
  expect(await eventually(async () => (await isPortFree(port)) && !(await holds()), 15_000)).toBe(true);
});
