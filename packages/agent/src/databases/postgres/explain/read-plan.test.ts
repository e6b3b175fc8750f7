import { expect, test } from 'vitest';
import { readPlan } from './explain-query.ts';

const node = (type: string, planned: number, came: number, more: object = {}): object => ({
  'Node Type': type,
  'Plan Rows': planned,
  'Actual Rows': came,
  'Actual Loops': 1,
  'Actual Total Time': 1,
  ...more,
});

function kinds(plan: object): readonly string[] {
  return readPlan([{ Plan: plan, 'Planning Time': 1, 'Execution Time': 1 }]).findings.map(({ kind }) => kind);
}

test('an estimate is far off only where all rows were asked for', () => {
  const inner = (parent: object = {}): object =>
    node('Seq Scan', 20_000, 1, { 'Relation Name': 'film', 'Parent Relationship': 'Inner', ...parent });
  const loop = (joinType: string): object =>
    node('Nested Loop', 1, 1, { 'Join Type': joinType, Plans: [inner()] });
  expect(kinds(loop('Inner'))).toEqual(['estimate']);
  expect(kinds(loop('Semi'))).toEqual([]);
  expect(kinds(loop('Anti'))).toEqual([]);
  const hashJoin = (hashed: number): object =>
    node('Hash Join', 1, 0, {
      'Join Type': 'Inner',
      Plans: [inner({ 'Parent Relationship': 'Outer' }), node('Hash', 1, hashed)],
    });
  expect(kinds(hashJoin(1))).toEqual(['estimate']);
  expect(kinds(hashJoin(0))).toEqual([]);
});

test('what goes to disk in parallel workers counts together', () => {
  const onDisk = { 'Sort Space Type': 'Disk', 'Sort Space Used': 30 };
  const plan = node('Sort', 10, 10, {
    'Sort Space Type': 'Memory',
    'Sort Space Used': 25,
    Workers: [
      { 'Worker Number': 0, ...onDisk },
      { 'Worker Number': 1, ...onDisk },
    ],
  });
  expect(readPlan([{ Plan: plan }]).findings).toEqual([
    { kind: 'spill', message: expect.stringContaining('goes to disk (60 KB)') },
  ]);
});
