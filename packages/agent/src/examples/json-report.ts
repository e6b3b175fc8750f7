import type { Fault } from '../capabilities/fault.ts';
import { failures, type ExamplesReport } from './report.ts';

/** One JSON object for programs; `faults` keep the examples from being run, and `more` stands beside them. */
export function jsonReport(report: ExamplesReport, faults: readonly Fault[], more: object = {}): string {
  const { file, results, ms } = report;
  const failed = failures(report).length;
  const examples = results.map(({ capability, number, position, hasPrincipal, ms: took, problems }) => ({
    capability,
    example: number,
    ok: problems.length === 0,
    ...position,
    ...(hasPrincipal ? { principal_verified: false } : {}),
    duration_ms: rounded(took),
    problems,
  }));
  const document = {
    ok: failed === 0 && faults.length === 0,
    file,
    passed: results.length - failed,
    failed,
    duration_ms: rounded(ms),
    examples,
    faults: faults.map(({ path, message, position }) => ({ path, message, ...position })),
    ...more,
  };
  return `${JSON.stringify(document)}\n`;
}

function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
