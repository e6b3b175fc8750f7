import './ignored-signals.ts';
import { realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CannotListen, firstSignal, tolerateClosedOutput } from '@svc/edge';
import { startAgent } from './agent.ts';
import { jsonReport, textReport } from './cli/check-report.ts';
import { HELP } from './cli/help.ts';
import { parseArguments } from './cli/arguments.ts';
import { printFaults } from './cli/print-faults.ts';
import type { AgentConfig } from './config/model.ts';
import type { Fault } from './config/fault.ts';
import { editorSchema } from './config/schema/editor-schema.ts';
import { type VerificationFault, databaseFault } from './databases/errors.ts';
import { driverOf } from './databases/drivers.ts';
import { createLog, type Log } from './telemetry/log.ts';
import type { AuditFinding, StartUpOutcome, VerifiedAgent, WellFormed } from './start-up/report.ts';
import { checkInChildProcess } from './start-up/child-process.ts';

declare const __SVC_VERSION__: string;

const LOG_FILE = 'svc-agent.log';
const EXIT_FAILURE = 1;
const EXIT_USAGE = 2;
/** For faults found before the file's own `logging` section is known. */
const LOG_DEFAULTS = { maxSizeBytes: 10 * 1024 * 1024, maxFiles: 5 };

/** The folder of the real file, symbolic links resolved: where `capability.yaml` and the log live. */
const home = dirname(realpathSync(__filename));

void main(process.argv.slice(2));

async function main(argv: readonly string[]): Promise<void> {
  tolerateClosedOutput('svc-agent', EXIT_FAILURE);
  const command = parseArguments(argv);
  switch (command.kind) {
    case 'help':
      process.stdout.write(HELP);
      return;
    case 'version':
      process.stdout.write(`${__SVC_VERSION__}\n`);
      return;
    case 'schema':
      process.stdout.write(`${JSON.stringify(editorSchema(), undefined, 2)}\n`);
      return;
    case 'usage_error':
      process.stderr.write(`svc-agent: ${command.message}\n`);
      process.exitCode = EXIT_USAGE;
      return;
    case 'check':
      await check(capabilityFile(command.config), command);
      return;
    case 'run':
      await run(capabilityFile(command.config));
  }
}

/** The argument, else the environment, else next to the executable. */
function capabilityFile(argument: string | undefined): string {
  return argument ?? process.env['AGENT_CAPABILITY_FILE'] ?? join(home, 'capability.yaml');
}

async function check(file: string, { offline, json }: CheckOptions): Promise<void> {
  const report = (json ? jsonReport : textReport)(file, offline, process.stdout);
  const job: Job = {
    file,
    offline,
    wellFormed: ({ capabilities }) => report.wellFormed(capabilities),
    say: (faults) => report.refused(faults, detailsOf(faults)),
  };
  await withChecked(job, async (outcome, log) => {
    switch (outcome.step) {
      case 'refused':
        refuse(outcome.faults, job.say, log);
        return;
      case 'readable':
        report.warned(outcome.warnings);
        logWarnings(outcome.warnings, log);
        return;
      case 'verified': {
        const { verified, warnings, findings } = outcome;
        report.warned(warnings);
        logWarnings(warnings, log);
        report.verified(findings);
        for (const finding of findings) log.observe({ event: 'account_finding', ...finding });
        if (findings.length > 0 && verified.config.database.requireReadonlyAccount) {
          refuse([notReadonly(verified.config, findings)], job.say, log);
        }
      }
    }
  });
  report.end();
}

/** The log file, where that has more to say. */
function detailsOf(faults: readonly VerificationFault[]): string | undefined {
  const refers = faults.some(({ message, detail }) => detail !== undefined || message.includes(LOG_FILE));
  return refers ? join(home, LOG_FILE) : undefined;
}

async function run(file: string): Promise<void> {
  const say: Say = (faults) => printFaults(faults, process.stderr, file);
  const job: Job = { file, offline: false, wellFormed: () => {}, say };
  await withChecked(job, async (outcome, log) => {
    switch (outcome.step) {
      case 'refused':
        refuse(outcome.faults, say, log);
        return;
      case 'readable':
        throw new Error('cannot run: the database has not been asked');
      case 'verified':
        logWarnings(outcome.warnings, log);
        await serve(outcome.verified, outcome.findings, job, log);
    }
  });
  process.exit();
}

