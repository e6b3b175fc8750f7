import { counted } from '@svc/edge';
import { failures, type ExamplesReport } from './report.ts';

/** Lines for people: each difference with its place in the file, and the sum. */
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
  const note = isTold ? ['who calls is taken as the examples say, nothing of it was verified'] : [];
  return `${[...lines, ...note, end].join('\n')}\n`;
}
