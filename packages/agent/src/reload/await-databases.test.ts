import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { DatabaseError } from '../databases/driver/errors.ts';
import type { ArrivalReport, VerifiedAgent } from '../start-up/report.ts';
import type { AgentEvent } from '../telemetry/events.ts';
import { awaitDatabases, type AwaitDatabases } from './await-databases.ts';
import { configOf } from './config.fixture.ts';

const settings = { driver: 'postgres', maxConnections: 2, requireReadonlyAccount: false };
const away = (name: string): VerifiedAgent['unverified'][number] => ({
  name,
  state: 'away',
  faults: [{ path: `databases.${name}`, message: 'cannot use the database', detail: 'ECONNREFUSED' }],
});

let served: VerifiedAgent;
let events: AgentEvent[];
let pings: number[];
let answers: boolean;
let verify: () => Promise<ArrivalReport>;
let awaiting: AwaitDatabases | undefined;
beforeEach(() => {
  vi.useFakeTimers();
  served = {
    config: { ...configOf(), databases: { library: settings, shop: settings, store: settings } },
    narrowed: [],
    prepared: [],
    description: Buffer.from(''),
    unverified: [away('shop')],
  };
  [events, pings, answers] = [[], [], false];
});
afterEach(() => {
  awaiting?.close();
  const timers = vi.getTimerCount();
  vi.useRealTimers();
  if (timers > 0) throw new Error(`${timers} timers were left behind`);
});

function start(random: number): AwaitDatabases {
  awaiting = awaitDatabases({
    serving: () => served,
    async swap(verified) {
      served = verified;
    },
    between: (work) => work(new AbortController().signal),
    connect: () => ({
      async ping() {
        pings.push(performance.now());
        if (!answers) throw new DatabaseError('unavailable', 'nothing listens there');
      },
      close: async () => {},
    }),
    verify: () => verify(),
    onFound: () => {},
    observe: (event) => events.push(event),
    random: () => random,
  });
  return awaiting;
}

function report(databases: ArrivalReport['databases']): ArrivalReport {
  return { databases, capabilities: [], narrowed: [], description: Buffer.from('') };
}

test.each([
  [0, [1, 2, 4, 8, 16, 30, 30]],
  [0.999_999, [2, 4, 8, 16, 32, 60, 60]],
])('with %d for chance the pauses are %j seconds', async (random, seconds) => {
  const began = performance.now();
  start(random);
  await vi.advanceTimersByTimeAsync(1000 * seconds.reduce((sum, each) => sum + each, 0) + 100);
  const pauses = pings.map((at, index) => Math.round((at - (pings[index - 1] ?? began)) / 1000));
  expect(pauses).toEqual(seconds);
  expect(events).toEqual([
    expect.objectContaining({
      event: 'database_away',
      database: 'shop',
      detail: 'databases.shop: ECONNREFUSED',
    }),
  ]);
});

test('one that is verified is told of once, and no more is looked for', async () => {
  start(0);
  answers = true;
  verify = async () =>
    report([
      { name: 'shop', state: 'verified', prepared: [{ capability: 'get' }], warnings: [], findings: [] },
    ]);
  await vi.advanceTimersByTimeAsync(1000);
  expect(served).toMatchObject({ unverified: [], prepared: [{ capability: 'get' }] });
  expect(events.map(({ event }) => event)).toEqual(['database_away', 'database_back']);
  expect(vi.getTimerCount()).toBe(0);
});

test('checks that come to an end by themselves are made again', async () => {
  start(0);
  answers = true;
  let calls = 0;
  verify = () => {
    calls++;
    return Promise.reject(new Error('the checks ended with SIGKILL'));
  };
  await vi.advanceTimersByTimeAsync(1000 + 2000 + 4000);
  expect(calls).toBe(3);
  expect(served.unverified).toMatchObject([{ state: 'away' }]);
});

test('of two that answer, one may pass and the other be refused', async () => {
  served = { ...served, unverified: [away('shop'), away('store')] };
  const kept = start(0);
  answers = true;
  const refused = {
    name: 'store',
    state: 'refused' as const,
    faults: [{ path: 'capabilities.get_item.sql', message: 'is refused' }],
  };
  verify = async () =>
    report([refused, { name: 'shop', state: 'verified', prepared: [], warnings: [], findings: [] }]);
  await vi.advanceTimersByTimeAsync(1000);
  expect(served.unverified).toEqual([refused]);
  expect(events.slice(2)).toEqual([
    expect.objectContaining({ event: 'database_refused', database: 'store', capabilities: 'get_item' }),
    expect.objectContaining({ event: 'database_back', database: 'shop' }),
  ]);
  // Nobody looks for what was refused, until a reload has judged it again.
  expect(vi.getTimerCount()).toBe(0);
  served = { ...served, unverified: [] };
  kept.served();
  expect(events.at(-1)).toMatchObject({ event: 'database_back', database: 'store' });
});
