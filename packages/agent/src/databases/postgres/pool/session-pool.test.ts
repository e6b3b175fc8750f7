import { testDatabase } from '@svc/testkit';
import { expect, test } from 'vitest';
import { configOf } from '../capability.fixture.ts';
import { SessionPool } from './session-pool.ts';
import { openSession } from '../connection/session.ts';

test('nobody overtakes who waits for a connection alone', async () => {
  const server = await testDatabase();
  const wait = { signal: new AbortController().signal, timeoutMs: 5000 };
  const pool = new SessionPool((signal) => openSession(configOf(server), signal), 1);
  const session = await pool.acquire(wait, true);
  expect(pool.take(true)).toBe(session);
  const alone = pool.acquire(wait);
  expect(pool.take(true)).toBeUndefined();
  pool.release(session);
  expect(pool.take(true)).toBeUndefined();
  pool.release(session);
  expect(await alone).toBe(session);
  expect(pool.take(true)).toBeUndefined();
  pool.release(session);
  await pool.close();
});

test('a session that is being left is not lent, not even to a brief borrower', async () => {
  const server = await testDatabase();
  const wait = { signal: new AbortController().signal, timeoutMs: 5000 };
  const pool = new SessionPool((signal) => openSession(configOf(server), signal), 3);
  const [hung, brief] = [await pool.acquire(wait), await pool.acquire(wait, true)];
  pool.release(brief);
  pool.abandon(hung, [], performance.now() + 1);
  expect(pool.take(true)).toBeUndefined();
  await pool.close();
});
