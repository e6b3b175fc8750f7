import { testDatabase } from '@svc/testkit';
import { expect, test } from 'vitest';
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
