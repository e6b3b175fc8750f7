import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { createCallerLoads, type CallerLoad } from './caller-loads.ts';

const WINDOW_MS = 2000;

let now = 0;

/** A caller with so many calls at once, each of which took so long; `stays` of them wait on. */
function after(caller: CallerLoad, calls: number, ms: number, stays = 0): CallerLoad {
  for (let call = 0; call < calls; call++) caller.arrived();
  const starts = Array.from({ length: calls - stays }, () => caller.started());
  now += ms;
  for (const startedAt of starts) caller.ended(startedAt);
  return caller;
}

/** The same again, often enough for a steady caller. */
function steadily(caller: CallerLoad, calls: number): CallerLoad {
  for (let made = 0; made < 10; made += calls) after(caller, calls, 1);
  return caller;
}

test('a caller that is alone may take all, whatever its calls take', () => {
  const alone = after(createCallerLoads(() => now).of('alone'), 500, 5000, 500);
  expect(alone).toMatchObject({ isAlone: true });
  expect([alone.most(10), alone.most(64), alone.spare(10)]).toEqual([10, 64, 0]);
});

test('beside others a caller whose calls take long leaves what they had at once, up to equal shares', () => {
  const callers = createCallerLoads(() => now);
  steadily(callers.of('few'), 3);
  const slow = after(callers.of('slow'), 500, 100, 499);
  expect([slow.most(64), slow.most(10), slow.most(4), slow.most(1)]).toEqual([61, 7, 2, 1]);
  after(callers.of('many'), 50, 1);
  expect([slow.most(64), slow.most(10), slow.most(2)]).toEqual([30, 3, 1]);
  // Enough for all: none has to leave anything.
  expect(slow.most(1000)).toBe(1000);
});

test('one whose calls are over soon leaves an eighth at most, until some run for long', () => {
  const callers = createCallerLoads(() => now);
  after(callers.of('other'), 50, 1);
  const quick = after(callers.of('quick'), 500, 1);
  expect([quick.most(64), quick.most(10), quick.most(1)]).toEqual([56, 8, 1]);
  for (let call = 0; call < 20; call++) {
    quick.arrived();
    quick.started();
  }
  now += 21;
  expect([quick.most(64), quick.most(10)]).toEqual([32, 5]);
});

test('what a caller had at once counts for two to four seconds, and what it has for as long as it has it', () => {
  now = 10 * WINDOW_MS;
  const callers = createCallerLoads(() => now);
  steadily(callers.of('gone'), 4);
  const slow = after(callers.of('slow'), 500, 100, 500);
  expect(slow.most(16)).toBe(12);
  now += WINDOW_MS;
  callers.of('slow');
  expect(slow.most(16)).toBe(12);
  now += WINDOW_MS;
  callers.of('slow');
  expect([slow.most(16), slow.isAlone]).toEqual([16, true]);
  callers.of('waits').arrived();
  now += 5 * WINDOW_MS;
  callers.of('slow');
  expect(slow.most(16)).toBe(15);
});

test('one that called a few times only counts while it has calls', () => {
  const callers = createCallerLoads(() => now);
  const seldom = after(callers.of('seldom'), 3, 1);
  const slow = after(callers.of('slow'), 500, 100, 500);
  expect([slow.most(16), slow.spare(16)]).toEqual([16, 0]);
  seldom.arrived();
  expect([slow.most(16), slow.spare(16)]).toEqual([13, 2]);
  seldom.left();
  expect(slow.most(16)).toBe(16);
});

test('those that called a few times and have no calls are none to share with', () => {
  const callers = createCallerLoads(() => now);
  for (let name = 0; name < 70; name++) after(callers.of(`seldom ${name}`), 1, 1);
  const [one, other] = ['one', 'other'].map((name) => after(callers.of(name), 50, 0, 50));
  expect([one?.most(10), other?.most(10), one?.most(64)]).toEqual([5, 5, 32]);
});

test('only the one with more than half of all calls spares connections for others', () => {
  const callers = createCallerLoads(() => now);
  const [most, few] = [after(callers.of('most'), 5, 0, 5), after(callers.of('few'), 4, 0, 4)];
  expect([most.spare(10), few.spare(10), most.spare(1)]).toEqual([2, 0, 0]);
});

test('equal shares add up to no more than there is, and nobody who wants less than one lacks any', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 2, maxLength: 20 }),
      fc.integer({ min: 1, max: 100 }),
      (wanted, capacity) => {
        const callers = createCallerLoads(() => now);
        const all = wanted.map((calls, index) => after(callers.of(String(index)), calls, 0, calls));
        const given = all.map((caller, index) => Math.min(caller.most(capacity), wanted[index] ?? 0));
        const total = given.reduce((sum, each) => sum + each, 0);
        expect(Math.min(...given)).toBeGreaterThanOrEqual(1);
        if (wanted.length <= capacity) expect(total).toBeLessThanOrEqual(capacity);
        const largest = Math.max(...given);
        for (const [index, each] of given.entries())
          if (each < (wanted[index] ?? 0)) expect(each).toBe(largest);
      },
    ),
  );
});

test('however many names there are, they take no more memory than ten thousand', () => {
  const callers = createCallerLoads(() => now);
  for (let name = 0; name < 10_000; name++) callers.of(String(name)).arrived();
  expect(callers.of('one more')).toBe(callers.of('and another'));
  expect(callers.of('1')).not.toBe(callers.of('one more'));
});
