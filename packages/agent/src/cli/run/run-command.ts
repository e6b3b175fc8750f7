import { CannotListen, firstSignal } from '@svc/edge';
import { isDatabasePath } from '../../capabilities/database-names.ts';
import { databaseFault } from '../../databases/driver/errors.ts';
import type { FileDigests } from '../../start-up/report.ts';
import { createLog } from '../../telemetry/log.ts';
import { LOG_FILE, logOfRunningAgent } from '../../telemetry/log-destination.ts';
import { complain, EXIT, type CommandInput, type ExitCode } from '../command.ts';
import { keepReloading } from './keep-reloading.ts';
import { openAgent, type OpenedAgent } from '../open-database.ts';
import { printFaults } from '../print-faults.ts';
import { openGatewayLinks } from '../../runtime/open-gateway-links.ts';
import { readonlyAccountFaults } from '../../start-up/readonly-account.ts';
import { withCheckedFile, type CheckedFile } from '../with-checked-file.ts';

/** `svc-agent`: checks the capability file and answers calls until a signal comes. */
export async function runCommand(input: CommandInput): Promise<ExitCode> {
  const { file, home, env } = input;
  let files: FileDigests = {};
  let logName = 'the log';
  let isReloadAsked = false;
  let reload = (): void => void (isReloadAsked = true);
  process.on('SIGHUP', () => reload());
  /** A SIGHUP before the agent runs may be about a file that its checks had already read: the agent reads it again. */
  const onReloadSignal = (listener: () => void): void => {
    reload = listener;
    if (isReloadAsked) listener();
  };
  return withCheckedFile(
    {
      file,
      toleratesAway: true,
      openLog(logging) {
        const destination = logOfRunningAgent(logging, home, !env['NO_COLOR'], (line) => complain(line));
        if ('file' in destination) logName = LOG_FILE;
        return createLog({ destination, standardError: process.stderr });
      },
      onWellFormed(report) {
        ({ files } = report);
      },
      showFaults: (faults) => printFaults(faults, process.stderr, file, { log: logName }),
    },
    (checked) => serve(checked, files, input, onReloadSignal),
  );
}

async function serve(
  { outcome, log, refuse }: CheckedFile,
  files: FileDigests,
  { given, file, version, env }: CommandInput,
  onReloadSignal: (listener: () => void) => void,
): Promise<ExitCode> {
  if (outcome.step === 'readable') throw new Error('cannot run: the database has not been asked');
  const { findings } = outcome;
  const { config } = outcome.verified;
  const faults = readonlyAccountFaults(config, findings);
  if (faults.length > 0) return refuse(faults);
  if (findings.length > 0) log.observe({ event: 'account_audited', findings: findings.length });
  // An operator must see where this database protects less than PostgreSQL.
  for (const { path, message } of outcome.warnings) if (isDatabasePath(path)) complain(`${path}: ${message}`);
  let opened: OpenedAgent;
  try {
    opened = await openAgent(outcome.verified, { version, env, log, openLinks: openGatewayLinks });
  } catch (error) {
    return refuse([databaseFault(error)]);
  }
  // Before the first record: a script that waits for the record may then send a signal, and the agent ends gracefully.
  const signal = firstSignal(EXIT.failure);
  log.observe({ event: 'starting', version, config_file: file, capabilities: config.capabilities.length });
  try {
    const agent = await opened.start();
    const reloading = keepReloading({ agent, file, found: outcome, files, watch: given.has('watch') });
    onReloadSignal(() => reloading.reload());
    const ending = await signal;
    reloading.close();
    await agent.shutDown(ending);
    return EXIT.fine;
  } catch (error) {
    if (!(error instanceof CannotListen)) throw error;
    complain(`cannot start: ${error.message}`);
    log.observe({ event: 'startup_fault', path: error.setting, message: error.reason, detail: '' });
    return EXIT.failure;
  }
}
