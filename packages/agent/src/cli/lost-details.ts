import type { VerificationFault } from '../databases/errors.ts';
import { LOG_FILE, notKept, writeProblem } from '../telemetry/log-destination.ts';

/** Whether the log file holds more of these faults than what is shown. */
export function hasDetails(faults: readonly VerificationFault[]): boolean {
  return faults.some(({ message, detail }) => detail !== undefined || message.includes(LOG_FILE));
}

/** Says on standard error that the log file, to which these faults refer, cannot be written. */
export function warnOfLostDetails(faults: readonly VerificationFault[], home: string, advice = ''): void {
  const problem = hasDetails(faults) ? writeProblem(home) : undefined;
  if (problem !== undefined) process.stderr.write(`svc-agent: ${notKept(home, problem)}${advice}\n`);
}
