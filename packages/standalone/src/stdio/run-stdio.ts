import type { ChildProcess } from 'node:child_process';
import { counted, printable, type Given } from '@svc/edge';
import {
  checkInChildProcess,
  checksStarted,
  databaseFault,
  keepReloading,
  openAgent,
  printFaults,
  readonlyAccountFaults,
  proposeInMemory,
  recordsOf,
  Refused,
  unexpected,
  type AgentEvent,
  type AgentLog,
  type FileDigests,
  type ProposedFile,
  type RunningAgent,
  type ServiceInfo,
  type StartUpReport,
  type VerificationFault,
  type WellFormed,
} from '@svc/agent';
import {
  BODY_MAX_BYTES,
  createCallCapability,
  createCatalog,
  createOwnAgent,
  createPermitCall,
  createRegistry,
  createRevisions,
  createServeMessage,
  loadMessageSettings,
  MCP_REVISIONS,
  type ApiKeyPrincipal,
  type Environment,
  type ServeMessage,
} from '@svc/gateway/mcp';
import { createLocalLinks } from '../local-link/local-links.ts';
import { LOCAL_LINK } from '../local-link/local-settings.ts';
import { noteOf } from '../local-link/agent-notes.ts';
import { readCaller, unknownCapabilities } from './caller.ts';
import { splitLines } from './lines-in.ts';
import { createMessagesOut } from './messages-out.ts';
import { watchParent } from './parent-watch.ts';
import { createServeMessages } from './serve-messages.ts';
import { chooseSource, present } from './source.ts';
import { openStdioLog } from './stdio-log.ts';
import { createStartState, startFault } from './start-state.ts';
import { unreviewed } from './unreviewed.ts';
import { toolsOf } from './tools-of.ts';

export interface StdioInput {
  readonly given: Given;
  readonly env: Environment;
  readonly version: string;
  /** The process of the checks, if it was started before the rest of this one was loaded. */
  readonly startedChecks: ChildProcess | undefined;
}

const EXIT = { fine: 0, failure: 1, usage: 2 } as const;
/** How long calls are still answered when the client is gone, and when the process ends at the latest. */
const CALLS_MS = 500;
const END_MS = 900;
/** How long a client may look at why nothing is served. */
const FAULT_SHOWN_MS = 10_000;
const LISTER = '`svc-agent check`';
/** Without a file there is nothing yet that `check` could read. */
const LISTER_OF_URL = `\`svc-agent init\` (with a file, ${LISTER})`;
/** What faults call the file that was proposed in memory. */
const PROPOSED = 'database';
/** Names the agent of this process in its catalog. */
const AGENT_KEY = 'local';

