import type { Level } from '../lint/finding.ts';
import { fails, jsonReport, textReport } from '../lint/lint-report.ts';
import { logOfCommand } from '../telemetry/log-destination.ts';
import { EXIT, type ExitCode } from './exit-code.ts';
import { warnOfLostDetails } from './lost-details.ts';
import { printFaults } from './print-faults.ts';
import { withCheckedFile } from './with-checked-file.ts';

export interface LintOptions {
  /** The capability file. */
  readonly file: string;
  readonly failOn: Level;
  readonly offline: boolean;
  readonly json: boolean;
  /** The folder of the log file. */
  readonly home: string;
}

/** `svc-agent lint`: checks the file, and prints what makes its capabilities hard to use. */
export async function lintCommand({ file, failOn, offline, json, home }: LintOptions): Promise<ExitCode> {
  return withCheckedFile(
    {
      file,
      offline,
      lint: true,
      logTo: (logging) => logOfCommand(home, logging),
      onWellFormed: () => {},
      showFaults(faults) {
        if (json) process.stdout.write(jsonReport(file, failOn, [], faults));
        else printFaults(faults, process.stderr, file);
        warnOfLostDetails(faults, home);
      },
    },
    async ({ outcome: { lint = [] } }) => {
      process.stdout.write(json ? jsonReport(file, failOn, lint, []) : textReport(file, lint));
      return fails(lint, failOn) ? EXIT.no : EXIT.fine;
    },
  );
}
