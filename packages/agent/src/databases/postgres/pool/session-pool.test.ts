import { testDatabase } from '@svc/testkit';
import { expect, test } from 'vitest';
import type { CallerShare } from '../../driver/driver.ts';
import { configOf } from '../capability.fixture.ts';
import { SessionPool } from './session-pool.ts';
import { openSession } from '../connection/database-session.ts';

test('short transactions do not overtake one that waits for a session alone', async () => {
  const server = await testDatabase();
  const limit = { signal: new AbortController().signal, timeoutMs: 5000 };
  const pool = new SessionPool((signal) => openSession(configOf(server), signal), 1);
  const session = await pool.acquire(limit, 1);
  expect(pool.tryAcquire(1)).toBe(session);
  const alone = pool.acquire(limit);
  expect(pool.tryAcquire(1)).toBeUndefined();
  pool.release(session);
  expect(pool.tryAcquire(1)).toBeUndefined();
  pool.release(session);
  expect(await alone).toBe(session);
  expect(pool.tryAcquire(1)).toBeUndefined();
  pool.release(session);
  await pool.close();
});

test('a session that is being closed is not handed out, not even to a short transaction', async () => {
  const server = await testDatabase();
  const limit = { signal: new AbortController().signal, timeoutMs: 5000 };
  const pool = new SessionPool((signal) => openSession(configOf(server), signal), 3);
  const [hung, idle] = [await pool.acquire(limit), await pool.acquire(limit, 1)];
  pool.release(idle);
  pool.orphan(hung, [], performance.now() + 1);
  expect(pool.tryAcquire(1)).toBeUndefined();
  await pool.close();
});

test('a session that is released twice is a defect, and not handed out twice', async () => {
  const server = await testDatabase();
  const limit = { signal: new AbortController().signal, timeoutMs: 5000 };
  const pool = new SessionPool((signal) => openSession(configOf(server), signal), 1);
  const session = await pool.acquire(limit);
  pool.release(session);
  expect(() => pool.release(session)).toThrow('released a session that is idle');
  expect(pool.connections).toEqual({ idle: 1, busy: 0, opening: 0, waiting: 0 });
  await pool.close();
});

/** One that may hold `most` sessions. */
function callerWith(most: number): CallerShare {
  return { isAlone: false, most: () => most, spare: () => 0 };
}

test('a short call takes what is idle where none is under way to be sent behind, however many calls its caller has', async () => {
  const server = await testDatabase();
  const signal = new AbortController().signal;
  const pool = new SessionPool((opening) => openSession(configOf(server), opening), 3);
  const leavesOne: CallerShare = { isAlone: false, most: () => 3, spare: () => 1 };
  const held = [1, 2].map(async () => pool.acquire({ signal, timeoutMs: 5000, share: callerWith(2) }));
  const slow = await Promise.all(held);
  const quick = await pool.acquire({ signal, timeoutMs: 5000, share: leavesOne }, 1);
  expect(slow).not.toContain(quick);
  for (const session of [...slow, quick]) pool.release(session);
  await pool.close();
});

test('a caller with its share waits, and calls of others go past it until it gives one back', async () => {
  const server = await testDatabase();
  const signal = new AbortController().signal;
  const pool = new SessionPool((opening) => openSession(configOf(server), opening), 3);
  const [many, few] = [callerWith(2), callerWith(3)];
  const ofMany = { signal, timeoutMs: 5000, share: many };
  const ofFew = { ...ofMany, share: few };
  const held = [await pool.acquire(ofMany), await pool.acquire(ofMany)];
  const order: string[] = [];
  const waiting = [1, 2].map(async (number) => {
    const session = await pool.acquire(ofMany);
    order.push(`many ${number}`);
    pool.release(session);
  });
  const third = await pool.acquire(ofFew, 1);
  expect(pool.tryAcquire(1, few)).toBe(third);
  pool.release(third);
  pool.release(third);
  const again = await pool.acquire(ofFew);
  // Behind the calls of the other caller, and before them: they have to leave it.
  const next = pool.acquire(ofFew).then((session) => {
    order.push('few');
    pool.release(session);
  });
  pool.release(again);
  await next;
  expect(order).toEqual(['few']);
  for (const session of held) pool.release(session);
  await Promise.all(waiting);
  expect(order).toEqual(['few', 'many 1', 'many 2']);
  expect(pool.connections).toEqual({ idle: 3, busy: 0, opening: 0, waiting: 0 });
  await pool.close();
});

test('a caller with most calls leaves the last session to others, and sends short calls behind one another', async () => {
  const server = await testDatabase();
  const limit = { signal: new AbortController().signal, timeoutMs: 5000 };
  const pool = new SessionPool((opening) => openSession(configOf(server), opening), 2);
  const all = [await pool.acquire(limit), await pool.acquire(limit)];
  for (const session of all) pool.release(session);
  const [many, few] = [{ isAlone: false, most: () => 2, spare: () => 1 }, callerWith(2)];
  const shared = pool.tryAcquire(1, many);
  expect(pool.tryAcquire(1, many)).toBe(shared);
  const last = pool.tryAcquire(1, few);
  expect(last).toBeDefined();
  expect(last).not.toBe(shared);
  for (const session of [shared, shared, last]) if (session !== undefined) pool.release(session);
  expect(pool.connections).toEqual({ idle: 2, busy: 0, opening: 0, waiting: 0 });
  await pool.close();
});
