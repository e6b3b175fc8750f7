import type { Service } from '@svc/testkit';
import { makeCall, type Outcome } from './calls.ts';

const THINK_MS = 10;
/** Right answers in a row that tell that all is well again. */
const STREAK = 200;

/** Many callers, one call each at a time. */
export interface MixedLoad {
  readonly calls: number;
  /** Calls whose answer has not come. */
  readonly underWay: number;
  /** How many ended how: by 'right', or by the code of their failure. */
  readonly outcomes: ReadonlyMap<string, number>;
  readonly byKind: ReadonlyMap<string, number>;
  /** From now on failures are, or are not, what a fault may cause. */
  expectFailures(expected: boolean): void;
  /**
   * Resolves true once 200 calls in a row were right and no call from before the first of them is under way; false
   * after `withinMs`.
   */
  settled(withinMs: number): Promise<boolean>;
  /** Lets every call end. */
  stop(): Promise<void>;
}

/** `violation` hears of each answer that no fault excuses. */
export function startMixedLoad(options: {
  readonly service: Service;
  readonly callers: number;
  readonly random: () => number;
  readonly violation: (what: string) => void;
}): MixedLoad {
  const { service, callers, random, violation } = options;
  const outcomes = new Map<string, number>();
  const byKind = new Map<string, number>();
  const underWay = new Set<number>();
  const watchers = new Set<() => void>();
  let calls = 0;
  let streak = 0;
  let streakFrom = performance.now();
  let failuresExpected = false;
  let lastFailureExpectedAt = 0;
  let stopped = false;

  function count(outcome: Outcome & { readonly of: string }, startedAt: number): void {
    calls++;
    byKind.set(outcome.of, (byKind.get(outcome.of) ?? 0) + 1);
    const name = outcome.kind === 'failed' ? outcome.code : outcome.kind;
    outcomes.set(name, (outcomes.get(name) ?? 0) + 1);
    // A call that was under way during a fault may still bear its mark.
    const excused = failuresExpected || startedAt < lastFailureExpectedAt;
    if (outcome.kind === 'wrong') violation(`${outcome.of}: ${outcome.what}`);
    if (outcome.kind === 'failed' && !excused) violation(`${outcome.of}: ${outcome.code}, without a fault`);
    streak = outcome.kind === 'right' ? streak + 1 : 0;
    if (streak <= 1) streakFrom = performance.now();
    for (const watch of watchers) watch();
  }

  async function caller(): Promise<void> {
    while (!stopped) {
      const startedAt = performance.now();
      underWay.add(startedAt);
      const outcome = await makeCall(service, random);
      underWay.delete(startedAt);
      count(outcome, startedAt);
      await new Promise((resolve) => setTimeout(resolve, THINK_MS));
    }
  }

  const running = Array.from({ length: callers }, caller);
  return {
    get calls() {
      return calls;
    },
    get underWay() {
      return underWay.size;
    },
    outcomes,
    byKind,
    expectFailures(expected) {
      if (failuresExpected && !expected) lastFailureExpectedAt = performance.now();
      failuresExpected = expected;
    },
    settled(withinMs) {
      streak = 0;
      return new Promise((resolve) => {
        const finish = (well: boolean): void => {
          clearTimeout(timer);
          watchers.delete(watch);
          resolve(well);
        };
        const watch = (): void => {
          const oldest = Math.min(...underWay);
          if (streak >= STREAK && oldest >= streakFrom) finish(true);
        };
        const timer = setTimeout(() => finish(false), withinMs);
        watchers.add(watch);
      });
    },
    async stop() {
      stopped = true;
      await Promise.all(running);
    },
  };
}
