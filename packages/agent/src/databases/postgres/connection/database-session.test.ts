import { randomInt } from 'node:crypto';
import { createServer, type Server } from 'node:net';
import {
  createRandom,
  freePort,
  startFaultProxy,
  startGarblingProxy,
  startPostgres,
  temporaryFolder,
  testDatabase,
  type FaultProxy,
  type TestDatabase,
} from '@svc/testkit';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  callOf,
  capabilityOf,
  configOf,
  queryOf,
  textOfRows,
  openPostgres,
  type TestedDatabase,
} from '../capability.fixture.ts';
import type { Query } from '../../driver/driver.ts';
import { DatabaseError } from '../../driver/errors.ts';
import { verifier } from '../verifier.ts';

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

test("opening a session calls no operator that the path of the account has before PostgreSQL's own", async () => {
  const role = `${server.name}_reader`;
  const types = ['int', 'text', 'name', 'oid'];
  await server.execute(`
    create table written (type text);
    ${types
      .map(
        (type) => `create function public.lies(${type}, ${type}) returns bool language plpgsql as $$ begin
          insert into public.written values ('${type}');
          return true;
        end $$;
        create operator public.= (leftarg = ${type}, rightarg = ${type}, function = public.lies);
        create operator public.<> (leftarg = ${type}, rightarg = ${type}, function = public.lies);`,
      )
      .join('\n')}
    create role ${role} login password 'reader';
    alter role ${role} set search_path = public, pg_catalog;
    grant insert on written to ${role}`);
  const database = openPostgres(configOf({ ...server, user: role, password: 'reader' }));
  await database.ping();
  await database.close();
  expect(await server.query('table written')).toEqual([]);
  await server.execute(`drop owned by ${role}; drop role ${role}`);
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
    expect(performance.now() - started).toBeLessThan(10_000);
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

  test('which answers a login by what PostgreSQL never says is unavailable', async () => {
    const unknownAuthentication = Buffer.from([0x52, 0, 0, 0, 8, 1, 2, 3, 4]);
    const foreign = await listening((socketServer) =>
      socketServer.on('connection', (socket) =>
        socket.once('data', () => socket.write(unknownAuthentication)),
      ),
    );
    const database = openPostgres(configOf({ ...server, port: foreign.port }));
    await expect(database.ping()).rejects.toMatchObject({ kind: 'unavailable' });
    await database.close();
    foreign.server.close();
  });

  const seed = randomInt(2 ** 31);
  test(`whose bytes are changed on the way costs its connections alone, with seed ${seed}`, async () => {
    const random = createRandom(seed);
    for (const share of [0.003, 0.03, 0.3, 1]) {
      const proxy = await startGarblingProxy({ target: server, share, random });
      const database = openPostgres(configOf({ ...server, ...proxy }, { maxConnections: 20 }));
      const pings = await Promise.allSettled(Array.from({ length: 40 }, () => database.ping()));
      const reasons = pings.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
      expect(reasons.filter((reason) => !(reason instanceof DatabaseError))).toEqual([]);
      await database.close();
      await proxy.close();
    }
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
  await expect(query.run(callOf({}, { timeoutMs: 300 }))).rejects.toMatchObject({ kind: 'unavailable' });
  const second = await startPostgres({ folder: folder.path, settings: { port: String(first.port) } });
  const answers = await Promise.all([1, 2, 3].map(() => query.run(callOf())));
  expect(answers.map(({ count }) => count)).toEqual([1, 1, 1]);
  await database.close();
  await second.stop();
  await folder.remove();
});

test('a server that says it is another product is refused, one that is nearly PostgreSQL is told at each start', async () => {
  const own = await startPostgres();
  onTestFinished(() => own.stop());
  const pose = (told: string): Promise<unknown> =>
    own.execute(
      'postgres',
      `create or replace function pg_catalog.version() returns text language sql as $$ select '${told}'::text $$`,
    );
  const open = (): TestedDatabase => {
    const database = openPostgres(configOf({ ...own, name: 'postgres' }));
    onTestFinished(() => database.close());
    return database;
  };
  await pose('CockroachDB CCL v24.1.0 (x86_64-pc-linux-gnu)');
  await expect(open().ping()).rejects.toMatchObject({
    kind: 'unavailable',
    advice: expect.stringContaining('it is CockroachDB'),
  });
  await pose('PostgreSQL 15.2-YB-2.25.0.0-b0 on x86_64-pc-linux-gnu');
  const nearly = verifier.open(configOf({ ...own, name: 'postgres' }));
  onTestFinished(() => nearly.close());
  await nearly.ping();
  expect(await nearly.findWarnings([])).toEqual([
    { path: 'database', message: expect.stringContaining('YugabyteDB') },
  ]);
});

describe('a network that drops what is sent', () => {
  let network: FaultProxy;
  let database: TestedDatabase;
  beforeEach(async () => {
    network = await startFaultProxy({ target: server });
    const { host, port } = network;
    database = openPostgres(configOf({ ...server, host, port }, { sslmode: 'disable' }));
  });
  afterEach(async () => {
    await database.close();
    await network.close();
  });

  function sleepQuery(): Promise<Query> {
    const params = { s: { type: 'number' } } as const;
    const sql = 'select 1 as a from pg_sleep(:s::float8)';
    return queryOf(database, capabilityOf(sql, { params, allowFunctions: ['pg_sleep'] }));
  }

  /** Makes `count` connections and leaves them idle. */
  async function warmUp(count: number): Promise<void> {
    const sleep = await sleepQuery();
    await Promise.all(Array.from({ length: count }, () => sleep.run(callOf({ s: 0.2 }))));
  }

  test('may bring a cancel request before its query, which is ended all the same', async () => {
    const sleep = await sleepQuery();
    network.delay(300);
    const abort = new AbortController();
    const call = sleep.run(callOf({ s: 30 }, { signal: abort.signal }));
    // The proxy holds the query by now; what comes later overtakes it.
    await new Promise((resolve) => setTimeout(resolve, 100));
    network.delay(0);
    abort.abort();
    await expect(call).rejects.toMatchObject({ kind: 'cancelled' });
    const running = "datname = current_database() and state = 'active' and pid <> pg_backend_pid()";
    expect(await server.query(`select query from pg_stat_activity where ${running}`)).toEqual([]);
  });

  test('costs one call its time: the other idle connections are not tried one after the other', async () => {
    const query = await queryOf(database, capabilityOf('select 1 as a'));
    await warmUp(4);
    network.strand();
    await expect(query.run(callOf({}, { timeoutMs: 100 }))).rejects.toMatchObject({ kind: 'timeout' });
    const next = Array.from({ length: 4 }, () => query.run(callOf({}, { timeoutMs: 1000 })));
    expect((await Promise.all(next)).map(({ count }) => count)).toEqual([1, 1, 1, 1]);
  });

  test('is suspected of every connection that was silent when the query was cancelled', async () => {
    const slow = await queryOf(
      database,
      capabilityOf('select 1 as a from pg_sleep(30)', { allowFunctions: ['pg_sleep'] }),
    );
    const query = await queryOf(database, capabilityOf('select 1 as a'));
    await warmUp(2);
    const dropped = slow.run(callOf({}, { timeoutMs: 500 }));
    await query.run(callOf());
    network.strand();
    await expect(dropped).rejects.toMatchObject({ kind: 'timeout' });
    expect((await query.run(callOf({}, { timeoutMs: 1000 }))).count).toBe(1);
  });

  test('leaves connections alone that have answered since', async () => {
    const pid = await queryOf(database, capabilityOf('select pg_backend_pid() as a'));
    await warmUp(1);
    network.strand();
    let refusal: unknown;
    const dropped = pid.run(callOf({}, { timeoutMs: 100 })).catch((error: unknown) => (refusal = error));
    let before = '';
    while (refusal === undefined) before = textOfRows(await pid.run(callOf()));
    await dropped;
    expect(refusal).toMatchObject({ kind: 'timeout' });
    expect(textOfRows(await pid.run(callOf()))).toBe(before);
  });

  test.each([
    ['idle', 0],
    ['being made', 1],
  ])('delays closing by a second at most, with a connection that is %s', async (_title, pings) => {
    if (pings === 0) await warmUp(1);
    network.stall('both');
    const ended = Promise.allSettled(Array.from({ length: pings }, () => database.ping()));
    const started = performance.now();
    await database.close();
    expect(performance.now() - started).toBeLessThan(5000);
    await ended;
  });
});
