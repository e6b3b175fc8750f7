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

test('one process is judged against two, and against MCP Toolbox by bounds of its own', () => {
  const cases = (
    [
      ['svc', 100],
      ['svc-serve', 82],
      ['toolbox', 115],
    ] as const
  ).map(([name, cpu]) =>
    measuredCase(
      name,
      twentySlots(() => cpu),
    ),
  );
  // 0.82 times two processes, and 0.71 times Toolbox, of which two may take 0.85 and one 0.70.
  expect(verdicts(cases, NOTHING)).toMatchObject({
    'one row, REST, 32 connections: CPU': 'missed',
    'one row, REST, 32 connections, svc serve: CPU': 'missed',
    'one row, REST, 32 connections, svc serve: CPU with the database': 'met',
  });
  const toSvc = judgeGoals(cases, NOTHING).find(({ to }) => to === 'svc');
  expect(toSvc).toMatchObject({ bound: { most: 0.82 }, verdict: 'met' });
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