/** `svc stdio`: serves MCP to the one client that has started this process. The process ends by itself. */
export function runStdio({ given, env, version, startedChecks }: StdioInput): void {
  const say = (line: string): unknown => process.stderr.write(`svc: ${line}\n`);
  const revisions = createRevisions(MCP_REVISIONS);
  const start = createStartState(introduction(undefined));
  const stopChecks = new AbortController();
  let started = startedChecks && checksStarted(startedChecks, stopChecks.signal);
  const caller = readCaller(given);
  const settings = loadMessageSettings(env);
  const log = openStdioLog(present(given.value('log')));
  let agent: RunningAgent | undefined;
  let closeReloading = (): void => {};
  let exitCode: number = EXIT.fine;
  let isEnding = false;

  const out = createMessagesOut();
  void out.closed.then(() => end('the end of standard output'));
  const messages = createServeMessages({
    start,
    principal: 'problem' in caller ? NOBODY : caller,
    revisions,
    out,
    onRequest: (request) => log.request(request, 'problem' in caller ? '' : caller.name),
    onFailure: (error) => say(`internal error: ${framesOf(error)}`),
  });
  const lines = splitLines(
    'faults' in settings ? BODY_MAX_BYTES : settings.maxBytes,
    (line) => messages.receive(line),
    () => messages.refuseTooLong(),
  );
  const unwatchParent = watchParent(() => void end('the end of its parent'));
  process.stdin
    .on('data', read)
    .on('error', () => {})
    .once('end', inputEnded)
    .once('close', inputEnded);
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => void end(signal));
  process.on('uncaughtException', (error) => {
    say(`internal error, ending: ${framesOf(error)}`);
    process.exit(EXIT.failure);
  });
  void begin().catch((error: unknown) => {
    say(`internal error, ending: ${framesOf(error)}`);
    process.exit(EXIT.failure);
  });

  function read(chunk: Buffer): void {
    lines.add(chunk);
    // A client that sends and does not read must not fill the memory.
    if (!out.isFull) return;
    process.stdin.pause();
    void out.drained().then(() => process.stdin.resume());
  }

  /** A pipe that breaks only closes; a file, and /dev/null, only ends. */
  function inputEnded(): void {
    lines.end();
    void end('the end of input');
  }

  /** What tells who serves, before the checks are over. */
  function introduction(service: ServiceInfo | undefined): ServeMessage {
    const catalog = createCatalog(() => {});
    if (service !== undefined) {
      const { title, version: ofFile, description } = service;
      const info = { title, version: ofFile, ...(description === '' ? {} : { description }) };
      const described = { openapi: { openapi: '3.1.0', info, paths: {} }, manifest: [] };
      catalog.add({ keyId: '', instanceId: '', digest: '', bytes: 0, description: described });
    }
    return serveMessages(catalog, async () => Promise.reject(new Error('called before the start')), true);
  }

  function serveMessages(
    catalog: ReturnType<typeof createCatalog>,
    call: ReturnType<typeof createCallCapability>,
    outputSchemas: boolean,
  ): ServeMessage {
    return createServeMessage({
      catalog,
      permitCall: createPermitCall(call),
      revisions,
      takesTokens: false,
      outputSchemas,
      name: 'svc',
      version,
      listChanged: true,
    });
  }

  async function begin(): Promise<void> {
    if ('problem' in caller) return fail('', [{ path: '', message: caller.problem }]);
    if ('faults' in settings) {
      return fail(
        '',
        settings.faults.map(({ setting, message }) => ({ path: setting, message })),
      );
    }
    if (log.problem !== undefined) return fail('', [{ path: '', message: log.problem }]);
    const source = chooseSource(given, env);
    if ('problem' in source) return fail('', [{ path: '', message: source.problem }]);
    if ('file' in source) return serve({ file: source.file }, caller, settings.outputSchemas ?? true);
    const proposed = await propose(source.url);
    if (proposed === undefined || isEnding) return;
    return serve({ file: PROPOSED, proposed }, caller, settings.outputSchemas ?? false);
  }

  /** Undefined if that fails, which is told. */
  async function propose(url: string): Promise<ProposedFile | undefined> {
    try {
      return await proposeInMemory(url, given, env, unreviewed(given));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      fail(PROPOSED, [
        { path: '', message: error.message, ...(error.detail === undefined ? {} : { detail: error.detail }) },
      ]);
      return undefined;
    }
  }

  async function check(
    file: string,
    content: Uint8Array | undefined,
    onFiles: (files: FileDigests) => void,
  ): Promise<Exclude<StartUpReport, WellFormed> | undefined> {
    const order = { file, content, offline: false, toleratesAway: true, link: LOCAL_LINK };
    const checks = started;
    started = undefined;
    try {
      return await checkInChildProcess(
        order,
        (report) => {
          onFiles(report.files);
          start.fileRead(introduction(report.service));
        },
        stopChecks.signal,
        checks,
      );
    } catch (error) {
      if (isEnding) return undefined;
      say(`internal error: ${framesOf(error)}`);
      return { step: 'refused', faults: [unexpected(error)] };
    }
  }

  async function serve(
    { file, proposed }: { readonly file: string; readonly proposed?: ProposedFile },
    principal: ApiKeyPrincipal,
    outputSchemas: boolean,
  ): Promise<void> {
    let files: FileDigests = {};
    let kept = proposed;
    let outcome = await check(file, kept?.content, (read) => (files = read));
    // What the account of a URL cannot read is left out; more than once, since a check ends with its first kind of faults.
    while (outcome?.step === 'refused' && kept !== undefined) {
      kept = kept.without(outcome.faults);
      if (kept === undefined) break;
      outcome = await check(file, kept.content, (read) => (files = read));
    }
    if (outcome === undefined || isEnding) return;
    if (outcome.step === 'malformed' || outcome.step === 'refused') return fail(file, outcome.faults);
    if (outcome.step === 'readable') throw new Error('cannot serve: the database has not been asked');
    if (kept !== undefined) {
      say(unreviewed(given));
      if (kept.unreadable.length > 0)
        say(`left out, since the account cannot read them: ${kept.unreadable.map(printable).join(', ')}`);
    }
    const { verified, findings } = outcome;
    const faults = readonlyAccountFaults(verified.config, findings, LISTER);
    if (faults.length > 0) return fail(file, faults);
    for (const record of recordsOf(outcome)) observe(record);
    if (findings.length > 0) observe({ event: 'account_audited', findings: findings.length });
    const names = verified.config.capabilities.map(({ name }) => name);
    for (const line of unknownCapabilities(principal, names)) say(`warning: ${line}`);
    const links = createLocalLinks(AGENT_KEY);
    const registry = createRegistry(Math.random);
    const catalog = createCatalog(() => {});
    const { serviceId } = verified.config;
    const call = createCallCapability(registry, catalog, () => performance.now(), Date.now, serviceId);
    const served = serveMessages(catalog, call, outputSchemas);
    try {
      const opened = await openAgent(verified, { version, env, log: agentLog, openLinks: links.openLinks });
      agent = await opened.start();
    } catch (error) {
      return fail(file, [databaseFault(error)]);
    }
    await links.attach(createOwnAgent({ registry, catalog }));
    if (isEnding) return;
    const reloading = keepReloading({
      agent,
      file,
      found: outcome,
      files,
      watch: kept === undefined,
      lister: LISTER,
      link: LOCAL_LINK,
    });
    closeReloading = () => reloading.close();
    tellChanges(catalog, served, principal);
    start.settle({ serve: served });
    if (process.stdin.isTTY)
      say(`serving ${counted(names.length, 'capability', 'capabilities')}; Ctrl-C ends it`);
  }

  function tellChanges(
    catalog: ReturnType<typeof createCatalog>,
    served: ServeMessage,
    principal: ApiKeyPrincipal,
  ): void {
    let last = toolsOf(served, principal);
    catalog.onDescription(() => {
      last = last.then(async (before) => {
        const after = await toolsOf(served, principal);
        if (!after.equals(before)) messages.listChanged();
        return after;
      });
    });
  }

  function observe(event: AgentEvent): void {
    if (event.event === 'call') log.call(event);
    const note = isEnding ? undefined : noteOf(event);
    if (note !== undefined) say(note);
  }

  const agentLog: AgentLog = { observe, recordsLost: 0, close: async () => {} };

  /** Tells the client why nothing is served, for as long as it may ask. */
  function fail(file: string, faults: readonly VerificationFault[]): void {
    exitCode = EXIT.usage;
    stopChecks.abort();
    if (file === '')
      for (const { path, message } of faults) say(path === '' ? message : `${path}: ${message}`);
    else printFaults(faults, process.stderr, file, { log: file === PROPOSED ? LISTER_OF_URL : LISTER });
    if (process.stdin.isTTY) process.exit(exitCode);
    start.settle({ fault: startFault(file, faults) });
    let quietSince = performance.now();
    setInterval(() => {
      quietSince = Math.max(quietSince, messages.answeredAt ?? 0);
      if (messages.underWay === 0 && performance.now() - quietSince >= FAULT_SHOWN_MS) void end('a fault');
    }, CALLS_MS);
  }

  /** Once. Within a second nothing of the process is left. */
  async function end(reason: string): Promise<void> {
    if (isEnding) return;
    isEnding = true;
    const overdue = setTimeout(() => process.exit(exitCode), END_MS);
    unwatchParent();
    stopChecks.abort();
    closeReloading();
    messages.close();
    // What came before the checks were over waits for them: nobody will read its answer.
    if (start.now !== undefined) {
      const late = new Promise<void>((resolve) => setTimeout(resolve, CALLS_MS));
      await Promise.race([messages.idle(), out.closed, late]);
    }
    messages.abort();
    await agent?.shutDown(reason);
    await out.drained();
    await log.close();
    clearTimeout(overdue);
    process.exit(exitCode);
  }
}

/** Calls nothing: the process tells only why it cannot serve. */
const NOBODY: ApiKeyPrincipal = {
  kind: 'api_key',
  id: 'key:',
  name: '',
  permissions: new Set(),
  claims: {},
  claimsJson: '',
};

/** Where it came from: the message may quote values. */
function framesOf(error: unknown): string {
  if (!(error instanceof Error)) return 'something other than an error was thrown';
  const frames = (error.stack ?? '').replace(error.message, '').match(/^ +at .+$/gm) ?? [];
  return [error.name, ...frames.slice(0, 5).map((frame) => frame.trim())].join(' ');
}
