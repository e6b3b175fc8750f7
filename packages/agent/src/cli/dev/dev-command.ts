import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { firstSignal } from '@svc/edge';
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
import { complain, crashDetail, EXIT, type CommandInput, type ExitCode } from '../command.ts';
import { detailsOf, NOBODY } from '../command-log.ts';
import { logFaults, printFaults } from '../print-faults.ts';
import { createShowFindings, serveWorkbench, type Saves } from './serve-workbench.ts';
import { readonlyAccountFaults } from '../../start-up/readonly-account.ts';

const USUAL_PORT = '8080';
const KEY_NAME = 'dev';

/**
 * `svc-agent dev`: serves the file on this machine alone, and each save of it, until a signal comes.
 * `consoleAssets` returns the pages of the console, as they are embedded.
 */
export async function devCommand(input: CommandInput, consoleAssets: () => string): Promise<ExitCode> {
  const { given, file, home, version, env, json } = input;
  const { file: named } = input.log;
  const showsCalls = !given.has('quiet');
  const servesGateway = !given.has('no-gateway');
  const typedPort = given.value('port') ?? USUAL_PORT;
  const port = Number(typedPort);
  const gatewayFile = join(home, 'svc-gateway');
  if (!/^\d{1,5}$/.test(typedPort) || port > 65_535)
    return complain('--port must be a number from 0 to 65535');
  if (servesGateway && !existsSync(gatewayFile)) {
    const remedy = 'put it there, or use --no-gateway to check each save without serving it';
    return complain(`there is no svc-gateway beside svc-agent, in ${home}: ${remedy}`);
  }
  const { stdout, stderr } = process;
  const isTerminal = stdout.isTTY;
  const problem = named === undefined ? writeProblem(home) : undefined;
  const logName = problem === undefined ? (named ?? LOG_FILE) : undefined;
  const display = json
    ? jsonDisplay(stdout, showsCalls)
    : textDisplay({
        output: stdout,
        hasColour: isTerminal && !env['NO_COLOR'],
        showsDatabaseText: isTerminal,
        log: logName,
        showsCalls,
      });
  const showFindings = createShowFindings(display, file);
  // The log is that of every agent, unless the user names another.
  const log =
    named === undefined && problem === undefined
      ? createLog({ destination: logFile(home), standardError: NOBODY })
      : input.log;
  const crash = async (error: unknown): Promise<never> => {
    log.observe({ event: 'crashed', detail: crashDetail(error) });
    if (logName !== undefined)
      stderr.write(`svc-agent: internal error, ending; ${logName} holds the details\n`);
    await log.close();
    process.exit(EXIT.failure);
  };
  process.on('uncaughtException', (error) => void crash(error));
  const showFaults = ({ content, faults }: RefusedSave): void => {
    logFaults(faults, log);
    if (json || isTerminal) display.refused({ file, content, faults, servesOn: false });
    else printFaults(faults, stderr, file, logName === undefined ? {} : { log: logName });
    const details = problem === undefined ? undefined : detailsOf(faults, input.log);
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
  const starting = servesGateway
    ? startGateway({ file: gatewayFile, port, keyName: KEY_NAME, claims: given.values('claim'), env })
    : undefined;
  // Awaited only when the file has passed the checks.
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
      embedded: consoleAssets(),
      ofGateway: gateway?.console,
    });
    author = opened;
    // Without a listener for SIGHUP, closing the terminal would leave everything running.
    const untilSignal = (): Promise<NodeJS.Signals> => firstSignal(EXIT.failure, ['SIGHUP']);
    const saves: Saves = {
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

/** A display whose refusals the console shows, too. */
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

/** Without a gateway a save is checked and not served. */
function checksOf({ file, display, showFindings, log, check }: Saves): () => Promise<SaveEnd> {
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
