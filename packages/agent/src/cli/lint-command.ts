import type { Level } from '../lint/finding.ts';
import { fails, jsonReport, textReport } from '../lint/lint-report.ts';
import { detailsFields, showFaults, type CommandLog } from './command-log.ts';
import { EXIT, type ExitCode } from './exit-code.ts';
import { withCheckedFile } from './with-checked-file.ts';

export interface LintOptions {
  /** The capability file. */
  readonly file: string;
  readonly failOn: Level;
  readonly offline: boolean;
  readonly json: boolean;
  readonly log: CommandLog;
}

/** `svc-agent lint`: checks the file, and prints what makes its capabilities hard to use. */
export async function lintCommand({ file, failOn, offline, json, log }: LintOptions): Promise<ExitCode> {
  return withCheckedFile(
    {
      file,
      offline,
      lint: true,
      openLog: () => log,
      onWellFormed: () => {},
      showFaults(faults) {
        if (!json) return showFaults(faults, file, log);
        process.stdout.write(jsonReport(file, failOn, [], faults, detailsFields(faults, log)));
      },
    },
    async ({ outcome: { lint = [] } }) => {
      process.stdout.write(json ? jsonReport(file, failOn, lint, []) : textReport(file, lint));
      return fails(lint, failOn) ? EXIT.no : EXIT.fine;
    },
  );
}
