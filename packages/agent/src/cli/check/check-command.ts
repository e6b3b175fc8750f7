import { statementCounts } from '../../capabilities/clauses.ts';
import { readonlyAccountFaults } from '../../start-up/readonly-account.ts';
import { EXIT, type CommandInput, type ExitCode } from '../command.ts';
import { withCheckedFile } from '../with-checked-file.ts';
import { jsonReport, textReport, transactionsOf } from './check-report.ts';

/** `svc-agent check`: checks the capability file and prints a report. */
export async function checkCommand({ given, file, json, log }: CommandInput): Promise<ExitCode> {
  const offline = given.has('offline');
  const report = (json ? jsonReport : textReport)(file, offline, process.stdout, log);
  const exitCode = await withCheckedFile(
    {
      file,
      offline,
      openLog: () => log,
      onWellFormed: (wellFormed) => report.wellFormed(wellFormed),
      showFaults: (faults) => report.refused(faults),
    },
    async ({ outcome, refuse }) => {
      report.warned(outcome.warnings);
      if (outcome.step === 'readable') return EXIT.fine;
      const { config } = outcome.verified;
      const counts = statementCounts(config.capabilities);
      report.verified(outcome.findings, outcome.notes, transactionsOf(outcome.verified), counts);
      const faults = readonlyAccountFaults(config, outcome.findings, 'this report');
      return faults.length > 0 ? refuse(faults) : EXIT.fine;
    },
  );
  report.end();
  return exitCode;
}
