import { randomBytes, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import {
  CannotListen,
  createMetricsRegister,
  firstSignal,
  openFileLimit,
  readProblem,
  startThread,
  type Given,
} from '@svc/edge';
import { agentKeyId, createRawKeyPair } from '@svc/protocol';
import {
  checkInChildProcess,
  databaseFault,
  keepReloading,
  levelOf,
  openAgent,
  printFaults,
  readonlyAccountFaults,
  recordsOf,
  type AgentEvent,
  type FileDigests,
  type LinkOverride,
  type RunningAgent,
  type VerificationFault,
} from '@svc/agent';
import {
  createGatewayLog,
  createOnlyProcess,
  createVerifier,
  endAtUncaughtErrors,
  loadGatewayConfig,
  loadServices,
  openFilesWarning,
  readEnvFile,
  startGateway,
  type Environment,
  type GatewayConfig,
  type GatewayLog,
  type LoadedServices,
  type ReadFile,
} from '@svc/gateway';
import { noteOf } from '../local-link/agent-notes.ts';
import { createLocalLinks } from '../local-link/local-links.ts';
import { makeRunKey } from './run-key.ts';
import { isLoopback, settingsFor } from './settings.ts';

export interface ServeInput {
  readonly given: Given;
  readonly env: Environment;
  readonly version: string;
  /** The code of a bcrypt thread. */
  readonly verifierCode: string;
  /** The pages of the console. */
  readonly consoleAssets: () => string;
}

const EXIT = { fine: 0, failure: 1, usage: 2 } as const;
type ExitCode = (typeof EXIT)[keyof typeof EXIT];
const LISTER = '`svc-agent check`';
const GIVEN_UP =
  'this process faces callers and holds the database credential: who takes it over has both. ' +
  'For callers that you do not control, run svc-gateway and svc-agent';

/** `svc serve`: gateway and agent in one process, until a signal comes. Resolves to the exit code. */
export async function runServe(input: ServeInput): Promise<ExitCode> {
  const { given } = input;
  const env = environment(given.value('env-file'), input.env);
  if (env === undefined) return EXIT.usage;
  const file = given.value('config') ?? env['AGENT_CAPABILITY_FILE'];
  if (file === undefined || file === '')
    return complain(['no capability file is named: use --config FILE, or set AGENT_CAPABILITY_FILE']);
  const keys = createRawKeyPair();
  const settings = settingsFor(env, keys.publicKey);
  if (settings.faults.length > 0) return complain(settings.faults);
  const keyFile = given.value('key-file');
  if (keyFile !== undefined && !settings.hasNoKeys)
    return complain([
      '--key-file is for runs without a setting of keys: omit it, or omit GATEWAY_API_KEYS_* and GATEWAY_ISSUERS_JSON',
    ]);
  const host = hostOf(settings.env['GATEWAY_ADDR']);
  const ofRun =
    settings.hasNoKeys && isLoopback(host)
      ? makeRunKey(settings.env, keyFile, process.stderr.isTTY)
      : { env: settings.env, shown: undefined, discard() {} };
  if ('problem' in ofRun) return complain([ofRun.problem]);
  const loaded = loadGatewayConfig(ofRun.env, (path) => readFileSync(path, 'utf8'));
  if ('faults' in loaded) {
    ofRun.discard();
    return complain([
      ...loaded.faults.map((fault) => `${fault.setting}: ${fault.message}`),
      ...loaded.warnings.map((message) => `warning: ${message}`),
    ]);
  }
  const { config } = loaded;
  const log = createGatewayLog({
    level: config.logLevel,
    probes: config.logProbes,
    colour: !process.env['NO_COLOR'],
    standardError: process.stderr,
  });
  endAtUncaughtErrors(log, EXIT.failure);
  const openFiles = openFilesWarning(1, openFileLimit());
  const warnings = [
    ...settings.warnings,
    ...loaded.warnings,
    ...(openFiles === undefined ? [] : [openFiles]),
    ...(isLoopback(config.listen.host) ? [] : [GIVEN_UP]),
  ];
  for (const message of warnings) log.observe({ event: 'config_warning', message });
  process.stderr.write(`svc: ${GIVEN_UP}\n`);
  if (ofRun.shown !== undefined) process.stderr.write(`svc: the API key for this run: ${ofRun.shown}\n`);
  const reload =
    config.reloadedFiles.length === 0
      ? undefined
      : (readFile: ReadFile): LoadedServices => loadServices(ofRun.env, readFile);
  try {
    const code = await serve({ ...input, env }, { file, config, warnings, log, keyPair: keys, reload });
    if (code !== EXIT.fine) ofRun.discard();
    return code;
  } finally {
    await log.close();
  }
}

interface Loaded {
  readonly file: string;
  readonly config: GatewayConfig;
  readonly warnings: readonly string[];
  readonly log: GatewayLog;
  readonly keyPair: ReturnType<typeof createRawKeyPair>;
  readonly reload: ((readFile: ReadFile) => LoadedServices) | undefined;
}

async function serve(
  { given, env, version, verifierCode, consoleAssets }: ServeInput,
  { file, config, warnings, log, keyPair, reload }: Loaded,
): Promise<ExitCode> {
  const link: LinkOverride = {
    url: linkUrlOf(config),
    privateKey: keyPair.seed,
    isLocal: true,
  };
  /** On a terminal the records themselves are enough. */
  const hasNotes = !process.stdout.isTTY;
  const observe = (event: AgentEvent): void => {
    log.lines.write(levelOf(event), event, event.event !== 'call');
    const note = hasNotes ? noteOf(event) : undefined;
    if (note !== undefined) process.stderr.write(`svc: ${note}\n`);
  };
  const agentLog = { observe, recordsLost: 0, close: async (): Promise<void> => {} };
  const refuse = (faults: readonly VerificationFault[]): ExitCode => {
    for (const { path, message, detail = '' } of faults)
      observe({ event: 'startup_fault', path, message, detail });
    printFaults(faults, process.stderr, file, { log: 'the log' });
    return EXIT.usage;
  };
  let files: FileDigests = {};
  const outcome = await checkInChildProcess(
    { file, offline: false, toleratesAway: true, link },
    (report) => void ({ files } = report),
  );
  if (outcome.step === 'malformed' || outcome.step === 'refused') return refuse(outcome.faults);
  if (outcome.step === 'readable') throw new Error('cannot serve: the database has not been asked');
  const { verified, findings } = outcome;
  const faults = readonlyAccountFaults(verified.config, findings, LISTER);
  if (faults.length > 0) return refuse(faults);
  for (const record of recordsOf(outcome)) observe(record);
  if (findings.length > 0) observe({ event: 'account_audited', findings: findings.length });
  const links = createLocalLinks(agentKeyId(Buffer.from(keyPair.publicKey, 'base64url')));
  const register = config.metricsListen && (await createMetricsRegister(config.traces !== undefined));
  // Before the first record: a script that waits for the record may then send a signal, and all ends gracefully.
  const signal = firstSignal(EXIT.failure);
  let agent: RunningAgent;
  try {
    const opened = await openAgent(verified, {
      version,
      env,
      log: agentLog,
      openLinks: links.openLinks,
      register,
    });
    const capabilities = opened.config.capabilities.length;
    observe({ event: 'starting', version, config_file: file, capabilities });
    agent = await opened.start();
  } catch (error) {
    return refuse([databaseFault(error)]);
  }
  const verifier = createVerifier({ spawn: () => startThread(verifierCode) });
  const reloading = keepReloading({
    agent,
    file,
    found: outcome,
    files,
    watch: given.has('watch'),
    lister: LISTER,
    link,
  });
  try {
    const gateway = await startGateway(config, {
      log,
      verifier,
      replica: createOnlyProcess(randomUUID(), randomBytes(32)),
      loadServices: reload,
      executable: {
        version,
        get consoleAssets() {
          return consoleAssets();
        },
      },
      warnings,
      attachAgent: (own) => links.attach(own),
      register,
    });
    process.on('SIGHUP', () => {
      gateway.reload();
      reloading.reload();
    });
    const reason = await signal;
    reloading.close();
    await gateway.shutDown(reason);
    await agent.shutDown(reason);
    return EXIT.fine;
  } catch (error) {
    if (!(error instanceof CannotListen)) throw error;
    process.stderr.write(`svc: cannot start: ${error.message}\n`);
    reloading.close();
    await agent.shutDown('a failed start');
    return EXIT.failure;
  }
}

/** The variables of the process, which take precedence, and those of the file; undefined if the file is faulty. */
function environment(file: string | undefined, env: Environment): Environment | undefined {
  if (file === undefined) return env;
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file));
  } catch (error) {
    complain([`--env-file: cannot read ${file}: ${readProblem(error)}`]);
    return undefined;
  }
  const read = readEnvFile(text);
  if (!('faults' in read)) return { ...read.values, ...env };
  complain(read.faults.map((fault) => `${file}: ${fault.setting}: ${fault.message}`));
  return undefined;
}

/** The host of an address; undefined if it stands for every interface. */
function hostOf(address: string | undefined): string | undefined {
  const host = /^(.*):\d+$/.exec(address ?? '')?.[1];
  return host === '' ? undefined : host;
}

/** The audience of tokens if the file names none for their issuers. */
function linkUrlOf({ publicUrl, listen }: GatewayConfig): string {
  const base = publicUrl ?? `http://${listen.host ?? '127.0.0.1'}:${listen.port}`;
  return `${base.replace(/^http/, 'ws')}/ws/agent`;
}

function complain(lines: readonly string[]): ExitCode {
  for (const line of lines) process.stderr.write(`svc: ${line}\n`);
  return EXIT.usage;
}
