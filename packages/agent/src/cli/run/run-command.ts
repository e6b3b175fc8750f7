import { CannotListen, type ProxyVariables } from '@svc/edge';
import { startAgent } from '../../runtime/agent.ts';
import { isDatabasePath } from '../../capabilities/database-names.ts';
import { databaseFault } from '../../databases/driver/errors.ts';
import { closeAll } from '../../databases/opened.ts';
import type { FileDigests } from '../../start-up/report.ts';
import { createLog } from '../../telemetry/log.ts';
import { LOG_FILE, logOfRunningAgent } from '../../telemetry/log-destination.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { keepReloading } from './keep-reloading.ts';
import { openDatabase, openVerified, type Opened } from '../open-database.ts';
import type { Observe } from '../../telemetry/events.ts';
import { printFaults } from '../print-faults.ts';
import { readonlyAccountFaults } from '../../start-up/readonly-account.ts';
import { withCheckedFile, type CheckedFile } from '../with-checked-file.ts';

export interface RunOptions {
  /** The capability file. */
  readonly file: string;
  /** The folder of the log file. */
  readonly home: string;
  /** Whether records on a terminal have colours. */
  readonly colour: boolean;
  readonly version: string;
  readonly env: ProxyVariables;
  /** Whether changed files are taken up without a signal. */
  readonly watch: boolean;
  /** Resolves with the signal that asks the agent to end. Before it is called a signal ends the process at once. */
  readonly untilSignal: () => Promise<NodeJS.Signals>;
  /** Calls back at each signal that asks for a reload. */
  readonly onReloadSignal: (listener: () => void) => void;
}

/** `svc-agent`: checks the capability file and answers calls until a signal comes. */
export async function runCommand(options: RunOptions): Promise<ExitCode> {
  const { file, home, colour } = options;
  const warn = (line: string): unknown => process.stderr.write(`svc-agent: ${line}\n`);
  let files: FileDigests = {};
  let logName = 'the log';
  let isReloadAsked = false;
  let reload = (): void => void (isReloadAsked = true);
  options.onReloadSignal(() => reload());
  /** A signal that came before the agent ran may be about what its checks had read before. */
  const onReloadSignal = (listener: () => void): void => {
    reload = listener;
    if (isReloadAsked) listener();
  };
  return withCheckedFile(
    {
      file,
      offline: false,
      toleratesAway: true,
      openLog(logging) {
        const destination = logOfRunningAgent(logging, { home, colour, warn });
        if ('file' in destination) logName = LOG_FILE;
        return createLog({ destination, standardError: process.stderr });
      },
      onWellFormed(report) {
        ({ files } = report);
      },
      showFaults: (faults) => printFaults(faults, process.stderr, file, { log: logName }),
    },
    (checked) => serve(checked, files, { ...options, onReloadSignal }),
  );
}

async function serve(
  { outcome, log, refuse }: CheckedFile,
  files: FileDigests,
  { file, version, env, watch, untilSignal, onReloadSignal }: RunOptions,
): Promise<ExitCode> {
  if (outcome.step === 'readable') throw new Error('cannot run: the database has not been asked');
  const { findings } = outcome;
  const { config } = outcome.verified;
  const faults = readonlyAccountFaults(config, findings);
  if (faults.length > 0) return refuse(faults);
  if (findings.length > 0) log.observe({ event: 'account_audited', findings: findings.length });
  // What is weaker than with PostgreSQL, whoever serves the database has to know without looking for it.
  for (const { path, message } of outcome.warnings.filter((warning) => isDatabasePath(warning.path))) {
    process.stderr.write(`svc-agent: ${path}: ${message}\n`);
  }
  let onDatabaseChange = (): void => {};
  const observeDatabase: Observe = (event) => {
    log.observe(event);
    onDatabaseChange();
  };
  let opening: Opened;
  try {
    // The connections of the checks ended with the child process.
    opening = await openVerified(outcome.verified, observeDatabase);
  } catch (error) {
    return refuse([databaseFault(error)]);
  }
  const { verified, opened } = opening;
  // Before the first record, so that whoever has seen that may send a signal and have the agent end gracefully.
  const signal = untilSignal();
  log.observe({
    event: 'starting',
    version,
    config_file: file,
    capabilities: config.capabilities.length,
  });
  try {
    const agent = await startAgent(
      {
        verified,
        opened,
        version,
        proxyVariables: env,
        openDatabase: (changed, name) => openDatabase(changed, name, observeDatabase),
      },
      log,
    );
    onDatabaseChange = () => agent.databasesChanged();
    const reloading = keepReloading({ agent, file, found: outcome, files, watch });
    onReloadSignal(() => reloading.reload());
    const ending = await signal;
    reloading.close();
    await agent.shutDown(ending);
    return EXIT.fine;
  } catch (error) {
    await closeAll(opened);
    if (!(error instanceof CannotListen)) throw error;
    process.stderr.write(`svc-agent: cannot start: ${error.message}\n`);
    log.observe({ event: 'startup_fault', path: error.setting, message: error.reason, detail: '' });
    return EXIT.failure;
  }
}
