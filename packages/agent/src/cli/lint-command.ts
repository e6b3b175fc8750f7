import { isLevel, LEVELS } from '../lint/finding.ts';
import { fails, jsonReport, textReport } from '../lint/lint-report.ts';
import { complain, EXIT, type CommandInput, type ExitCode } from './command.ts';
import { detailsFields, showFaults } from './command-log.ts';
import { withCheckedFile } from './with-checked-file.ts';

/** `svc-agent lint`: checks the file, and prints what makes its capabilities hard to use. */
export async function lintCommand({ given, file, json, log }: CommandInput): Promise<ExitCode> {
  const failOn = given.value('fail-on') ?? 'error';
  if (!isLevel(failOn)) return complain(`\`--fail-on\` must be one of ${LEVELS.join(', ')}`);
  return withCheckedFile(
    {
      file,
      offline: given.has('offline'),
      lint: true,
      openLog: () => log,
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
