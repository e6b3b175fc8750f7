import { startFaultProxy, testDatabase, type TestDatabase } from '@svc/testkit';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { Query } from '../../driver/driver.ts';
import {
  callOf,
  capabilityOf,
  configOf,
  queryOf,
  type CapabilityOptions,
  openPostgres,
  type TestedDatabase,
} from '../capability.fixture.ts';

const MAX = 2;
const ours = "datname = current_database() and application_name = 'svc-agent'";

let server: TestDatabase;
let database: TestedDatabase;
beforeEach(async () => {
  server = await testDatabase({
    sql: [
      `create function stubborn(s int) returns int language plpgsql stable as $$
        declare till timestamptz := clock_timestamp() + make_interval(secs => s);
        begin
          while clock_timestamp() < till loop
            begin
              while clock_timestamp() < till loop
                begin perform pg_sleep(s); exception when query_canceled then null; end;
              end loop;
            exception when query_canceled then null; end;
          end loop;
          return s;
        end $$`,
    ],
  });
  database = openPostgres(configOf(server, { maxConnections: MAX }));
});
afterEach(() => database.close());

/** How many of the agent's connections run a query, of those that fit the condition. */
async function backends(condition = 'true'): Promise<number> {
  const where = `${ours} and state = 'active' and ${condition}`;
  const rows = await server.query<{ n: string }>(`select count(*) as n from pg_stat_activity where ${where}`);
  return Number(rows[0]?.n);
}

/**
 * Calls again and again with little time each. Returns the most of the agent's queries that ran at one time, without the
 * one that checks orphaned sessions.
 */
async function attack(query: Query, s: number, calls: number): Promise<number> {
  let most = 0;
  let over = false;
  const watching = (async () => {
    while (!over) most = Math.max(most, await backends("query not like '%pg_terminate_backend%'"));
  })();
  const signal = new AbortController().signal;
  for (let n = 0; n < calls; n += MAX) {
    const pair = Array.from({ length: MAX }, () => query.run(callOf({ s }, { signal, timeoutMs: 200 })));
    for (const { status } of await Promise.allSettled(pair)) expect(status).toBe('rejected');
  }
  over = true;
  await watching;
  return most;
}

const stubborn: readonly [string, CapabilityOptions] = [
  'select stubborn(:s::int) as a',
  { params: { s: { type: 'integer' } }, allowFunctions: ['stubborn'] },
];

test.each([
  ['catches its cancellation', 60, ...stubborn],
  [
    'looks for its cancellation late',
    20,
    "select length(format('%' || (:s * 3000000)::text || 's', 'x')) as a",
    { params: { s: { type: 'integer' } } },
  ],
] as const)(
  'a query that %s takes no more connections than there may be',
  async (_title, s, sql, options) => {
    const query = await queryOf(database, capabilityOf(sql, options));
    expect(await attack(query, s, 6)).toBeLessThanOrEqual(MAX);
    await expect.poll(() => backends()).toBe(0);
    const plain = await queryOf(database, capabilityOf('select 1 as a'));
    expect((await plain.run(callOf())).count).toBe(1);
    await expect.poll(() => database.connections.busy).toBe(0);
  },
);

describe('through a network that keeps back the closing of connections', () => {
  test.each([
    ['another session', MAX + 1],
    ['one more connection, when all are orphaned,', MAX],
  ])('what goes on is ended over %s', async (_title, maxConnections) => {
    const network = await startFaultProxy({ target: server });
    const { host, port } = network;
    const distant = openPostgres(configOf({ ...server, host, port }, { maxConnections, sslmode: 'disable' }));
    onTestFinished(async () => {
      await distant.close();
      await network.close();
    });
    const query = await queryOf(distant, capabilityOf(...stubborn));
    const caller = new AbortController();
    const call = callOf({ s: 60 }, { signal: caller.signal, timeoutMs: 60_000 });
    const runs = Array.from({ length: MAX }, () => query.run(call));
    await expect.poll(() => backends("query like '%stubborn%'")).toBe(MAX);
    network.strand();
    caller.abort();
    await Promise.allSettled(runs);
    expect(distant.connections.busy).toBeGreaterThan(0);
    await expect.poll(() => backends()).toBe(0);
    const plain = await queryOf(distant, capabilityOf('select 1 as a'));
    expect((await plain.run(callOf())).count).toBe(1);
    await expect.poll(() => distant.connections.busy).toBe(0);
  });
});
