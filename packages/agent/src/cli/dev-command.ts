import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { startAgent, type RunningAgent } from '../agent.ts';
import { databaseFault, type VerificationFault } from '../databases/errors.ts';
import { createReloader, type Checked } from '../reload/reloader.ts';
import type { VerifiedAgent } from '../start-up/report.ts';
import type { AgentEvent } from '../telemetry/events.ts';
import { createLog, type Log } from '../telemetry/log.ts';
import { createCallLines } from '../workbench/call-lines.ts';
import { checkSave, type CheckedSave } from '../workbench/check-save.ts';
import type { Display } from '../workbench/display.ts';
import { exampleCall } from '../workbench/example-call.ts';
import { jsonDisplay } from '../workbench/json-display.ts';
import { GatewayFailed, startGateway, type WorkbenchGateway } from '../workbench/start-gateway.ts';
import { textDisplay } from '../workbench/text-display.ts';
import { startWarmProcess } from '../workbench/warm-process.ts';
import { watchFiles } from '../workbench/watch-files.ts';
import { EXIT, type ExitCode } from './exit-code.ts';
import { openDatabase } from './open-database.ts';
import { printFaults } from './print-faults.ts';
import { LOG_FILE, readonlyAccountFaults } from './with-checked-file.ts';

export interface DevOptions {
  /** The capability file. */
  readonly file: string;
  /** The folder of the executables and of the log file. */
  readonly home: string;
  readonly version: string;
  /** As it was given; undefined for the usual one. */
  readonly port: string | undefined;
  readonly gateway: boolean;
  /** Of the API key, as they were given. */
  readonly claims: readonly string[];
  readonly json: boolean;
  readonly quiet: boolean;
  /** Resolves with the signal that asks for the end. Before it is called a signal ends the process at once. */
  readonly untilSignal: () => Promise<NodeJS.Signals>;
}

const USUAL_PORT = '8080';
const KEY_NAME = 'dev';
const LOG_LIMITS = { maxSizeBytes: 10 * 1024 * 1024, maxFiles: 5 };
/** The agent dials a gateway that listens already, on this machine. */
const CONNECTED_WITHIN_MS = 10_000;

/** `svc-agent dev`: serves the file on this machine alone, and each save of it, until a signal comes. */
export async function devCommand(options: DevOptions): Promise<ExitCode> {
  const { file, home, claims } = options;
  const port = Number(options.port ?? USUAL_PORT);
  const gatewayFile = join(home, 'svc-gateway');
  if (!/^\d{1,5}$/.test(options.port ?? USUAL_PORT) || port > 65_535)
    return complain('--port must be a number from 0 to 65535', EXIT.usage);
  if (options.gateway && !existsSync(gatewayFile)) {
    const remedy = 'put it there, or use --no-gateway to check each save without serving it';
    return complain(`there is no svc-gateway beside svc-agent, in ${home}: ${remedy}`, EXIT.usage);
  }
  const { stdout, stderr } = process;
  const isTerminal = stdout.isTTY === true;
  const display = options.json
    ? jsonDisplay(stdout)
    : textDisplay({
        output: stdout,
        hasColour: isTerminal && !process.env['NO_COLOR'],
        showsDatabaseText: isTerminal,
        showsCalls: !options.quiet,
      });
  // What is of use here is shown by the display.
  const standardError = { write: () => {} };
  const log = createLog({ file: join(home, LOG_FILE), ...LOG_LIMITS, standardError });
  const crash = async (error: unknown): Promise<never> => {
    const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
    log.observe({ event: 'crashed', detail });
    stderr.write('svc-agent: internal error, ending; the log file holds the details\n');
    await log.close();
    process.exit(EXIT.failure);
  };
  process.on('uncaughtException', (error) => void crash(error));
  const showFaults = ({ content, faults }: Refusal): void => {
    for (const { path, message, detail = '' } of faults)
      log.observe({ event: 'startup_fault', path, message, detail });
    if (options.json || isTerminal) display.refused({ file, content, faults, servesOn: false });
    else printFaults(faults, stderr, file);
  };
  const progress = setTimeout(() => {
    if (stderr.isTTY) stderr.write(`Checking ${file} ...\n`);
  }, 1000);
  const warm = startWarmProcess();
  let onChange = (): void => {};
  const watch = watchFiles(() => onChange());
  const check = async (): Promise<Passed | Refusal> => judge(await checkSave(file, warm, watch));
  const onSave = (listener: () => void): void => void (onChange = listener);
  const bench: Bench = { options, display, log, check, onSave };
  const starting = options.gateway
    ? startGateway({ file: gatewayFile, port, keyName: KEY_NAME, claims })
    : undefined;
  // It is awaited once the file has passed.
  starting?.catch(() => {});
  try {
    const first = await check();
    clearTimeout(progress);
    if ('faults' in first) {
      showFaults(first);
      return EXIT.usage;
    }
    showFindings(first, display);
    if (starting === undefined) return await watchOnly(first, bench);
    const faults = await serve(first, await starting, bench);
    if (faults === undefined) return EXIT.fine;
    showFaults({ content: first.content, faults });
    return EXIT.usage;
  } catch (error) {
    if (error instanceof GatewayFailed)
      return complain(error.message, error.isUsage ? EXIT.usage : EXIT.failure);
    return await crash(error);
  } finally {
    clearTimeout(progress);
    watch.close();
    warm.close();
    await starting?.then((gateway) => gateway.stop()).catch(() => {});
    await log.close();
  }
}

