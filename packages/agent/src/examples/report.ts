import { counted } from '@svc/edge';
import type { Fault, Position } from '../capabilities/fault.ts';

export interface ExampleResult {
  readonly capability: string;
  /** Which of the capability's examples, from 1. */
  readonly number: number;
  readonly position: Position;
  /** Whether the example says who calls, which nothing verifies. */
  readonly hasPrincipal: boolean;
  readonly ms: number;
  readonly problems: readonly string[];
}

export interface ExamplesReport {
  /** The capability file. */
  readonly file: string;
  readonly results: readonly ExampleResult[];
  readonly ms: number;
}

export function failures({ results }: ExamplesReport): readonly ExampleResult[] {
  return results.filter(({ problems }) => problems.length > 0);
}

/** Lines for people: each difference with its place in the file, then the totals. */
export function textReport(report: ExamplesReport): string {
  const { file, results, ms } = report;
  if (results.length === 0) return `${file}: no examples\n`;
  const failed = failures(report);
  const lines = failed.flatMap(({ capability, number, position: { line, column }, problems }) =>
    problems.map((problem) => `${file}:${line}:${column}  ${capability} example ${number}: ${problem}`),
  );
  const sum = `${counted(results.length, 'example', 'examples')}, ${results.length - failed.length} as expected`;
  const end = `${sum}${failed.length === 0 ? '' : `, ${failed.length} not`} (${Math.round(ms)} ms)`;
  const isTold = results.some(({ hasPrincipal }) => hasPrincipal);
  const note = isTold ? ['who calls is taken from the examples, and nothing verified it'] : [];
  return `${[...lines, ...note, end].join('\n')}\n`;
}

/** One JSON object for programs. With `faults` in the file no example runs; `more` are further fields. */
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
