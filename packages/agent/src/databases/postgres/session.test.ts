import { createServer, type Server } from 'node:net';
import { freePort, startPostgres, temporaryFolder, testDatabase, type TestDatabase } from '@svc/testkit';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { callOf, capabilityOf, configOf, queryOf } from './capability.fixture.ts';
import { openPostgres } from './postgres.ts';

let server: TestDatabase;
beforeEach(async () => {
  server = await testDatabase();
});
afterEach(() => {
  vi.unstubAllEnvs();
});

test('the environment of PostgreSQL tools has no influence', async () => {
  const bad = {
    PGHOST: 'nowhere.invalid',
    PGUSER: 'nobody',
    PGPASSWORD: 'wrong',
    PGOPTIONS: '-c nosuch=1',
    PGSSLMODE: 'verify-full',
    PGSSLNEGOTIATION: 'direct',
    PGAPPNAME: 'other',
    PGREPLICATION: 'database',
  };
  for (const [name, value] of Object.entries(bad)) vi.stubEnv(name, value);
  const database = openPostgres(configOf(server));
  await database.ping();
  const sql =
    "select count(*) as a from pg_stat_activity where pid = pg_backend_pid() and application_name = 'svc-agent'";
  const query = await queryOf(database, capabilityOf(sql));
  expect((await query.run(callOf())).count).toBe(1);
  await database.close();
});

test('an empty password is not looked up elsewhere', async () => {
  vi.stubEnv('PGPASSWORD', server.password);
  const database = openPostgres(configOf(server, { password: '' }));
  await expect(database.ping()).rejects.toMatchObject({ kind: 'unavailable' });
  await database.close();
});

describe('sslmode against a server without TLS', () => {
  test.each(['disable', 'prefer'] as const)('%s connects', async (sslmode) => {
    const database = openPostgres(configOf(server, { sslmode }));
    await expect(database.ping()).resolves.toBeUndefined();
    await database.close();
  });

  test.each(['require', 'verify-full'] as const)('%s refuses', async (sslmode) => {
    const database = openPostgres(configOf(server, { sslmode }));
    await expect(database.ping()).rejects.toMatchObject({ kind: 'unavailable' });
    await database.close();
  });
});

describe('a database that cannot be reached', () => {
  test('refuses everybody who waits, at once', async () => {
    const port = await freePort();
    const database = openPostgres(configOf({ ...server, port }, { maxConnections: 2 }));
    const started = performance.now();
    const pings = await Promise.allSettled([1, 2, 3, 4, 5].map(() => database.ping()));
    expect(pings.map(({ status }) => status)).toEqual(Array.from({ length: 5 }, () => 'rejected'));
    expect(performance.now() - started).toBeLessThan(2000);
    await database.close();
  });

  test('with wrong credentials is unavailable, and says nothing of the password', async () => {
    const database = openPostgres(configOf(server, { password: 'not-the-password' }));
    const error: unknown = await database.ping().catch((reason: unknown) => reason);
    expect(error).toMatchObject({ kind: 'unavailable' });
    expect(String(error)).not.toContain('not-the-password');
    await database.close();
  });

  test('which accepts and closes is unavailable', async () => {
    const silent = await listening((socketServer) =>
      socketServer.on('connection', (socket) => socket.destroy()),
    );
    const database = openPostgres(configOf({ ...server, port: silent.port }));
    await expect(database.ping()).rejects.toMatchObject({ kind: 'unavailable' });
    await database.close();
    silent.server.close();
  });
});

async function listening(
  prepare: (server: Server) => void,
): Promise<{ readonly server: Server; readonly port: number }> {
  const socketServer = createServer();
  prepare(socketServer);
  await new Promise<void>((resolve) => socketServer.listen(0, '127.0.0.1', resolve));
  const address = socketServer.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return { server: socketServer, port: address.port };
}

test('calls recover by themselves when the database is back', async () => {
  const folder = await temporaryFolder('restart');
  const first = await startPostgres({ folder: folder.path });
  const database = openPostgres(configOf({ ...first, name: 'postgres' }));
  const query = await queryOf(database, capabilityOf('select 1 as a'));
  await Promise.all([query.run(callOf()), query.run(callOf())]);
  await first.stop();
  await expect(query.run(callOf())).rejects.toMatchObject({ kind: 'unavailable' });
  const second = await startPostgres({ folder: folder.path, settings: { port: String(first.port) } });
  const answers = await Promise.all([1, 2, 3].map(() => query.run(callOf())));
  expect(answers.map(({ count }) => count)).toEqual([1, 1, 1]);
  await database.close();
  await second.stop();
  await folder.remove();
});
