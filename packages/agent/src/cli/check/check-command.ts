import { join } from 'node:path';
import { jsonReport, textReport } from './check-report.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { logOfCommand, LOG_FILE, writeProblem } from '../../telemetry/log-destination.ts';
import { hasDetails, warnOfLostDetails } from '../lost-details.ts';
import { readonlyAccountFaults } from '../../start-up/readonly-account.ts';
import { withCheckedFile } from '../with-checked-file.ts';

export interface CheckOptions {
  /** The capability file. */
  readonly file: string;
  readonly offline: boolean;
  /** Shows database text, where standard output is a terminal. */
  readonly details: boolean;
  readonly json: boolean;
  /** The folder of the log file. */
  readonly home: string;
}

/** `svc-agent check`: checks the capability file and prints a report. */
export async function checkCommand({ file, offline, details, json, home }: CheckOptions): Promise<ExitCode> {
  const shown = !details ? 'unasked' : process.stdout.isTTY ? 'shown' : 'no_terminal';
  const report = json
    ? jsonReport(file, offline, process.stdout)
    : textReport(file, offline, process.stdout, shown);
  const exitCode = await withCheckedFile(
    {
      file,
      offline,
      // Standard output has the report, so the log is a file whatever logging.output says.
      logTo: (logging) => logOfCommand(home, logging),
      onWellFormed: (wellFormed) => report.wellFormed(wellFormed),
      showFaults(faults) {
        const kept = hasDetails(faults) && writeProblem(home) === undefined;
        report.refused(faults, kept ? join(home, LOG_FILE) : undefined);
        warnOfLostDetails(faults, home, '; --details shows it on a terminal');
      },
    },
    async ({ outcome, refuse }) => {
      report.warned(outcome.warnings);
      if (outcome.step === 'readable') return EXIT.fine;
      report.verified(outcome.findings);
      const faults = readonlyAccountFaults(outcome.verified.config, outcome.findings);
      return faults.length > 0 ? refuse(faults) : EXIT.fine;
    },
  );
  report.end();
  return exitCode;
}
