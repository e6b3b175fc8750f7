import pg from 'pg';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { DatabaseChange } from '../../driver/driver.ts';
import type { DatabaseError } from '../../driver/errors.ts';
import { poolRules, unavailable } from '../connection/server-errors.ts';
import { Outage } from '../../sessions/outage.ts';

let now = 0;
let changes: boolean[] = [];

function reached(): Outage {
  now = 1000;
  changes = [];
  const outage = new Outage(
    poolRules,
    ({ isUp }: DatabaseChange) => changes.push(isUp),
    () => now,
  );
  outage.ended();
  return outage;
}

/** As the server words it. */
function refusedWith(state: string): DatabaseError {
  const error = new pg.DatabaseError('refused', 7, 'error');
  error.code = state;
  return unavailable(error);
}

const closed = unavailable(new Error('connect ECONNREFUSED'));

test('who waits is kept waiting for 5 s of an outage, and refused at once in what comes after', () => {
  const outage = reached();
  outage.refused(closed);
  now += 4999;
  outage.refused(closed);
  expect(outage.isHopeless).toBe(false);
  now += 1;
  expect(outage.isHopeless).toBe(true);
  expect(changes).toEqual([false]);
  outage.ended();
  outage.refused(closed);
  expect(outage.isHopeless).toBe(false);
  expect(changes).toEqual([false, true, false]);
  outage.stopTrying();
});

test.each([
  ['is starting', '57P03', true],
  ['is out of memory', '53200', true],
  ['refuses the password', '28P01', false],
  ['has no such database any more', '3D000', false],
])('a server that %s is lost, and waited for where it may pass: %s, %s', (_title, state, mayPass) => {
  const outage = reached();
  outage.refused(refusedWith(state));
  expect([outage.isLost, outage.isHopeless]).toEqual([true, !mayPass]);
});

test('a server with too many connections is not lost, and waited for however long it takes', () => {
  const outage = reached();
  outage.refused(refusedWith('53300'));
  now += 60_000;
  expect([outage.isLost, outage.isHopeless]).toEqual([false, false]);
  outage.refused(closed);
  outage.refused(refusedWith('53300'));
  expect(changes).toEqual([false, true]);
});

test('a session that the server ends while it is made is no loss yet, as a pooler may hand it out', () => {
  const outage = reached();
  outage.refused(refusedWith('57P01'));
  now += 499;
  outage.refused(refusedWith('57P01'));
  expect([outage.isLost, outage.isHopeless]).toEqual([false, false]);
  outage.ended();
  expect(changes).toEqual([]);
  outage.refused(refusedWith('57P01'));
  now += 500;
  outage.refused(refusedWith('57P01'));
  expect(changes).toEqual([false]);
  outage.stopTrying();
});

test('the longer a server has too many connections, the longer the pause between attempts', () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const outage = reached();
  outage.refused(refusedWith('53300'));
  now += 60_000;
  let attempts = 0;
  outage.tryLater(true, () => attempts++);
  vi.advanceTimersByTime(180);
  expect(attempts).toBe(0);
  vi.advanceTimersByTime(140);
  expect(attempts).toBe(1);
});

test('a database that was never reached is not waited for, and cannot be lost', () => {
  now = 0;
  const told: DatabaseChange[] = [];
  const outage = new Outage(poolRules, (change) => told.push(change));
  for (const error of [closed, refusedWith('53300')]) {
    outage.refused(error);
    expect([outage.isLost, outage.isHopeless]).toEqual([false, true]);
  }
  outage.ended();
  expect(told).toEqual([]);
});
