import { expect, test } from 'vitest';
import type { DatabaseChange } from '../databases/driver/driver.ts';
import { createDatabaseLoss, sumOfTransactions } from './database-loss.ts';
import type { WorkerState } from './messages.ts';

const IDLE: WorkerState = { idle: 1, busy: 0, opening: 0, waiting: 0, isUp: true };
const UNUSED: WorkerState = { ...IDLE, idle: 0 };
const LOST: WorkerState = { ...UNUSED, isUp: false };
/** Its query was left to itself. */
const LOST_WITH_ORPHAN: WorkerState = { ...LOST, busy: 1 };
const LOSS = { advice: 'check host', detail: 'connect ECONNREFUSED' };

test.each<readonly [string, readonly (readonly [WorkerState, WorkerState])[], readonly boolean[]]>([
  [
    'both lose it, one after the other',
    [
      [LOST, IDLE],
      [LOST, LOST],
      [IDLE, LOST],
      [IDLE, IDLE],
    ],
    [false, true],
  ],
  [
    'one loses it while the other has a connection',
    [
      [LOST, IDLE],
      [IDLE, IDLE],
    ],
    [],
  ],
  [
    'one had nothing to do',
    [
      [LOST, UNUSED],
      [LOST, UNUSED],
      [IDLE, UNUSED],
    ],
    [false, true],
  ],
  [
    'one has not yet noticed',
    [
      [LOST, UNUSED],
      [LOST, IDLE],
      [LOST, LOST],
      [LOST, IDLE],
      [IDLE, IDLE],
    ],
    [false, true],
  ],
  [
    'queries were left',
    [
      [LOST_WITH_ORPHAN, LOST],
      [IDLE, LOST],
      [LOST, LOST],
      [UNUSED, UNUSED],
    ],
    [false, true, false, true],
  ],
])('a loss and its end are told once: %s', (_title, steps, told) => {
  const changes: DatabaseChange[] = [];
  let now = 0;
  const loss = createDatabaseLoss(
    (change) => changes.push(change),
    () => now,
  );
  for (const states of steps) {
    now += 250;
    loss.changed(states, LOSS);
  }
  expect(changes.map(({ isUp }) => isUp)).toEqual(told);
  for (const change of changes) {
    if (change.isUp) expect(change.awayMs % 250).toBe(0);
    else expect(change).toEqual({ isUp: false, ...LOSS });
  }
  expect(loss.isLost).toBe(false);
});

test('transactions are summed over workers that count them', () => {
  const one = { own: 1, shared: 2, sharedCalls: 8, sharedResends: 3 };
  expect(sumOfTransactions([undefined, one, undefined, one])).toEqual({
    own: 2,
    shared: 4,
    sharedCalls: 16,
    sharedResends: 6,
  });
  expect(sumOfTransactions([undefined, undefined])).toBeUndefined();
});
