import type { Finding } from './finding.ts';

/** More than these of one kind hide all others. */
const MOST = 5;

/** Findings of one kind, as one where they are many: `what` has to be done, and where. */
export function atOnce(findings: readonly Finding[], what: string): readonly Finding[] {
  const [first] = findings;
  if (first === undefined || findings.length <= MOST) return findings;
  const capabilities = [...new Set(findings.map(({ capability }) => capability))];
  const paths = findings.slice(0, MOST).map(({ path }) => `\`${path.slice('capabilities.'.length)}\``);
  const message = `${what} (${paths.join(', ')}, ${findings.length - MOST} more)`;
  return [{ ...first, capability: '', capabilities, path: 'capabilities', message }];
}
