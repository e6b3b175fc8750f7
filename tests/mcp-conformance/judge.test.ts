import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { judge, type Check, type Exemption, type Outcome } from './judge.ts';

function check(id: string, status: Check['status'], name = 'Name'): Check {
  return { id, name, status, ...(status === 'SUCCESS' ? {} : { errorMessage: `about ${id}` }) };
}

function one(checks: readonly Check[], ...exemptions: readonly Omit<Exemption, 'scenario'>[]) {
  const { verdicts, faults } = judge(
    ['prompts'],
    [{ scenario: 'prompts', checks }],
    exemptions.map((exemption) => ({ scenario: 'prompts', ...exemption })),
  );
  expect(faults).toEqual([]);
  expect(verdicts).toHaveLength(1);
  const { result, faults: own } = verdicts[0] ?? { result: undefined, faults: [] };
  return { result, faults: own };
}

const reason = 'no prompts';

describe('a scenario', () => {
  test('passes when all of its checks do', () => {
    expect(one([check('a', 'SUCCESS'), check('b', 'SKIPPED'), check('c', 'INFO')])).toEqual({
      result: 'passed',
      faults: [],
    });
  });

  test.each(['FAILURE', 'WARNING'] as const)('fails on a %s that is not listed', (status) => {
    expect(one([check('a', 'SUCCESS'), check('b', status)])).toEqual({
      result: 'failed',
      faults: [`${status} b (Name): about b`],
    });
  });

  test('does not apply when all that it checks is listed', () => {
    const checks = [check('a', 'FAILURE'), check('b', 'WARNING'), check('wire-schema-valid', 'SUCCESS')];
    expect(one(checks, { checks: ['a', 'b'], reason })).toEqual({ result: 'not applicable', faults: [] });
  });

  test('passes but for the checks that are listed', () => {
    const checks = [check('a', 'FAILURE'), check('b', 'SUCCESS')];
    expect(one(checks, { checks: ['a'], reason })).toEqual({ result: 'passed', faults: [] });
  });

  test('fails on a failure beside the listed one, even of the same id', () => {
    const checks = [check('a', 'FAILURE', 'One'), check('a', 'FAILURE', 'Two')];
    expect(one(checks, { checks: ['a (One)'], reason }).faults).toEqual(['FAILURE a (Two): about a']);
  });

  test('fails when a listed check passes, is skipped or is gone', () => {
    const checks = [check('a', 'SUCCESS'), check('b', 'SKIPPED')];
    expect(one(checks, { checks: ['a', 'b', 'c'], reason })).toEqual({
      result: 'failed',
      faults: [
        'the list names its check a, which passes',
        'the list names its check b, which passes',
        'the list names its check c, which it does not have',
      ],
    });
  });

  test('fails when only some of the checks with a listed id fail', () => {
    const checks = [check('a', 'FAILURE', 'One'), check('a', 'SUCCESS', 'Two')];
    expect(one(checks, { checks: ['a'], reason }).faults).toEqual([
      'the list names its check a, which passes in part',
    ]);
  });

  test('fails when it checks nothing, unless that is listed', () => {
    expect(one([check('a', 'INFO')]).result).toBe('failed');
    expect(one([check('a', 'SKIPPED'), check('wire-schema-valid', 'SUCCESS')]).result).toBe('failed');
    expect(one([check('a', 'INFO')], { checks: [], reason })).toEqual({
      result: 'not applicable',
      faults: [],
    });
    expect(one([check('a', 'SUCCESS')], { checks: [], reason }).faults).toEqual([
      'the list says that it checks nothing, but it does',
    ]);
  });

  test('fails when it has no results, listed or not', () => {
    const outcome: Outcome = { scenario: 'prompts', checks: [], fault: 'it ran for more than 60 s' };
    const exemption = { scenario: 'prompts', checks: ['a'], reason };
    expect(judge(['prompts'], [outcome], [exemption]).verdicts[0]?.faults).toEqual([
      'it ran for more than 60 s',
    ]);
    expect(judge(['prompts'], [], [exemption]).verdicts[0]?.faults).toEqual(['it did not run']);
  });
});

describe('a run', () => {
  test('fails when the list names a scenario that the suite does not have', () => {
    expect(judge(['a'], [], [{ scenario: 'b', checks: [], reason }]).faults).toEqual([
      'the list names b, which the suite does not have',
    ]);
  });

  test('fails when the suite lists nothing', () => {
    expect(judge([], [], []).faults).toEqual(['the suite lists no scenario']);
  });
});

test('the list of what does not apply gives each check once, with a reason', () => {
  const text = readFileSync(new URL('not-applicable.json', import.meta.url), 'utf8');
  const lists: Readonly<Record<string, readonly Exemption[]>> = JSON.parse(text);
  const exemptions = Object.entries(lists).flatMap(([group, list]) =>
    list.map((exemption) => ({ group, ...exemption })),
  );
  const keys = exemptions.flatMap(({ group, scenario, checks }) =>
    checks.length === 0 ? [`${group}: ${scenario}`] : checks.map((key) => `${group}: ${scenario}: ${key}`),
  );
  expect(keys).toEqual([...new Set(keys)]);
  expect(exemptions.filter((exemption) => exemption.reason.trim() === '')).toEqual([]);
});
