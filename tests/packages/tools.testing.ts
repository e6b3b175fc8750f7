import { findProgram } from '@svc/testkit';
import type { Report } from './make-packages.ts';

/** Whether the machine lacks one of the programs, which is told; `root` is the right to be another. */
export function lacks(...tools: readonly string[]): boolean {
  const missing = tools.filter((tool) =>
    tool === 'root' ? process.getuid?.() !== 0 : findProgram(tool) === undefined,
  );
  if (missing.length === 0) return false;
  process.stderr.write(`\nSKIPPED: some tests of packages, for want of ${missing.join(', ')}\n`);
  return true;
}

export function madeFiles({ made }: Report, kind: string): readonly string[] {
  return made.filter((each) => each.kind === kind).map(({ file }) => file);
}

/** What is not made is not tested. */
export function tell({ not_made: notMade }: Report): void {
  for (const { kind, reason } of notMade) process.stderr.write(`\nSKIPPED: packages ${kind}: ${reason}\n`);
}
