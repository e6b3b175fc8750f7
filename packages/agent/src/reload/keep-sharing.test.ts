import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Capability } from '../capabilities/model.ts';
import type { PreparedCapability, TransactionForm } from '../databases/driver/driver.ts';
import { DatabaseError, databaseFault } from '../databases/driver/errors.ts';
import type { ReverifyOrder, ReverifyReport, VerifiedAgent } from '../start-up/report.ts';
import type { AgentEvent } from '../telemetry/events.ts';
import { configOf } from './config.fixture.ts';
import { keepSharing, type KeepSharing } from './keep-sharing.ts';

const SHARED: TransactionForm = { form: 'shared' };
const OWN: TransactionForm = { form: 'own', reason: 'row_security' };
const AWAY = databaseFault(new DatabaseError('unavailable', 'nothing listens there'));

let served: VerifiedAgent;
let events: AgentEvent[];
let orders: { readonly at: number; readonly order: ReverifyOrder }[];
let verify: () => Promise<ReverifyReport>;
let swapFails: boolean;
let sharing: KeepSharing;
beforeEach(() => {
  vi.useFakeTimers();
  served = {
    config: { ...configOf(), capabilities: ['a', 'b', 'c'].map(capability) },
    narrowed: [],
    prepared: [prepared('a'), prepared('b'), prepared('c', OWN)],
    description: Buffer.from('described'),
    unverified: [],
  };
  [events, orders, swapFails] = [[], [], false];
  verify = () => Promise.resolve({ faults: [], prepared: [] });
  sharing = keepSharing({
    serving: () => served,
    async swap(verified) {
      if (swapFails) throw new DatabaseError('unavailable', 'the agent ends');
      served = verified;
    },
    between: (work) => work(new AbortController().signal),
    verify(order) {
      orders.push({ at: Math.round(performance.now() / 1000), order });
      return verify();
    },
    observe: (event) => events.push(event),
  });
});
afterEach(() => {
  sharing.close();
  const timers = vi.getTimerCount();
  vi.useRealTimers();
  if (timers > 0) throw new Error(`${timers} timers were left behind`);
});

function capability(name: string): Capability {
  const position = { line: 1, column: 1 };
  return {
    name,
    description: '',
    sql: 'select 1 as a',
    params: [],
    result: [],
    limits: { timeoutMs: 1000, maxRows: 1, maxBytes: 1000, onLimit: 'truncate' },
    allowFunctions: [],
    allowForeignTables: [],
    exposeInOpenapi: true,
    position,
    sqlPosition: position,
  };
}

function prepared(name: string, transaction: TransactionForm = SHARED): PreparedCapability {
  return { capability: name, transaction };
}

function judging(...found: readonly PreparedCapability[]): () => Promise<ReverifyReport> {
  return () => Promise.resolve({ faults: [], prepared: found });
}

const seconds = (count: number): Promise<unknown> => vi.advanceTimersByTimeAsync(1000 * count);
const told = (): readonly string[] =>
  events.map((event) => `${event.event} ${'capability' in event ? event.capability : ''}`);
const formOf = (name: string): unknown =>
  served.prepared.find((each) => each.capability === name)?.transaction;

test('sharing_ended is logged once, however many sessions and workers report it', () => {
  for (const name of ['a', 'a', 'b', 'a', 'c', 'unknown']) sharing.end(name);
  expect(told()).toEqual(['sharing_ended a', 'sharing_ended b']);
  expect([...sharing.ended]).toEqual(['a', 'b']);
});

test('a capability that may share again is prepared again and logged as sharing_back, and nothing else changes', async () => {
  const before = served;
  const fresh = prepared('a');
  verify = judging(fresh);
  sharing.end('a');
  await seconds(10);
  expect(orders.map(({ order }) => order.reverify.capabilities.map(({ name }) => name))).toEqual([['a']]);
  expect(told()).toEqual(['sharing_ended a', 'sharing_back a']);
  expect(served).toEqual(before);
  expect([served.config, served.prepared[0], served.prepared[1]]).toEqual([
    before.config,
    fresh,
    before.prepared[1],
  ]);
  expect(served.prepared[0]).toBe(fresh);
  expect(served.prepared[1]).toBe(before.prepared[1]);
  expect(sharing.ended.size).toBe(0);
  expect(vi.getTimerCount()).toBe(0);
});

test('what may not share any more stays own without another record, until a later judgement', async () => {
  verify = judging(prepared('a', OWN));
  sharing.end('a');
  await seconds(10);
  expect(formOf('a')).toEqual(OWN);
  // A worker tells late of what has been replaced.
  sharing.end('a');
  await seconds(600);
  expect([orders.length, told()]).toEqual([1, ['sharing_ended a']]);
  await sharing.take(sharing.begin(), [prepared('a'), prepared('b'), prepared('c', OWN)]);
  expect(told()).toEqual(['sharing_ended a', 'sharing_back a']);
  expect(formOf('a')).toEqual(SHARED);
});

