import { expect, test } from 'vitest';
import { judgeGoals } from './compare-goals.ts';
import { measuredCase, twentySlots } from './compare.testing.ts';

const NOTHING = { memory: {}, rollbacks: undefined, agentWrites: undefined };

function verdicts(...args: Parameters<typeof judgeGoals>): Readonly<Record<string, string>> {
  const judged = judgeGoals(...args).filter(({ verdict }) => verdict !== 'not measured');
  return Object.fromEntries(judged.map(({ title, verdict }) => [title, verdict]));
}

test('goals are judged by the interval of the ratios', () => {
  const cases = [
    // 0.81 to 1.00 times: the interval, 0.86 to 0.95, holds the 0.90 that CPU may be.
    measuredCase(
      'svc',
      twentySlots((round) => 80 + round),
    ),
    measuredCase(
      'svc-before',
      twentySlots(() => 100),
    ),
    measuredCase(
      'svc-own',
      twentySlots(() => 88),
    ),
  ];
  expect(verdicts(cases, NOTHING)).toEqual({
    'one row, REST, 32 connections: throughput': 'missed',
    'one row, REST, 32 connections: CPU': 'open',
    'one row, REST, 32 connections: CPU with the database': 'missed',
    'one row, REST, 32 connections, svc, own transactions: CPU with the database': 'met',
  });
});

test('what is counted once is met or missed', () => {
  const counted = { memory: { svc: { gateway: 85, agent: 55.1 } }, rollbacks: 0.4, agentWrites: 0.26 };
  expect(verdicts([], counted)).toEqual({
    'one row, REST, 32 connections: rollbacks': 'met',
    'one row, REST, 32 connections: writes of the agent': 'missed',
    'private memory of the gateway': 'met',
    'private memory of the agent': 'missed',
  });
});
