import { realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { firstSignal } from '@svc/edge';
import { startAgent } from './app.ts';
import { HELP } from './cli/help.ts';
import { parseArguments } from './cli/parse-arguments.ts';
import { printFaults } from './cli/print-faults.ts';
import { editorSchema } from './config/editor-schema.ts';
import type { VerificationFault } from './databases/database.ts';
import { createLog, type Log } from './observe/log.ts';
import { lintFile, verifyDatabase } from './start-up.ts';

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
  const linted = lintFile(file, process.env);
  if ('faults' in linted) {
    await refuse(linted.faults, file, process.stdout, openLog(LOG_DEFAULTS));
    return;
  }
  const { config } = linted;
  process.stdout.write(`${file}: well formed, ${config.capabilities.length} capabilities\n`);
  if (offline) return;
  const outcome = await verifyDatabase(config);
  if ('faults' in outcome) {
    await refuse(outcome.faults, file, process.stdout, openLog(config.logging));
    return;
  }
  process.stdout.write('database: answers; every capability only reads and yields what it declares\n');
  const { database } = outcome.verified;
  const findings = await database.auditAccount();
  for (const { problem, remedy } of findings) {
    process.stdout.write(`account: ${problem}; to mend it: ${remedy}\n`);
  }
  if (findings.length > 0 && config.database.requireReadonlyAccount) process.exitCode = EXIT_USAGE;
  await database.close();
}

async function run(file: string): Promise<void> {
  const linted = lintFile(file, process.env);
  if ('faults' in linted) {
    await refuse(linted.faults, file, process.stderr, openLog(LOG_DEFAULTS));
    return;
  }
  const { config } = linted;
  const log = openLog(config.logging);
  // A stack trace may quote the database; it goes to the log file only.
  process.on('uncaughtException', (error) => {
    log.observe({ event: 'crashed', detail: error.stack ?? error.message });
    void log.close().finally(() => process.exit(EXIT_FAILURE));
  });
  const outcome = await verifyDatabase(config);
  if ('faults' in outcome) {
    await refuse(outcome.faults, file, process.stderr, log);
    return;
  }
  const { verified } = outcome;
  const findings = await verified.database.auditAccount();
  for (const finding of findings) log.observe({ event: 'account_finding', ...finding });
  if (config.database.requireReadonlyAccount && findings.length > 0) {
    await verified.database.close();
    const message = `is true, but the account may do more than read (${findings.length} findings in ${LOG_FILE})`;
    await refuse([{ path: 'database.require_readonly_account', message }], file, process.stderr, log);
    return;
  }
  log.observe({
    event: 'starting',
    version: __SVC_VERSION__,
    config_file: file,
    capabilities: config.capabilities.length,
  });
  const agent = startAgent(verified, log.observe);
  await agent.shutDown(await firstSignal(EXIT_FAILURE));
  await log.close();
  process.exit();
}

function openLog(limits: { readonly maxSizeBytes: number; readonly maxFiles: number }): Log {
  return createLog({ file: join(home, LOG_FILE), ...limits, standardError: process.stderr });
}

/** One line a fault; what the database said of it goes to the log file only. */
async function refuse(
  faults: readonly VerificationFault[],
  file: string,
  stream: NodeJS.WriteStream,
  log: Log,
): Promise<void> {
  printFaults(faults, stream, file);
  for (const { path, message, detail = '' } of faults)
    log.observe({ event: 'startup_fault', path, message, detail });
  await log.close();
  process.exitCode = EXIT_USAGE;
}