test('it is judged once a minute at most, however many end, and each within a minute', async () => {
  verify = () =>
    Promise.resolve({
      faults: [],
      prepared: orders.at(-1)?.order.reverify.capabilities.map(({ name }) => prepared(name)) ?? [],
    });
  const began = Math.round(performance.now() / 1000);
  sharing.end('a');
  await seconds(5);
  sharing.end('b');
  await seconds(6);
  sharing.end('a');
  await seconds(30);
  sharing.end('b');
  await seconds(300);
  expect(orders.map(({ at }) => at - began)).toEqual([10, 70]);
  expect(told()).toEqual([
    'sharing_ended a',
    'sharing_ended b',
    'sharing_back a',
    'sharing_back b',
    'sharing_ended a',
    'sharing_ended b',
    'sharing_back a',
    'sharing_back b',
  ]);
});

test.each([
  ['its database is away', () => Promise.resolve({ faults: [AWAY], prepared: [] })],
  ['the checks end by themselves', () => Promise.reject(new Error('the checks ended with SIGKILL'))],
])('while %s it is tried again a minute later', async (_title, failing) => {
  verify = failing;
  const began = Math.round(performance.now() / 1000);
  sharing.end('a');
  await seconds(140);
  verify = judging(prepared('a'));
  await seconds(60);
  expect(orders.map(({ at }) => at - began)).toEqual([10, 70, 130, 190]);
  expect(told()).toEqual(['sharing_ended a', 'sharing_back a']);
});

test('a reload that judges the capability again logs sharing_back, and one that cannot does not', async () => {
  sharing.end('a');
  sharing.end('b');
  // The same objects: the database is away.
  served = { ...served, config: { ...served.config } };
  sharing.served();
  expect([told().length, [...sharing.ended]]).toEqual([2, ['a', 'b']]);
  served = { ...served, prepared: [prepared('a'), prepared('b', OWN)] };
  sharing.served();
  expect(told().slice(2)).toEqual(['sharing_back a']);
  await seconds(600);
  expect([orders, told().length]).toEqual([[], 3]);
});

test('a capability that the file has no more is forgotten', async () => {
  sharing.end('a');
  served = {
    ...served,
    config: { ...served.config, capabilities: [capability('b')] },
    prepared: [prepared('b')],
  };
  sharing.served();
  served = {
    ...served,
    config: { ...served.config, capabilities: [capability('a')] },
    prepared: [prepared('a')],
  };
  sharing.served();
  await seconds(600);
  expect([orders, told()]).toEqual([[], ['sharing_ended a']]);
});

test('a judgement of what has ended or was replaced since it began is left', async () => {
  const begun = sharing.begin();
  sharing.end('a');
  await sharing.take(begun, [prepared('a'), prepared('b')]);
  expect([...sharing.ended]).toEqual(['a']);
  const replaced = prepared('b', OWN);
  served = { ...served, prepared: [...served.prepared.filter((each) => each.capability !== 'b'), replaced] };
  await sharing.take(begun, [prepared('b')]);
  expect(formOf('b')).toBe(replaced.transaction);
  served = { ...served, config: { ...served.config } };
  await sharing.take({ ...sharing.begin(), verified: begun.verified }, [prepared('a')]);
  expect(told()).toEqual(['sharing_ended a']);
});

test('a verification of everything takes up what is judged otherwise, both ways, and keeps the rest as it is', async () => {
  const [a] = served.prepared;
  const own: TransactionForm = { form: 'own', reason: 'function' };
  await sharing.take(sharing.begin(), [prepared('a'), prepared('b', own), prepared('c')]);
  expect(served.prepared[0]).toBe(a);
  expect([formOf('b'), formOf('c')]).toEqual([own, SHARED]);
  expect(events).toEqual([]);
});

test('an end that a session reports between a swap and its notice counts for what is served now', () => {
  sharing.end('a');
  served = { ...served, prepared: [prepared('a'), prepared('b')] };
  sharing.end('a');
  expect(told()).toEqual(['sharing_ended a', 'sharing_back a', 'sharing_ended a']);
});

test('a judgement that shares with other tables is served', async () => {
  const begun = sharing.begin();
  const fresh = { ...prepared('a'), shared: { relations: [{ oid: '2' }] } };
  await sharing.take(begun, [fresh]);
  expect(served.prepared[0]).toBe(fresh);
});

test('an agent that ends neither serves nor logs a judgement', async () => {
  verify = judging(prepared('a'));
  sharing.end('a');
  swapFails = true;
  await seconds(10);
  sharing.close();
  await seconds(600);
  expect([orders.length, told()]).toEqual([1, ['sharing_ended a']]);
});