/** Runs until a signal comes. */
async function serve(
  verified: VerifiedAgent,
  findings: readonly AuditFinding[],
  { file, say }: Job,
  log: Log,
): Promise<void> {
  const { config } = verified;
  for (const finding of findings) log.observe({ event: 'account_finding', ...finding });
  if (findings.length > 0 && config.database.requireReadonlyAccount) {
    refuse([notReadonly(config, findings)], say, log);
    return;
  }
  if (findings.length > 0) log.observe({ event: 'account_audited', findings: findings.length });
  const database = driverOf(config.database.driver).connect(config.database, (change) => {
    if (change.isUp) log.observe({ event: 'database_back', away_ms: change.awayMs });
    else log.observe({ event: 'database_lost', reason: change.advice, detail: change.detail });
  });
  try {
    // The connections of the checks are gone; the first caller should find one.
    await database.ping();
  } catch (error) {
    await database.close();
    refuse([databaseFault(error)], say, log);
    return;
  }
  // From the first sign of life on, a signal ends the agent gracefully.
  const signal = firstSignal(EXIT_FAILURE);
  log.observe({
    event: 'starting',
    version: __SVC_VERSION__,
    config_file: file,
    capabilities: config.capabilities.length,
  });
  try {
    const agent = await startAgent({ ...verified, database }, log);
    await agent.shutDown(await signal);
  } catch (error) {
    if (!(error instanceof CannotListen)) throw error;
    await database.close();
    process.stderr.write(`svc-agent: cannot start: ${error.message}\n`);
    log.observe({ event: 'startup_fault', path: error.setting, message: error.reason, detail: '' });
    process.exitCode = EXIT_FAILURE;
  }
}

function logWarnings(warnings: readonly Fault[], log: Log): void {
  for (const { path, message } of warnings) log.observe({ event: 'startup_warning', path, message });
}

function notReadonly({ database }: AgentConfig, findings: readonly AuditFinding[]): VerificationFault {
  const audited = findings.every(({ detail }) => detail === undefined);
  const why = audited
    ? `the account may do more than read: ${LOG_FILE} lists what and how to mend it`
    : `the account could not be audited (${LOG_FILE} says why)`;
  const position = database.requireReadonlyAccountPosition;
  return {
    path: 'database.require_readonly_account',
    message: `is true, but ${why}`,
    ...(position === undefined ? {} : { position }),
  };
}

interface CheckOptions {
  readonly offline: boolean;
  readonly json: boolean;
}

/** Tells the user of faults. */
type Say = (faults: readonly VerificationFault[]) => void;

interface Job {
  readonly file: string;
  readonly offline: boolean;
  readonly wellFormed: (report: WellFormed) => void;
  readonly say: Say;
}

/** Checks the file, and does the work that needs it with a log that is complete however the work ends. */
async function withChecked(
  { file, offline, wellFormed, say }: Job,
  work: (outcome: StartUpOutcome, log: Log) => Promise<void>,
): Promise<void> {
  let log = openLog(LOG_DEFAULTS);
  let crashing = false;
  // A stack trace may quote the database; it goes to the log file only.
  const crash = async (error: unknown): Promise<void> => {
    // The process of the checks may fail by what has failed here already.
    if (crashing) return;
    crashing = true;
    const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
    log.observe({ event: 'crashed', detail });
    await log.close();
    process.exit(EXIT_FAILURE);
  };
  process.on('uncaughtException', (error) => void crash(error));
  try {
    const outcome = await checkInChildProcess({ file, offline }, (report) => {
      log = openLog(report.logging);
      wellFormed(report);
    });
    if (outcome.step === 'malformed') refuse(outcome.faults, say, log);
    else await work(outcome, log);
  } catch (error) {
    await crash(error);
  }
  await log.close();
}

function openLog(limits: { readonly maxSizeBytes: number; readonly maxFiles: number }): Log {
  return createLog({ file: join(home, LOG_FILE), ...limits, standardError: process.stderr });
}

/** What the database said of a fault goes to the log file only. */
function refuse(faults: readonly VerificationFault[], say: Say, log: Log): void {
  say(faults);
  for (const { path, message, detail = '' } of faults)
    log.observe({ event: 'startup_fault', path, message, detail });
  process.exitCode = EXIT_USAGE;
}