interface Refusal {
  readonly content: Uint8Array | undefined;
  readonly faults: readonly VerificationFault[];
}

type Passed = Pick<CheckedSave, 'content' | 'asked'> & Extract<CheckedSave['outcome'], { step: 'verified' }>;

/** What both ways to run it are made of. */
interface Bench {
  readonly options: DevOptions;
  readonly display: Display;
  readonly log: Log;
  readonly check: () => Promise<Passed | Refusal>;
  /** One listener, for changes of what was read. */
  readonly onSave: (listener: () => void) => void;
}

function judge({ content, outcome, asked }: CheckedSave): Passed | Refusal {
  if (outcome.step !== 'verified') return { content, faults: outcome.faults };
  const faults = readonlyAccountFaults(outcome.verified.config, outcome.findings);
  return faults.length > 0 ? { content, faults } : { content, asked, ...outcome };
}

/** Resolves with what is wrong where it cannot begin; else when a signal has come and everything has ended. */
async function serve(
  first: Passed,
  gateway: WorkbenchGateway,
  { options, display, log, check, onSave }: Bench,
): Promise<readonly VerificationFault[] | undefined> {
  const { file } = options;
  const linked = (verified: VerifiedAgent): VerifiedAgent => withLink(verified, gateway);
  const verified = linked(first.verified);
  const calls = createCallLines((call) => display.called(call));
  const observe = (event: AgentEvent): void => {
    log.observe(event);
    if (event.event === 'call') calls.ofAgent(event);
    if (event.event === 'database_lost') display.note(`the database is lost: ${event.reason}`);
    if (event.event === 'database_back') display.note('the database is back');
  };
  const opened = await openDatabase(verified.config, observe);
  try {
    // The connections of the checks are those of another process.
    await opened.database.ping();
  } catch (error) {
    await opened.database.close();
    return [databaseFault(error)];
  }
  const connected = new Promise<void>((resolve, reject) => {
    const late = new GatewayFailed(
      'the agent does not get through to its own gateway; the log file says why',
    );
    const timer = setTimeout(() => reject(late), CONNECTED_WITHIN_MS);
    gateway.onRecord((record) => {
      if (record['event'] === 'agent_connected') {
        clearTimeout(timer);
        resolve();
      }
      calls.ofGateway(record);
    });
  });
  const { config } = verified;
  const signal = options.untilSignal();
  const count = config.capabilities.length;
  observe({ event: 'starting', version: options.version, config_file: file, capabilities: count });
  const agent = await startAgent(
    { verified, opened, openDatabase: (changed) => openDatabase(changed, observe) },
    {
      observe,
      get recordsLost() {
        return log.recordsLost;
      },
      close: () => log.close(),
    },
  );
  const gone = gateway.ended.then((problem) => {
    throw new GatewayFailed(`svc-gateway has ended${problem === '' ? '' : `: ${problem}`}`);
  });
  let ending: NodeJS.Signals | 'gateway' = 'gateway';
  try {
    await Promise.race([connected, gone]);
    const { url, apiKey } = gateway;
    const example = exampleCall(config.capabilities);
    display.ready({ file, capabilities: count, url, apiKey, example });
    onSave(servingSaves(agent, { file, display, check, linked }));
    ending = await Promise.race([signal, gone]);
    return undefined;
  } finally {
    await agent.shutDown(ending);
  }
}

