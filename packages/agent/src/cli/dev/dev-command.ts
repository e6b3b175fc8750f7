import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { unexpected } from '../../reload/fault-texts.ts';
import type { FileDigests } from '../../start-up/report.ts';
import { LOG_FILE, logFile, writeProblem } from '../../telemetry/log-destination.ts';
import { createLog } from '../../telemetry/log.ts';
import {
  checkSave,
  type CheckedSave,
  type PassedSave,
  type RefusedSave,
} from '../../workbench/check-save.ts';
import { jsonDisplay } from '../../workbench/json-display.ts';
import { GatewayFailed, startGateway } from '../../workbench/start-gateway.ts';
import { openAuthorConsole, type AuthorConsole } from '../../workbench/author-console/open-author-console.ts';
import type { Display } from '../../workbench/display.ts';
import { textDisplay } from '../../workbench/text-display.ts';
import { startWarmProcess } from '../../workbench/warm-process.ts';
import { watchSaves, type SaveEnd, type WatchSaves } from '../../workbench/watch-saves.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { detailsOf, NOBODY, type CommandLog } from '../command-log.ts';
import { logFaults, printFaults } from '../print-faults.ts';
import { serveWorkbench, createShowFindings, type WorkbenchParts } from './serve-workbench.ts';
import { readonlyAccountFaults } from '../../start-up/readonly-account.ts';

export interface DevOptions {
  /** The capability file. */
  readonly file: string;
  /** The folder of the executables, and of the log file unless `--log` names another. */
  readonly home: string;
  readonly log: CommandLog;
  readonly version: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** As it was given; undefined for the usual one. */
  readonly port: string | undefined;
  readonly gateway: boolean;
  /** Of the API key, as they were given. */
  readonly claims: readonly string[];
  readonly json: boolean;
  readonly quiet: boolean;
  /** The pages of the console, as they are embedded. */
  readonly consoleAssets: () => string;
  /** Resolves with the signal that asks for the end. Before it is called a signal ends the process at once. */
  readonly untilSignal: () => Promise<NodeJS.Signals>;
}

const USUAL_PORT = '8080';
const KEY_NAME = 'dev';

