import { chown, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import {
  databaseUrl,
  startFaultProxy,
  startPostgres,
  startService,
  temporaryFolder,
  type FaultProxy,
  type Postgres,
  type RunningProcess,
  type Service,
  type TemporaryFolder,
  sizeOf,
  type ProcessSize,
} from '@svc/testkit';
import { askOnce } from './lone-gateway.testing.ts';
import { agentMetricsPort } from './metrics-ports.testing.ts';
import { LOAD_CAPABILITIES, LOAD_SQL, startLoad, type SteadyLoad } from './steady-load.testing.ts';

// One service under load lives through every trouble that its database can have.

/** `database.max_connections`, as it is by default. */
const MAX_CONNECTIONS = 10;
const FAILED = '502 AGENT_QUERY_FAILED';
const TIMED_OUT = '504 AGENT_QUERY_TIMEOUT';
const GRANT = 'grant select on all tables in schema public to reader';
const OURS = "application_name = 'svc-agent'";

const CAPABILITIES = `metrics: { addr: "127.0.0.1:0" }
${LOAD_CAPABILITIES}
  first_items:
    description: Two items
    sql: select id, label from item order by length(id::text), id::text limit 2
    result: { id: { type: integer }, label: { type: string } }
`;

let folder: TemporaryFolder;
let postgres: Postgres;
let network: FaultProxy;
let service: Service;
let load: SteadyLoad;
/** Of gateway and agent, once all connections are made. */
const sizes = new Map<RunningProcess, ProcessSize>();

beforeAll(async () => {
  folder = await temporaryFolder('recovery');
  postgres = await startPostgres({ folder: folder.path, settings: { fsync: 'off' } });
  await postgres.createDatabase('shop');
  await postgres.execute('shop', `${LOAD_SQL} create role reader login password 'first'; ${GRANT}`);
  network = await startFaultProxy({ target: postgres });
  service = await startService({
    database: { host: network.host, port: network.port, name: 'shop', user: 'reader', password: 'first' },
    capabilities: CAPABILITIES,
  });
  load = startLoad(service);
  await load.settled();
  for (const running of [service.gateway, ...service.agents]) sizes.set(running, await sizeOf(running));
});

afterAll(async () => {
  await load.stop();
  await service.stop();
  await network.close();
  await postgres.stop();
  await folder.remove();
});

afterEach(async () => {
  network.resume();
  load.faults();
  await expectFewSessions();
});

async function expectFewSessions(): Promise<void> {
  const sessions = async (): Promise<number> =>
    (await query(`select pid from pg_stat_activity where ${OURS}`)).length;
  // One that was given up is there for a moment still when another has taken its place.
  await expect.poll(sessions).toBeLessThanOrEqual(MAX_CONNECTIONS);
}

async function query<Row extends pg.QueryResultRow>(sql: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: databaseUrl(postgres, 'shop') });
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

async function terminate(limit: number): Promise<void> {
  await query(
    `select pg_terminate_backend(pid) from pg_stat_activity where ${OURS} order by random() limit ${limit}`,
  );
}

async function endServer(signal: NodeJS.Signals): Promise<void> {
  process.kill(postgres.pid, signal);
  await postgres.exited;
}

async function startServer(): Promise<void> {
  const settings = { fsync: 'off', port: String(postgres.port) };
  postgres = await startPostgres({ folder: folder.path, settings });
}

/** What the agent has told of the database, in its log and on standard error. */
async function told(): Promise<{ readonly records: readonly string[]; readonly lines: number }> {
  const log = await readFile(join(service.agentFolder(0), 'svc-agent.log'), 'utf8');
  const records = [...log.matchAll(/"level":"(\w+)","event":"(database_\w+)"/g)];
  const lines = service.agents[0]?.output('stderr').split('\n') ?? [];
  return {
    records: records.map(([, level, event]) => `${level} ${event}`),
    lines: lines.filter((line) => line.includes('database')).length,
  };
}

async function isUp(): Promise<boolean> {
  const { body } = await askOnce(await agentMetricsPort(service), 'GET', '/metrics');
  return /^svc_agent_database_up 1$/m.test(body);
}

