import { testDatabase, type TestDatabase } from '@svc/testkit';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Query } from '../../driver.ts';
import {
  callOf,
  capabilityOf,
  configOf,
  queryOf,
  textOfRows,
  openPostgres,
  type TestedDatabase,
} from '../capability.fixture.ts';

let server: TestDatabase;
let database: TestedDatabase;
let sleep: Query;
let pid: Query;

beforeEach(async () => {
  server = await testDatabase();
  database = openPostgres(configOf(server, { maxConnections: 1 }));
  const params = { s: { type: 'number' } } as const;
  const sleeping = 'select 1 as a from pg_sleep(:s::float8)';
  sleep = await queryOf(
    database,
    capabilityOf(sleeping, { name: 'sleep', params, allowFunctions: ['pg_sleep'] }),
  );
  pid = await queryOf(database, capabilityOf('select pg_backend_pid() as a', { name: 'pid' }));
});
afterEach(() => database.close());

interface Activity {
  readonly state: string;
}

const ours = "datname = current_database() and application_name = 'svc-agent'";

async function running(): Promise<number> {
  return (
    await server.query<Activity>(`select state from pg_stat_activity where ${ours} and state <> 'idle'`)
  ).length;
}

/** Waits until the server is executing the sleep. */
async function asleep(): Promise<void> {
  const sql = `select state from pg_stat_activity where ${ours} and wait_event = 'PgSleep'`;
  while ((await server.query<Activity>(sql)).length === 0);
}

/** Ends our connections, and waits until the server has. */
async function terminate(): Promise<void> {
  const alive = await server.query<{ pid: number }>(
    `select pid, pg_terminate_backend(pid) from pg_stat_activity where ${ours}`,
  );
  const sql = 'select from pg_stat_activity where pid = any ($1)';
  while ((await server.query(sql, [alive.map((session) => session.pid)])).length > 0);
}

async function elapsed(work: Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work.catch(() => {});
  return performance.now() - started;
}

test('an abort ends the query in the database within a second, and the connection serves on', async () => {
  const before = textOfRows(await pid.run(callOf()));
  const abort = new AbortController();
  const call = sleep.run(callOf({ s: 30 }, { signal: abort.signal, timeoutMs: 30_000 }));
  await asleep();
  abort.abort();
  const took = elapsed(call);
  await expect(call).rejects.toMatchObject({ kind: 'cancelled' });
  expect(await took).toBeLessThan(1000);
  expect(await running()).toBe(0);
  expect(textOfRows(await pid.run(callOf()))).toBe(before);
});

test('the deadline ends the query, and the connection serves on', async () => {
  const before = textOfRows(await pid.run(callOf()));
  const call = sleep.run(callOf({ s: 30 }, { timeoutMs: 300 }));
  const took = elapsed(call);
  await expect(call).rejects.toMatchObject({ kind: 'timeout' });
  expect(await took).toBeLessThan(1300);
  expect(await running()).toBe(0);
  expect(textOfRows(await pid.run(callOf()))).toBe(before);
});

test('a query aborted over and over never hurts the one behind it', async () => {
  for (let round = 0; round < 30; round += 1) {
    const abort = new AbortController();
    const call = sleep.run(callOf({ s: 0.003 }, { signal: abort.signal }));
    const next = pid.run(callOf());
    setTimeout(() => abort.abort(), round % 10);
    await call.catch(() => {});
    expect((await next).count).toBe(1);
  }
});

describe('while waiting for a connection', () => {
  test('an abort and the deadline end the wait', async () => {
    const abort = new AbortController();
    const holder = new AbortController();
    const held = sleep.run(callOf({ s: 30 }, { signal: holder.signal }));
    const aborted = pid.run(callOf({}, { signal: abort.signal }));
    const late = pid.run(callOf({}, { timeoutMs: 50 }));
    abort.abort();
    await expect(aborted).rejects.toMatchObject({ kind: 'cancelled' });
    await expect(late).rejects.toMatchObject({ kind: 'timeout' });
    holder.abort();
    await expect(held).rejects.toMatchObject({ kind: 'cancelled' });
  });

  test('the first to come is the first served', async () => {
    const order: number[] = [];
    await Promise.all([1, 2, 3].map(async (n) => order.push((await pid.run(callOf())).count * n)));
    expect(order).toEqual([1, 2, 3]);
  });
});

test('an abort before the call does not reach the database', async () => {
  await expect(pid.run(callOf({}, { signal: AbortSignal.abort() }))).rejects.toMatchObject({
    kind: 'cancelled',
  });
});

test('a cancel request that was meant for another query does not fail the call', async () => {
  const call = sleep.run(callOf({ s: 0.5 }));
  await asleep();
  await server.query(`select pg_cancel_backend(pid) from pg_stat_activity where ${ours}`);
  expect((await call).count).toBe(1);
});

test('a connection lost while idle is replaced without failing a call', async () => {
  await pid.run(callOf());
  await terminate();
  expect((await pid.run(callOf())).count).toBe(1);
});

test('a connection lost under a query fails that call only', async () => {
  const call = sleep.run(callOf({ s: 30 }));
  const failure = call.catch((error: unknown) => error);
  await asleep();
  await terminate();
  expect(await failure).toMatchObject({ kind: 'unavailable' });
  expect((await pid.run(callOf())).count).toBe(1);
});

test('closing lets the running call end and refuses new ones', async () => {
  const call = sleep.run(callOf({ s: 0.2 }));
  await asleep();
  const closed = database.close();
  await expect(pid.run(callOf())).rejects.toMatchObject({ kind: 'unavailable' });
  expect((await call).count).toBe(1);
  await closed;
});
