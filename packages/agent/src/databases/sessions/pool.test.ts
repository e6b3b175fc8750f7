import type { AbortSignalLike } from '@svc/edge';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { DatabaseError } from '../driver/errors.ts';
import { Pool } from './pool.ts';
import type { PooledSession, PoolRules } from './pool-base.ts';

const rules: PoolRules = {
  hasTooMany: () => false,
  isOfEndedSession: () => false,
  mayPass: () => true,
  unavailable: () => new DatabaseError('unavailable', 'away'),
};
const limit = { signal: new AbortController().signal, timeoutMs: 5000 };

class Session implements PooledSession {
  isOver = false;
  #ended = (): void => {};
  onEnd(ended: () => void): void {
    this.#ended = ended;
  }
  /** As when the server ends it. */
  end(): void {
    this.isOver = true;
    this.#ended();
  }
  destroy(): void {
    this.isOver = true;
  }
  close(): void {
    this.isOver = true;
  }
}

let opened: Session[];
let pool: Pool<Session>;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
  opened = [];
  const open = (): Promise<Session> => {
    const session = new Session();
    opened.push(session);
    return Promise.resolve(session);
  };
  pool = new Pool(open, 4, rules);
});
afterEach(async () => {
  vi.useRealTimers();
  await pool.close();
});

test('a database that nobody has used for a minute is not connected to when it ends the last session', async () => {
  pool.release(await pool.acquire(limit));
  vi.advanceTimersByTime(60_001);
  opened[0]?.end();
  expect(pool.connections).toEqual({ idle: 0, busy: 0, opening: 0, waiting: 0 });
  expect(opened).toHaveLength(1);
  expect(pool.isUp).toBe(true);
  // The next call wakes it.
  pool.release(await pool.acquire(limit));
  expect(opened).toHaveLength(2);
});

test.each([
  ['idle', 59_000, true],
  ['busy', 600_000, false],
])('one that is in use is, when the last session ends %s', async (_title, afterMs, isReleased) => {
  const session = await pool.acquire(limit);
  if (isReleased) {
    vi.advanceTimersByTime(1);
    pool.release(session);
  }
  vi.advanceTimersByTime(afterMs);
  session.end();
  await expect.poll(() => pool.connections.idle).toBe(1);
  expect(opened).toHaveLength(2);
});

test('idle sessions that were not heard of since another fell silent are ended, others are not', async () => {
  const [silent, before, after] = await Promise.all([1, 2, 3].map(() => pool.acquire(limit)));
  if (silent === undefined || before === undefined || after === undefined) throw new Error('no session');
  vi.advanceTimersByTime(10);
  pool.release(before);
  vi.advanceTimersByTime(10);
  const since = performance.now();
  vi.advanceTimersByTime(10);
  pool.release(after);
  pool.discard(silent);
  pool.closeDoubtful(since);
  expect([silent, before, after].map(({ isOver }) => isOver)).toEqual([true, true, false]);
  expect(await pool.acquire(limit)).toBe(after);
  pool.release(after);
});

test('a connection that was being made meanwhile is given up, and a call that waits for it gets another', async () => {
  const signals: AbortSignalLike[] = [];
  const stuck = new Pool<Session>(
    (signal) =>
      new Promise((resolve, reject) => {
        signals.push(signal);
        if (signals.length > 1) resolve(new Session());
        signal.addEventListener('abort', () => reject(new Error('given up')));
      }),
    1,
    rules,
  );
  const waiting = stuck.acquire(limit);
  vi.advanceTimersByTime(10);
  stuck.closeDoubtful(performance.now());
  stuck.release(await waiting);
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
  expect(stuck.isUp).toBe(true);
  await stuck.close();
});
