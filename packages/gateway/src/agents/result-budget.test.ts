import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { createResultBudget } from './result-budget.ts';

const TOTAL = 100;

// A model: who waits, in order, and who holds how much.
test('memory is granted first come first served, never more than there is, and each release counts once', () => {
  const step = fc.oneof(
    fc.record({ reserve: fc.integer({ min: 1, max: TOTAL }) }),
    fc.record({ release: fc.nat(15) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const budget = createResultBudget(TOTAL);
      const granted: number[] = [];
      const made: { bytes: number; state: 'waiting' | 'held' | 'released'; release: () => void }[] = [];
      const held = (): number => made.reduce((sum, one) => sum + (one.state === 'held' ? one.bytes : 0), 0);
      const expected: number[] = [];
      const grantWaiting = (): void => {
        for (const [index, one] of made.entries()) {
          if (one.state !== 'waiting') continue;
          if (held() + one.bytes > TOTAL) return;
          one.state = 'held';
          expected.push(index);
        }
      };
      for (const step of steps) {
        if ('reserve' in step) {
          const index = made.length;
          const one = { bytes: step.reserve, state: 'waiting' as const, release: (): void => {} };
          made.push(one);
          one.release = budget.reserve(step.reserve, () => granted.push(index));
        } else {
          const one = made[step.release % Math.max(1, made.length)];
          if (one === undefined) continue;
          one.release();
          one.state = 'released';
        }
        grantWaiting();
        expect(granted).toEqual(expected);
        expect(budget.reservedBytes).toBe(held());
        expect(budget.reservedBytes).toBeLessThanOrEqual(TOTAL);
      }
      for (const one of made) one.release();
      expect(budget.reservedBytes).toBe(0);
    }),
  );
});

test('a result that is granted memory may ask for more at once, and is served after those who wait', () => {
  const budget = createResultBudget(TOTAL);
  const granted: string[] = [];
  const first = budget.reserve(TOTAL, () => granted.push('first'));
  budget.reserve(10, () => {
    granted.push('second');
    budget.reserve(10, () => granted.push('asked by the second'));
  });
  budget.reserve(10, () => granted.push('third'));
  first();
  expect(granted).toEqual(['first', 'second', 'third', 'asked by the second']);
  expect(budget.reservedBytes).toBe(30);
});