/** Serves each save that passes. */
function servingSaves(
  agent: RunningAgent,
  {
    file,
    display,
    check,
    linked,
  }: Pick<Bench, 'display' | 'check'> & {
    readonly file: string;
    readonly linked: (verified: VerifiedAgent) => VerifiedAgent;
  },
): () => void {
  let content: Uint8Array | undefined;
  let asked = 0;
  const reloader = createReloader({
    check: async (): Promise<Checked> => {
      const checked = await check();
      ({ content } = checked);
      if ('faults' in checked) return checked;
      ({ asked } = checked);
      return { verified: linked(checked.verified) };
    },
    serving: () => agent.config,
    swap: (verified) => agent.swap(verified),
    observe: agent.observe,
  });
  return () =>
    void reloader.reload('watch').then((end) => {
      if (end === undefined) return;
      if ('faults' in end) {
        display.refused({ file, content, faults: end.faults, servesOn: true });
        return;
      }
      const { capabilities, added, changed, removed, duration_ms: durationMs } = end.event;
      display.accepted({ served: true, capabilities, asked, added, changed, removed, durationMs });
    });
}

/** Without a gateway: checks each save until a signal comes. */
async function watchOnly(first: Passed, { options, display, check, onSave }: Bench): Promise<ExitCode> {
  const { file } = options;
  const checkAgain = async (): Promise<void> => {
    const startedAt = performance.now();
    const checked = await check();
    if ('faults' in checked) {
      display.refused({ file, ...checked, servesOn: false });
      return;
    }
    const capabilities = checked.verified.config.capabilities.length;
    const durationMs = Math.round(performance.now() - startedAt);
    display.accepted({ served: false, capabilities, asked: checked.asked, durationMs });
  };
  display.watching({ file, capabilities: first.verified.config.capabilities.length });
  const failed = new Promise<never>((_, reject) => onSave(() => void checkAgain().catch(reject)));
  await Promise.race([options.untilSignal(), failed]);
  return EXIT.fine;
}

function withLink(verified: VerifiedAgent, { port, privateKeySeed }: WorkbenchGateway): VerifiedAgent {
  const { config } = verified;
  const urls = [`ws://127.0.0.1:${port}/ws/agent`];
  return { ...verified, config: { ...config, gateway: { ...config.gateway, urls, privateKeySeed } } };
}

function showFindings({ findings, warnings }: Passed, display: Display): void {
  for (const { path, message } of warnings) display.note(`warning: ${path}: ${message}`);
  if (findings.length > 0)
    display.note(
      'the database account may do more than read: `svc-agent check` says what, and how to mend it',
    );
}

function complain(problem: string, exitCode: ExitCode): ExitCode {
  process.stderr.write(`svc-agent: ${problem}\n`);
  return exitCode;
}