/** Until the load has seen it. */
async function seen(fault: string): Promise<void> {
  const faults = new Set<string>();
  await expect
    .poll(
      () => {
        for (const each of load.faults()) faults.add(each);
        return [...faults];
      },
      { timeout: 8000 },
    )
    .toEqual([fault]);
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

test.each([
  ['is stopped', 'SIGINT'],
  ['ends at once', 'SIGQUIT'],
  ['is killed', 'SIGKILL'],
] as const)(
  'a database that %s answers 502 while it is away, and serves within 5 s of its return',
  { tags: ['agent:database-lost', 'log:database_lost', 'log:database_back', 'metrics:database'] },
  async (_title, signal) => {
    const before = await told();
    expect(await isUp()).toBe(true);
    await endServer(signal);
    await seen(FAILED);
    await expect.poll(isUp).toBe(false);
    await startServer();
    await load.settled();
    expect(load.faults().filter((fault) => fault !== FAILED)).toEqual([]);
    expect(await isUp()).toBe(true);
    expect(await told()).toEqual({
      records: [...before.records, 'warn database_lost', 'info database_back'],
      lines: before.lines + 1,
    });
  },
);

test('a database that comes back as a standby serves, and its promotion fails no call', async () => {
  await endServer('SIGINT');
  const data = join(folder.path, 'data');
  const marker = join(data, 'standby.signal');
  await writeFile(marker, '');
  const { uid, gid } = await stat(data);
  await chown(marker, uid, gid);
  await startServer();
  await load.settled();
  expect(await query('select pg_is_in_recovery() as standby')).toEqual([{ standby: true }]);
  load.faults();
  await query('select pg_promote()');
  await load.settled();
  expect(load.faults()).toEqual([]);
});

test('a database that falls silent is waited for as long as a query may take, and serves once it is heard again', async () => {
  network.stall('to_client');
  await seen(TIMED_OUT);
  network.resume();
  await load.settled();
  expect(load.faults().filter((fault) => fault !== TIMED_OUT)).toEqual([]);
});

test('connections that fall silent for ever are replaced', async () => {
  const stranded = await query<{ pid: number }>(`select pid from pg_stat_activity where ${OURS}`);
  network.strand();
  await load.settled();
  expect(load.faults()).toEqual([TIMED_OUT]);
  // The server cannot know that nobody is behind them any more.
  await query(
    `select pg_terminate_backend(pid) from pg_stat_activity where pid in (${stranded.map(({ pid }) => pid).join()})`,
  );
});

test('sessions that are terminated over and over cost no other call than theirs', async () => {
  const before = load.right;
  for (let round = 0; round < 20; round += 1) {
    await terminate(3);
    await pause(50);
  }
  await load.settled();
  expect(load.faults().filter((fault) => fault !== FAILED)).toEqual([]);
  expect(load.right - before).toBeGreaterThan(100);
});

test('a server without connections for us answers 502, with few it serves, and fully within 5 s of having more', async () => {
  await query('alter role reader connection limit 0');
  await terminate(MAX_CONNECTIONS);
  await seen(FAILED);
  await query('alter role reader connection limit 3');
  await load.settled();
  load.faults();
  await query('alter role reader connection limit -1');
  await load.settled();
  expect(load.faults()).toEqual([]);
});

test('a password that is changed leaves the sessions there are at work; once it is right again, all is', async () => {
  await query("alter role reader password 'second'");
  await load.settled();
  expect(load.faults()).toEqual([]);
  await terminate(MAX_CONNECTIONS);
  await seen(FAILED);
  await query("alter role reader password 'first'");
  await load.settled();
  expect(load.faults().filter((fault) => fault !== FAILED)).toEqual([]);
});

test('a table may go, return, and change its types: what is answered is of the declared types', async () => {
  await query('drop table item');
  await seen(FAILED);
  await query(`${LOAD_SQL} ${GRANT}`);
  await load.settled();
  load.faults();
  await query('alter table item alter id type bigint, alter label type varchar(40)');
  await load.settled();
  expect(load.faults()).toEqual([]);
  await query('alter table item alter id type text');
  expect((await service.call('first_items', {})).status).toBe(502);
  load.faults();
  await query('alter table item alter id type int using id::int');
  await load.settled();
  expect(load.faults().filter((fault) => fault !== FAILED)).toEqual([]);
});

test('after all of it nothing is left, and both processes are those of the beginning', async () => {
  await load.stop();
  await expect
    .poll(async () => {
      const rows = await query<{ state: string }>(`select state from pg_stat_activity where ${OURS}`);
      return rows.filter(({ state }) => state !== 'idle');
    })
    .toEqual([]);
  for (const [running, before] of sizes) {
    const after = await sizeOf(running);
    expect(after.megabytes).toBeLessThan(before.megabytes + 120);
    expect(after.descriptors).toBeLessThan(before.descriptors + 5);
  }
  service.gateway.signal('SIGTERM');
  expect(await service.gateway.waitForLine((line) => line.includes('shutting_down'))).toContain(
    '"in_flight":0',
  );
});
