import type { Verdict } from './judge.ts';

/** One line for a scenario, with further ones for what is wrong. */
export function scenarioLines(group: string, verdict: Verdict): readonly string[] {
  const { scenario, result, passed, skipped, exemptions, faults } = verdict;
  const head = `${group}  ${scenario}`;
  const reasons = [...new Set(exemptions.map(({ reason }) => reason))].join('; ');
  switch (result) {
    case 'failed':
      return [`${head}  FAILED`, ...faults.flatMap(indented)];
    case 'not applicable':
      return [`${head}  not applicable: ${reasons}`];
    case 'passed': {
      const left = skipped.length === 0 ? '' : `, ${skipped.length} left out by the suite`;
      const excepted = exemptions.map(
        ({ checks, reason }) => `; not applicable: ${checks.join(', ')}: ${reason}`,
      );
      return [`${head}  passed (${counted(passed, 'check')}${left})${excepted.join('')}`];
    }
  }
}

/** Such as `2025-11-25: 33 scenarios: 10 passed, 0 failed, 23 not applicable`. */
export function totalLine(group: string, verdicts: readonly Verdict[]): string {
  const [passed, failed, notApplicable] = (['passed', 'failed', 'not applicable'] as const).map(
    (result) => verdicts.filter((verdict) => verdict.result === result).length,
  );
  const checks = verdicts.reduce((sum, verdict) => sum + verdict.passed, 0);
  return (
    `${group}: ${counted(verdicts.length, 'scenario')}: ${passed} passed, ${failed} failed, ` +
    `${notApplicable} not applicable; ${counted(checks, 'check')} passed`
  );
}

export function indented(text: string): readonly string[] {
  return text.split('\n').map((line) => `    ${line}`);
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
