import { textReport } from '../../packages/agent/src/cli/check/check-report.ts';
import { runStartUpChecks } from '../../packages/agent/src/start-up/checks.ts';

/**
 * What `svc-agent check` says of a capability file, by the same checks and the same report, but in this process:
 * the executable takes half a second for each. It does not say how to see the details.
 */
export async function checkFile(
  file: string,
  { offline, env }: { readonly offline: boolean; readonly env: Readonly<Record<string, string>> },
): Promise<{ readonly code: number; readonly text: string }> {
  let text = '';
  let code = 0;
  const report = textReport(file, offline, { write: (piece: string) => (text += piece) });
  await runStartUpChecks({ file, content: undefined, offline }, env, (found) => {
    switch (found.step) {
      case 'well_formed':
        report.wellFormed(found);
        break;
      case 'readable':
        break;
      case 'verified':
        report.verified(found.findings);
        break;
      case 'malformed':
      case 'refused':
        report.refused(found.faults);
        code = 2;
    }
  });
  return { code, text };
}
