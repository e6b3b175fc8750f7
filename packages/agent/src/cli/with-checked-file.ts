import type { AgentConfig } from '../config/model.ts';
import type { VerificationFault } from '../databases/driver/errors.ts';
import { checkInChildProcess } from '../start-up/child-process.ts';
import { recordsOf } from '../reload/found-records.ts';
import type { StartUpOutcome, WellFormed } from '../start-up/report.ts';
import type { Log } from '../telemetry/log.ts';
import { crashDetail, EXIT, type ExitCode } from './command.ts';
import { logFaults } from './print-faults.ts';

export interface FileToCheck {
  readonly file: string;
  /** This and the next three as in `StartUpOrder`; absent: no. */
  readonly offline?: boolean;
  readonly only?: string;
  readonly toleratesAway?: boolean;
  readonly lint?: boolean;
  /** Called once; `logging` is undefined for faults that are found before the file's own section is known. */
  readonly openLog: (logging: AgentConfig['logging'] | undefined) => Log;
  readonly onWellFormed?: (report: WellFormed) => void;
  readonly showFaults: (faults: readonly VerificationFault[]) => void;
  /** The exit code of the command for these faults; absent: wrong usage. */
  readonly exitCodeOf?: (faults: readonly VerificationFault[]) => ExitCode;
}

type PassedOutcome = Exclude<StartUpOutcome, { step: 'refused' }>;

export interface CheckedFile {
  /** What the checks found; it is in the log already. */
  readonly outcome: PassedOutcome;
  readonly log: Log;
  /** Shows and logs faults; returns the exit code for them. */
  readonly refuse: (faults: readonly VerificationFault[]) => ExitCode;
}

/**
 * Runs the start-up checks of a file, and `work` if it passes them. The log is complete when this resolves, however
 * the work has ended.
 */
export async function withCheckedFile(
  { openLog, onWellFormed, showFaults, exitCodeOf = () => EXIT.usage, ...order }: FileToCheck,
  work: (checked: CheckedFile) => Promise<ExitCode>,
): Promise<ExitCode> {
  let opened: Log | undefined;
  const theLog = (logging?: AgentConfig['logging']): Log => (opened ??= openLog(logging));
  let crashing = false;
  const crash = async (error: unknown): Promise<void> => {
    // A crash here may make the checks in the child process fail, too: one record is enough.
    if (crashing) return;
    crashing = true;
    theLog().observe({ event: 'crashed', detail: crashDetail(error) });
    await theLog().close();
    process.exit(EXIT.failure);
  };
  process.on('uncaughtException', (error) => void crash(error));
  const refuse = (faults: readonly VerificationFault[]): ExitCode => {
    logFaults(faults, theLog());
    showFaults(faults);
    return exitCodeOf(faults);
  };
  let exitCode: ExitCode = EXIT.failure;
  try {
    const outcome = await checkInChildProcess({ offline: false, ...order }, (report) => {
      theLog(report.logging);
      onWellFormed?.(report);
    });
    if (outcome.step === 'malformed' || outcome.step === 'refused') {
      exitCode = refuse(outcome.faults);
    } else {
      const log = theLog();
      for (const record of recordsOf({ findings: [], ...outcome })) log.observe(record);
      exitCode = await work({ outcome, log, refuse });
    }
  } catch (error) {
    await crash(error);
  }
  await opened?.close();
  return exitCode;
}
