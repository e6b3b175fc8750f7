import { realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CannotListen, firstSignal, tolerateClosedOutput } from '@svc/edge';
import { startAgent } from './app.ts';
import { HELP } from './cli/help.ts';
import { parseArguments } from './cli/parse-arguments.ts';
import { printFaults } from './cli/print-faults.ts';
import type { AgentConfig } from './config/agent-config.ts';
import { editorSchema } from './config/editor-schema.ts';
import type { VerificationFault } from './databases/database.ts';
import { createLog, type Log } from './observe/log.ts';
import { auditAccount, lintFile, readStatements, verifyDatabase, type AuditFinding } from './start-up.ts';

declare const __SVC_VERSION__: string;

const LOG_FILE = 'svc-agent.log';
const OFFLINE_NOTE = 'offline: tables, columns, types and functions are checked with the database only\n';
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
      await check(capabilityFile(command.config), command.offline);
      return;
    case 'run':
      await run(capabilityFile(command.config));
  }
}

/** Specification, section 2.1: argument, else environment, else next to the binary. */
function capabilityFile(argument: string | undefined): string {
  return argument ?? process.env['AGENT_CAPABILITY_FILE'] ?? join(home, 'capability.yaml');
}

async function check(file: string, offline: boolean): Promise<void> {
  await withConfig(file, process.stdout, async (config, log) => {
    const count = config.capabilities.length;
    process.stdout.write(`${file}: well formed, ${count} ${count === 1 ? 'capability' : 'capabilities'}\n`);
    if (offline) {
      process.stdout.write(OFFLINE_NOTE);
      const faults = await readStatements(config);
      if (faults.length > 0) report(faults, file, log);
      return;
    }
    const outcome = await verifyDatabase(config);
    if ('faults' in outcome) {
      report(outcome.faults, file, log);
      return;
    }
    const { database } = outcome.verified;
    try {
      process.stdout.write('database: answers; every capability only reads and yields what it declares\n');
      const findings = await auditAccount(database);
      for (const finding of findings) {
        log.observe({ event: 'account_finding', ...finding });
        process.stdout.write(`account: ${finding.problem}; to mend it: ${finding.remedy}\n`);
      }
      if (findings.length > 0 && config.database.requireReadonlyAccount) {
        report([notReadonly(findings)], file, log);
      }
    } finally {
      await database.close();
    }
  });
}

/** Refuses with the way to the log file at the end, where that has more to say. */
function report(faults: readonly VerificationFault[], file: string, log: Log): void {
  refuse(faults, file, process.stdout, log);
  const refers = faults.some(({ message, detail }) => detail !== undefined || message.includes(LOG_FILE));
  if (refers) process.stdout.write(`Details: ${join(home, LOG_FILE)}\n`);
}

async function run(file: string): Promise<void> {
  await withConfig(file, process.stderr, async (config, log) => {
    const outcome = await verifyDatabase(config);
    if ('faults' in outcome) {
      refuse(outcome.faults, file, process.stderr, log);
      return;
    }
    const { verified } = outcome;
    const findings = await auditAccount(verified.database);
    for (const finding of findings) log.observe({ event: 'account_finding', ...finding });
    if (findings.length > 0 && config.database.requireReadonlyAccount) {
      await verified.database.close();
      refuse([notReadonly(findings)], file, process.stderr, log);
      return;
    }
    if (findings.length > 0) log.observe({ event: 'account_audited', findings: findings.length });
    // From the first sign of life on, a signal ends the agent gracefully.
    const signal = firstSignal(EXIT_FAILURE);
    log.observe({
      event: 'starting',
      version: __SVC_VERSION__,
      config_file: file,
      capabilities: config.capabilities.length,
    });
    try {
      const agent = await startAgent(verified, log.observe);
      await agent.shutDown(await signal);
    } catch (error) {
      if (!(error instanceof CannotListen)) throw error;
      await verified.database.close();
      process.stderr.write(`svc-agent: cannot start: ${error.message}\n`);
      log.observe({ event: 'startup_fault', path: error.setting, message: error.reason, detail: '' });
      process.exitCode = EXIT_FAILURE;
    }
  });
  process.exit();
}

function notReadonly(findings: readonly AuditFinding[]): VerificationFault {
  const audited = findings.every(({ detail }) => detail === undefined);
  const why = audited
    ? `the account may do more than read: ${LOG_FILE} lists what and how to mend it`
    : `the account could not be audited (${LOG_FILE} says why)`;
  return { path: 'database.require_readonly_account', message: `is true, but ${why}` };
}

/** Reads the file, and does the work that needs it with a log that is complete however the work ends. */
async function withConfig(
  file: string,
  faultStream: NodeJS.WriteStream,
  work: (config: AgentConfig, log: Log) => Promise<void>,
): Promise<void> {
  let log = openLog(LOG_DEFAULTS);
  // A stack trace may quote the database; it goes to the log file only.
  const crash = async (error: unknown): Promise<void> => {
    const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
    log.observe({ event: 'crashed', detail });
    await log.close();
    process.exit(EXIT_FAILURE);
  };
  process.on('uncaughtException', (error) => void crash(error));
  try {
    const linted = lintFile(file, process.env);
    if ('faults' in linted) {
      refuse(linted.faults, file, faultStream, log);
    } else {
      log = openLog(linted.config.logging);
      await work(linted.config, log);
    }
  } catch (error) {
    await crash(error);
  }
  await log.close();
}

function openLog(limits: { readonly maxSizeBytes: number; readonly maxFiles: number }): Log {
  return createLog({ file: join(home, LOG_FILE), ...limits, standardError: process.stderr });
}

/** One line a fault; what the database said of it goes to the log file only. */
function refuse(
  faults: readonly VerificationFault[],
  file: string,
  stream: NodeJS.WriteStream,
  log: Log,
): void {
  printFaults(faults, stream, file);
  for (const { path, message, detail = '' } of faults)
    log.observe({ event: 'startup_fault', path, message, detail });
  process.exitCode = EXIT_USAGE;
}
