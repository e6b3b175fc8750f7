import type { ProxyVariables } from '@svc/edge';
import type { RunningAgent } from '../../runtime/agent.ts';
import { openGatewayLinks } from '../../runtime/open-gateway-links.ts';
import { databaseFault, type VerificationFault } from '../../databases/driver/errors.ts';
import { createReloading } from '../../reload/await-databases.ts';
import type { Checked } from '../../reload/reloader.ts';
import type { VerifiedAgent } from '../../start-up/report.ts';
import type { AgentEvent } from '../../telemetry/events.ts';
import type { Log } from '../../telemetry/log.ts';
import { createCallLines } from '../../workbench/call-lines.ts';
import type { Display } from '../../workbench/display.ts';
import type { PassedSave, RefusedSave } from '../../workbench/check-save.ts';
import { exampleCall } from '../../workbench/example-call.ts';
import { GatewayFailed, type WorkbenchGateway } from '../../workbench/start-gateway.ts';
import type { SaveEnd, WatchSaves } from '../../workbench/watch-saves.ts';
import { openAgent, type OpenedAgent } from '../open-database.ts';

/** What checks and shows saves. */
export interface Saves {
  readonly file: string;
  readonly display: Display;
  /** Shows warnings and findings of a save that the save before did not have. */
  readonly showFindings: (save: PassedSave) => void;
  readonly log: Log;
  readonly check: () => Promise<PassedSave | RefusedSave>;
}

export interface WorkbenchParts extends Saves {
  readonly version: string;
  readonly first: PassedSave;
  readonly gateway: WorkbenchGateway;
  /** With the token that opens it. */
  readonly consoleUrl: string;
  readonly env: ProxyVariables;
  readonly watch: WatchSaves;
  readonly untilSignal: () => Promise<NodeJS.Signals>;
}

/** Enough for a gateway that already listens on this machine. */
const CONNECTED_WITHIN_MS = 10_000;

/**
 * Runs an agent at the gateway of the workbench until a signal comes. Resolves when the agent has ended; with faults if it
 * could not begin.
 */
export async function serveWorkbench(
  parts: WorkbenchParts,
): Promise<readonly VerificationFault[] | undefined> {
  const { file, version, gateway, display, log } = parts;
  const calls = createCallLines((call) => display.called(call));
  const observe = (event: AgentEvent): void => {
    log.observe(event);
    if (event.event === 'call') calls.ofAgent(event);
    if (event.event === 'database_lost') display.note(`${databaseOf(event)} is lost: ${event.reason}`);
    if (event.event === 'database_back') display.note(`${databaseOf(event)} is back`);
    if (event.event === 'database_away') display.note(`${databaseOf(event)} is away: ${event.reason}`);
    if (event.event === 'database_refused')
      display.note(`${databaseOf(event)} is back, but is refused until the next save: ${event.message}`);
  };
  const ownLog = {
    observe,
    get recordsLost() {
      return log.recordsLost;
    },
    close: () => log.close(),
  };
  let opened: OpenedAgent;
  try {
    opened = await openAgent(withLink(parts.first.verified, gateway), {
      version,
      env: parts.env,
      log: ownLog,
      openLinks: openGatewayLinks,
    });
  } catch (error) {
    return [databaseFault(error)];
  }
  const { config } = opened;
  const signal = parts.untilSignal();
  const capabilities = config.capabilities.length;
  observe({ event: 'starting', version, config_file: file, capabilities });
  const connected = untilConnected(gateway, (record) => calls.ofGateway(record));
  const gone = gateway.ended.then((problem) => {
    throw new GatewayFailed(`svc-gateway has ended${problem === '' ? '' : `: ${problem}`}`);
  });
  // The gateway may end before anything waits for its end.
  gone.catch(() => {});
  const agent = await opened.start();
  const saves = savesOf(agent, parts);
  let ending: NodeJS.Signals | 'gateway' = 'gateway';
  try {
    const first = await Promise.race([connected, gone, signal]);
    if (first === undefined) {
      const { url, apiKey } = gateway;
      display.ready({
        file,
        capabilities,
        url,
        apiKey,
        consoleUrl: parts.consoleUrl,
        example: exampleCall(config.capabilities),
      });
      parts.showFindings(parts.first);
      parts.watch(saves.take);
    }
    ending = await Promise.race([signal, gone]);
    return undefined;
  } finally {
    saves.close();
    await agent.shutDown(ending);
  }
}

function databaseOf({ database }: { readonly database?: string }): string {
  return database === undefined ? 'the database' : `the database ${database}`;
}

function untilConnected(
  gateway: WorkbenchGateway,
  onRecord: (record: Readonly<Record<string, unknown>>) => void,
): Promise<undefined> {
  return new Promise((resolve, reject) => {
    const late = new GatewayFailed('the agent cannot connect to its gateway; its log says why');
    const timer = setTimeout(() => reject(late), CONNECTED_WITHIN_MS);
    gateway.onRecord((record) => {
      if (record['event'] === 'agent_connected') {
        clearTimeout(timer);
        resolve(undefined);
      }
      onRecord(record);
    });
  });
}

/** `take` checks a save, and serves it if it passes. */
function savesOf(
  agent: RunningAgent,
  { file, gateway, display, showFindings, check }: WorkbenchParts,
): { readonly take: () => Promise<SaveEnd | undefined>; close(): void } {
  let content: Uint8Array | undefined;
  let passed: PassedSave | undefined;
  const reloading = createReloading({
    agent,
    check: async (): Promise<Checked> => {
      const checked = await check();
      ({ content } = checked);
      if ('faults' in checked) return checked;
      passed = checked;
      return { verified: withLink(checked.verified, gateway) };
    },
    // The next save shows what its checks find.
    onFound: () => {},
  });
  const take = async (): Promise<SaveEnd | undefined> => {
    const end = await reloading.reload('watch');
    if (end === undefined) return undefined;
    if ('faults' in end) {
      const { faults } = end;
      return { faults, show: () => display.refused({ file, content, faults, servesOn: true }) };
    }
    const { capabilities, added, changed, removed, duration_ms: durationMs } = end.event;
    const asked = passed?.asked ?? 0;
    const accepted = { served: true, capabilities, asked, added, changed, removed, durationMs };
    const show = (): void => {
      display.accepted(accepted);
      if (passed !== undefined) showFindings(passed);
    };
    return { faults: [], show };
  };
  return { take, close: () => reloading.close() };
}

export function createShowFindings(display: Display, file: string): Saves['showFindings'] {
  let shown: ReadonlySet<string> = new Set();
  return ({ findings, warnings }) => {
    const notes = new Set(warnings.map(({ path, message }) => `warning: ${path}: ${message}`));
    if (findings.length > 0)
      notes.add(
        `the database account may do more than read: \`svc-agent check --config ${file}\` lists what, and how to fix it`,
      );
    for (const note of notes) if (!shown.has(note)) display.note(note);
    shown = notes;
  };
}

function withLink(verified: VerifiedAgent, { port, privateKeySeed }: WorkbenchGateway): VerifiedAgent {
  const { config } = verified;
  const urls = [`ws://127.0.0.1:${port}/ws/agent`];
  return { ...verified, config: { ...config, gateway: { ...config.gateway, urls, privateKeySeed } } };
}
