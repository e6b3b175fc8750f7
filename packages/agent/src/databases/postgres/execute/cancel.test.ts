import { testDatabase, type TestDatabase } from '@svc/testkit';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Query } from '../../driver/driver.ts';
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
  expect(await took).toBeLessThan(5000);
  expect(await running()).toBe(0);
  expect(textOfRows(await pid.run(callOf()))).toBe(before);
});

test('the deadline ends the query, and the connection serves on', async () => {
  const before = textOfRows(await pid.run(callOf()));
  const call = sleep.run(callOf({ s: 30 }, { timeoutMs: 300 }));
  const took = elapsed(call);
  await expect(call).rejects.toMatchObject({ kind: 'timeout' });
  expect(await took).toBeLessThan(5300);
  expect(await running()).toBe(0);
  expect(textOfRows(await pid.run(callOf()))).toBe(before);
});

describe('while waiting for a connection', () => {
  test('the first to come is the first served', async () => {
    const order: number[] = [];
    await Promise.all([1, 2, 3].map(async (n) => order.push((await pid.run(callOf())).count * n)));
    expect(order).toEqual([1, 2, 3]);
  });
});

test('a cancel request that was meant for another query does not fail the call', async () => {
  const call = sleep.run(callOf({ s: 0.5 }));
  await asleep();
  await server.query(`select pg_cancel_backend(pid) from pg_stat_activity where ${ours}`);
  expect((await call).count).toBe(1);
});