/** `svc-agent dev`: serves the file on this machine alone, and each save of it, until a signal comes. */
export async function devCommand(options: DevOptions): Promise<ExitCode> {
  const { file, home, version, claims, env, untilSignal } = options;
  const { file: named } = options.log;
  const port = Number(options.port ?? USUAL_PORT);
  const gatewayFile = join(home, 'svc-gateway');
  if (!/^\d{1,5}$/.test(options.port ?? USUAL_PORT) || port > 65_535)
    return complain('--port must be a number from 0 to 65535', EXIT.usage);
  if (options.gateway && !existsSync(gatewayFile)) {
    const remedy = 'put it there, or use --no-gateway to check each save without serving it';
    return complain(`there is no svc-gateway beside svc-agent, in ${home}: ${remedy}`, EXIT.usage);
  }
  const { stdout, stderr } = process;
  const isTerminal = stdout.isTTY;
  const problem = named === undefined ? writeProblem(home) : undefined;
  const logName = problem === undefined ? (named ?? LOG_FILE) : undefined;
  const display = options.json
    ? jsonDisplay(stdout, !options.quiet)
    : textDisplay({
        output: stdout,
        hasColour: isTerminal && !env['NO_COLOR'],
        showsDatabaseText: isTerminal,
        log: logName,
        showsCalls: !options.quiet,
      });
  const showFindings = createShowFindings(display, file);
  // What runs here is an agent: its log is that of every agent, unless the user names another.
  const log =
    named === undefined && problem === undefined
      ? createLog({ destination: logFile(home), standardError: NOBODY })
      : options.log;
  const crash = async (error: unknown): Promise<never> => {
    const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
    log.observe({ event: 'crashed', detail });
    if (logName !== undefined)
      stderr.write(`svc-agent: internal error, ending; ${logName} holds the details\n`);
    await log.close();
    process.exit(EXIT.failure);
  };
  process.on('uncaughtException', (error) => void crash(error));
  const showFaults = ({ content, faults }: RefusedSave): void => {
    logFaults(faults, log);
    if (options.json || isTerminal) display.refused({ file, content, faults, servesOn: false });
    else printFaults(faults, stderr, file, logName === undefined ? {} : { log: logName });
    const details = problem === undefined ? undefined : detailsOf(faults, options.log);
    if (details === undefined) return;
    stderr.write(`svc-agent: cannot write ${LOG_FILE} in ${home}: ${problem}\nDetails: ${details}\n`);
  };
  const progress = setTimeout(() => {
    if (stderr.isTTY) stderr.write(`Checking ${file} ...\n`);
  }, 1000);
  const warm = startWarmProcess();
  let read: FileDigests = {};
  const check = async (): Promise<PassedSave | RefusedSave> =>
    judge(await checkSave(file, warm, (files) => void (read = files)));
  let watching: { close(): void } | undefined;
  let author: AuthorConsole | undefined;
  const watch: WatchSaves = (take) => void (watching = watchSaves({ checked: () => read, take }));
  const starting = options.gateway
    ? startGateway({ file: gatewayFile, port, keyName: KEY_NAME, claims, env })
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
    const gateway = await starting;
    const opened = await openAuthorConsole({
      file,
      url: gateway?.url,
      first,
      inspect: (order) => warm.inspect(order),
      embedded: options.consoleAssets(),
      ofGateway: gateway?.console,
    });
    author = opened;
    const saves = {
      file,
      display: shownAlso(display, opened),
      showFindings(save: PassedSave) {
        opened.passed(save);
        showFindings(save);
      },
      log,
      check,
    };
    const consoleUrl = opened.url;
    if (gateway === undefined) {
      display.watching({ file, capabilities: first.verified.config.capabilities.length, consoleUrl });
      saves.showFindings(first);
      watch(checksOf(saves));
      await untilSignal();
      return EXIT.fine;
    }
    const bench = { ...saves, version, env, first, gateway, consoleUrl, watch, untilSignal };
    const faults = await serveWorkbench(bench);
    if (faults === undefined) return EXIT.fine;
    showFaults({ content: first.content, faults });
    return EXIT.usage;
  } catch (error) {
    if (error instanceof GatewayFailed)
      return complain(error.message, error.isUsage ? EXIT.usage : EXIT.failure);
    return await crash(error);
  } finally {
    clearTimeout(progress);
    watching?.close();
    await author?.close();
    warm.close();
    await starting?.then((gateway) => gateway.stop()).catch(() => {});
    await log.close();
  }
}

/** In the console, too. */
function shownAlso(display: Display, author: AuthorConsole): Display {
  return {
    ...display,
    refused(refused) {
      author.refused(refused);
      display.refused(refused);
    },
  };
}

function judge({ content, outcome, asked }: CheckedSave): PassedSave | RefusedSave {
  if (outcome.step !== 'verified') return { content, faults: outcome.faults };
  const faults = readonlyAccountFaults(outcome.verified.config, outcome.findings, '`svc-agent check`');
  return faults.length > 0 ? { content, faults } : { content, asked, ...outcome };
}

/** A save without a gateway: it is checked and nothing else. */
function checksOf({
  file,
  display,
  showFindings,
  log,
  check,
}: Pick<WorkbenchParts, 'file' | 'display' | 'showFindings' | 'log' | 'check'>): () => Promise<SaveEnd> {
  return async () => {
    const startedAt = performance.now();
    const checked = await check().catch((error: unknown): RefusedSave => ({
      content: undefined,
      faults: [unexpected(error)],
    }));
    if ('faults' in checked) {
      logFaults(checked.faults, log);
      return { ...checked, show: () => display.refused({ file, ...checked, servesOn: false }) };
    }
    const { asked } = checked;
    const capabilities = checked.verified.config.capabilities.length;
    const durationMs = Math.round(performance.now() - startedAt);
    const show = (): void => {
      display.accepted({ served: false, capabilities, asked, durationMs });
      showFindings(checked);
    };
    return { faults: [], show };
  };
}

function complain(problem: string, exitCode: ExitCode): ExitCode {
  process.stderr.write(`svc-agent: ${problem}\n`);
  return exitCode;
}
