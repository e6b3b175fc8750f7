import { startFaultProxy, testDatabase, type FaultProxy, type TestDatabase } from '@svc/testkit';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { Database, DatabaseChange, Query } from '../../driver/driver.ts';
import { callOf, capabilityOf, configOf, textOfRows, openPostgres } from '../capability.fixture.ts';
import { connect } from '../connect.ts';

const SESSIONS = 10;
const ours = "datname = current_database() and application_name = 'svc-agent'";

/** Ends its own session when `s` is negative. */
const NAP = `create function nap(s float8) returns void language plpgsql stable as $$ begin
  if s < 0 then perform pg_terminate_backend(pg_backend_pid()); end if;
  perform pg_sleep(abs(s));
end $$`;

let server: TestDatabase;
let network: FaultProxy;
let database: Database;
let query: Query;
let changes: DatabaseChange[];
beforeEach(async () => {
  server = await testDatabase({ sql: [NAP] });
  network = await startFaultProxy({ target: server });
  await open(server.user, server.password);
});
afterEach(async () => {
  await database.close();
  await network.close();
});

async function open(user: string, password: string): Promise<void> {
  const config = configOf({ ...server, user, password }, { sslmode: 'disable', maxConnections: SESSIONS });
  const checking = openPostgres(config);
  const sql = 'select :n::int as a from nap(:s::float8)';
  const params = { n: { type: 'integer' }, s: { type: 'number' } } as const;
  const { prepared } = await checking.verify([capabilityOf(sql, { params, allowFunctions: ['nap'] })]);
  await checking.close();
  const [first] = prepared;
  if (first === undefined) throw new Error('not verified');
  changes = [];
  const { host, port } = network;
  database = connect({ ...config, host, port }, (change) => {
    if ('isUp' in change) changes.push(change);
  });
  query = database.prepare(first);
}

/** The results, or why there is none. */
function callAll(count: number, timeoutMs: number = 10_000, s: number = 0): Promise<readonly string[]> {
  const calls = Array.from({ length: count }, (_, n) =>
    query.run(callOf({ n, s }, { timeoutMs })).then(textOfRows, String),
  );
  return Promise.all(calls);
}

function answers(count: number): readonly string[] {
  return Array.from({ length: count }, (_, n) => `[{"a":${n}}]`);
}

/** Leaves as many idle sessions as there may be, of a query that is known as short. */
async function warmUp(): Promise<void> {
  await callAll(SESSIONS, 10_000, 0.2);
  for (let round = 0; round < 20; round += 1) await callAll(1);
  await expect.poll(() => database.connections).toMatchObject({ idle: SESSIONS, busy: 0 });
}

async function reopen(): Promise<void> {
  network = await startFaultProxy({ target: server, port: network.port });
}

const terminate = `select pg_terminate_backend(pid) from pg_stat_activity where ${ours}`;

describe('sessions that end together while idle cost no call', { tags: ['agent:database-sessions'] }, () => {
  test.each([
    ['an administrator ends them', () => server.execute(terminate)],
    ['the network resets them', async () => network.cut()],
    [
      'the server ends them while the network is slow to tell',
      async () => {
        network.delay(50);
        await server.execute(terminate);
      },
    ],
  ])('when %s', async (_title, end) => {
    await warmUp();
    await end();
    // Fewer than there were sessions: what is tried again may meet another of those that have ended.
    expect(await callAll(4)).toEqual(answers(4));
    expect(await callAll(100)).toEqual(answers(100));
    expect(changes).toEqual([]);
  });

  test('when they reach the idle time-out of the server', async (context) => {
    if ((await server.version()) < 140_000) context.skip('the setting came with PostgreSQL 14');
    await server.execute(`alter database ${server.name} set idle_session_timeout = 500`);
    await callAll(SESSIONS, 10_000, 0.2);
    const pids = await server.query<{ pid: number }>(`select pid from pg_stat_activity where ${ours}`);
    // The agent asks a database in use by a new session when its last one has ended.
    const left = `select pid from pg_stat_activity where pid in (0, ${pids.map(({ pid }) => pid).join(', ')})`;
    await expect.poll(() => server.query(left)).toEqual([]);
    expect(await callAll(4)).toEqual(answers(4));
    expect(changes).toEqual([]);
  });
});

test('a query that had begun when its session ended is not sent again', async () => {
  await warmUp();
  expect(await callAll(1, 10_000, -10)).toEqual([expect.stringContaining('57P01')]);
  await expect.poll(() => database.connections).toMatchObject({ idle: SESSIONS - 1, busy: 0, opening: 0 });
});

describe('a database that is away', { tags: ['agent:database-outage'] }, () => {
  test('for a moment only is waited for; its loss and its return are told once', async () => {
    await warmUp();
    await network.close();
    const calls = callAll(100);
    await expect.poll(() => changes.length).toBe(1);
    const later = callAll(100);
    expect(database.isUp).toBe(false);
    await reopen();
    expect([...(await calls), ...(await later)]).toEqual([...answers(100), ...answers(100)]);
    expect(database.isUp).toBe(true);
    const advice = expect.stringContaining('nothing listens there');
    const detail = expect.stringContaining('ECONNREFUSED');
    expect(changes).toEqual([
      { isUp: false, advice, detail },
      { isUp: true, awayMs: expect.any(Number) },
    ]);
  });

  test('is found out and found again without any call', async () => {
    await warmUp();
    await network.close();
    await expect.poll(() => database.isUp).toBe(false);
    await reopen();
    await expect.poll(() => database.isUp).toBe(true);
    expect(changes).toHaveLength(2);
  });

  test('is what a call is told of whose time ends meanwhile', async () => {
    await warmUp();
    await network.close();
    const refused = await callAll(3, 300);
    expect(refused).toEqual(
      Array.from({ length: 3 }, () => expect.stringContaining('cannot reach the database')),
    );
    expect(database.connections).toMatchObject({ idle: 0, busy: 0, waiting: 0 });
  });

  test('is what a call is told of that had too little time left when it was back', async () => {
    await warmUp();
    await network.close();
    const call = callAll(1, 800, 60);
    await callAll(1, 500);
    await reopen();
    expect(await call).toEqual([expect.stringContaining('cannot reach the database')]);
  });

  test('is not what a call is told of that had most of its time', async () => {
    await warmUp();
    await network.close();
    const call = callAll(1, 2000, 60);
    await expect.poll(() => database.isUp).toBe(false);
    await reopen();
    expect(await call).toEqual([expect.stringContaining('57014')]);
    expect(await callAll(1, 300, 60)).toEqual([expect.stringContaining('57014')]);
  });

  test('delays no closing', async () => {
    await warmUp();
    await network.close();
    const calls = callAll(3);
    await expect.poll(() => database.isUp).toBe(false);
    await database.close();
    for (const outcome of await calls) expect(outcome).toContain('the database is being closed');
    expect(database.connections).toEqual({ idle: 0, busy: 0, opening: 0, waiting: 0 });
  });
});

test('a server that has no connection left for the account is waited for, and not taken for lost', async () => {
  const role = `reader_${server.name}`;
  await server.execute(`create role ${role} login password 'reader'`);
  onTestFinished(() => server.execute(`drop role ${role}`));
  await database.close();
  await open(role, 'reader');
  await warmUp();
  await server.execute(`alter role ${role} connection limit 0; ${terminate}`);
  const refused = await callAll(3, 300);
  expect(refused).toEqual(Array.from({ length: 3 }, () => expect.stringContaining('too many connections')));
  const calls = callAll(100);
  await server.execute(`alter role ${role} connection limit 2`);
  expect(await calls).toEqual(answers(100));
  expect(changes).toEqual([]);
});
