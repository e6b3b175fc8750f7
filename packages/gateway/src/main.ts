import './ignored-signals.ts';
import { readFileSync } from 'node:fs';
import { randomBytes, randomUUID } from 'node:crypto';
import {
  errorText,
  firstSignal,
  limitYoungGeneration,
  openFileLimit,
  readProblem,
  renderCompletion,
  renderHelp,
  startThread,
  tolerateClosedOutput,
} from '@svc/edge';
import { createRawKeyPair } from '@svc/protocol';
import { startGateway } from './gateway.ts';
import { addKeyRecord } from './config/services/add-key-record.ts';
import { parseArguments, type Command } from './cli/arguments.ts';
import { PROGRAM } from './cli/program.ts';
import { renderAgentSecret } from './cli/render-agent-secret.ts';
import { createConsoleToken } from './cli/create-console-token.ts';
import { renderConsoleToken } from './cli/render-console-token.ts';
import { renderCreatedKey } from './cli/render-key.ts';
import { renderRevokedKey } from './cli/render-revoked-key.ts';
import { readEnvFile } from './config/env-file.ts';
import type { Environment, ReadFile } from './config/read-settings.ts';
import { loadConfig, loadRevocation, loadServices } from './config/load.ts';
import { createKey } from './auth/api-keys/create-key.ts';
import { openFilesWarning } from './http/connection/limit-connections.ts';
import { createVerifier } from './auth/api-keys/verifier.ts';
import { revokeKey } from './valkey/revoke-key.ts';
import { runPrimary } from './run-primary.ts';
import { ABANDONED_MS, runWorker } from './run-worker.ts';
import { createLog } from './telemetry/log.ts';
import { createOnlyProcess } from './cluster/replica.ts';
import { WORKER_NUMBER } from './cluster/worker/worker-number.ts';

declare const __SVC_VERSION__: string;
/** The code of a verifying thread, so that one executable is all there is to copy. */
declare const SVC_HELPER: string;
/** The pages of the console, which the build writes in place of the name. */
declare const SVC_CONSOLE: string;

/** Set by a program that the gateway is a part of: when that ends, however it does, the pipe is closed and so is the gateway. */
const ENDS_WITH_STDIN = 'SVC_GATEWAY_ENDS_WITH_STDIN';
const STANDARD_OUTPUT = 1;
const EXIT_FAILURE = 1;
const EXIT_USAGE = 2;

const worker = process.env[WORKER_NUMBER];
if (worker === undefined) void main(process.argv.slice(2));
else void serveAsWorker(Number(worker));

async function main(argv: readonly string[]): Promise<void> {
  tolerateClosedOutput('svc-gateway', EXIT_FAILURE);
  const command = parseArguments(argv);
  switch (command.command) {
    case 'help':
      process.stdout.write(renderHelp(PROGRAM, command.about));
      return;
    case 'completion':
      process.stdout.write(renderCompletion(PROGRAM, command.shell));
      return;
    case 'version':
      process.stdout.write(`${__SVC_VERSION__}\n`);
      return;
    case 'wrong-usage':
      complain([command.message]);
      return;
    case 'create-key': {
      const { file } = command;
      const created = createKey({ ...command, randomBytes });
      if (file !== undefined) {
        const added = await addKeyRecord(file, created.record);
        if (!added.ok) {
          complain(added.problems.map((problem) => `--file ${file}: ${problem}`));
          return;
        }
      }
      process.stdout.write(renderCreatedKey(created, command.json, file));
      return;
    }
    case 'create-console-token':
      process.stdout.write(renderConsoleToken(createConsoleToken(randomBytes), command.json));
      return;
    case 'create-agent-secret':
      process.stdout.write(renderAgentSecret(createRawKeyPair(), command.json));
      return;
    case 'revoke-key':
      await revoke(command);
      return;
    case 'run':
      await run(command.envFile);
  }
}

async function run(envFile: string | undefined): Promise<void> {
  const env = environment(envFile);
  if (env === undefined) return;
  const loaded = loadConfig(env, (path) => readFileSync(path, 'utf8'));
  if ('faults' in loaded) {
    complain([
      ...loaded.faults.map((fault) => `${fault.setting}: ${fault.message}`),
      ...loaded.warnings.map((message) => `warning: ${message}`),
    ]);
    return;
  }
  limitYoungGeneration(process.env['NODE_OPTIONS']);
  const { config } = loaded;
  const replicaId = randomUUID();
  const log = createLog({
    level: config.logLevel,
    probes: config.logProbes,
    destination: STANDARD_OUTPUT,
    colour: !process.env['NO_COLOR'],
    standardError: process.stderr,
    ...(config.workers === 1 ? {} : { fields: { replica_id: replicaId } }),
  });
  process.on('uncaughtException', (error) => {
    log.observe({ event: 'internal_error', request_id: '', message: error.stack ?? error.message });
    void log.close().finally(() => process.exit(EXIT_FAILURE));
  });
  const openFiles = openFilesWarning(config.workers, openFileLimit());
  const warnings = openFiles === undefined ? loaded.warnings : [...loaded.warnings, openFiles];
  for (const message of warnings) log.observe({ event: 'config_warning', message });
  const reload =
    config.reloadedFiles.length === 0 ? undefined : (readFile: ReadFile) => loadServices(env, readFile);
  if (config.workers > 1) {
    await runPrimary({
      config,
      replicaId,
      loadServices: reload,
      version: __SVC_VERSION__,
      log,
      helper: SVC_HELPER,
      consoleAssets: consoleAssets(),
      warnings,
      exitFailure: EXIT_FAILURE,
    });
    return;
  }
  const verifier = createVerifier({ spawn: () => startThread(SVC_HELPER) });
  try {
    const gateway = await startGateway(config, {
      log,
      verifier,
      replica: createOnlyProcess(replicaId, randomBytes(32)),
      loadServices: reload,
      version: __SVC_VERSION__,
      consoleAssets: consoleAssets(),
      warnings,
    });
    if (reload !== undefined) process.on('SIGHUP', () => gateway.reload());
    const asked = firstSignal(EXIT_FAILURE, reload === undefined ? ['SIGHUP'] : []);
    let isEnding = false;
    const end = async (reason: string, abandoned?: 'abandoned'): Promise<void> => {
      // Ctrl-C reaches the program that the gateway is a part of, too: both reasons then come together.
      if (isEnding) return;
      isEnding = true;
      await gateway.shutDown(reason, abandoned);
      await log.close();
      process.exit();
    };
    void asked.then((signal) => end(signal));
    if (process.env[ENDS_WITH_STDIN] !== undefined) {
      void endOfStdin().then((reason) => {
        setTimeout(() => process.exit(), ABANDONED_MS);
        return end(reason, 'abandoned');
      });
    }
  } catch (error) {
    process.stderr.write(`svc-gateway: cannot start: ${errorText(error)}\n`);
    await log.close();
    process.exit(EXIT_FAILURE);
  }
}

/** The one place of the text, which is not looked at before it is wanted. */
function consoleAssets(): string {
  return SVC_CONSOLE;
}

async function revoke({ keyId, envFile, json }: Extract<Command, { command: 'revoke-key' }>): Promise<void> {
  const env = environment(envFile);
  if (env === undefined) return;
  const loaded = loadRevocation(env, (path) => readFileSync(path, 'utf8'));
  if ('faults' in loaded) {
    complain(loaded.faults.map((fault) => `${fault.setting}: ${fault.message}`));
    return;
  }
  const outcome = await revokeKey(loaded.valkey, keyId);
  if (outcome.revoked) {
    process.stdout.write(renderRevokedKey({ keyId, again: outcome.again, keyIds: loaded.keyIds }, json));
    return;
  }
  process.stderr.write(
    `svc-gateway: the key is not revoked: Valkey: ${outcome.reason}; see that Valkey runs and can be reached from ` +
      'here with the settings GATEWAY_VALKEY_*, then try again\n',
  );
  process.exitCode = EXIT_FAILURE;
}

function endOfStdin(): Promise<string> {
  return new Promise((resolve) => {
    process.stdin.resume().once('close', () => resolve('the end of its parent'));
  });
}

async function serveAsWorker(number: number): Promise<void> {
  tolerateClosedOutput('svc-gateway', EXIT_FAILURE);
  limitYoungGeneration(process.env['NODE_OPTIONS']);
  await runWorker({
    worker: number,
    version: __SVC_VERSION__,
    helper: SVC_HELPER,
    consoleAssets: consoleAssets(),
    destination: STANDARD_OUTPUT,
    exitFailure: EXIT_FAILURE,
  });
}

/** The process environment, over what the file says; undefined when the file is faulty. */
function environment(envFile: string | undefined): Environment | undefined {
  if (envFile === undefined) return process.env;
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(envFile));
  } catch (error) {
    complain([`--env-file: cannot read ${envFile}: ${readProblem(error)}`]);
    return undefined;
  }
  const file = readEnvFile(text);
  if ('faults' in file) {
    complain(file.faults.map((fault) => `${envFile}: ${fault.setting}: ${fault.message}`));
    return undefined;
  }
  return { ...file.values, ...process.env };
}

function complain(lines: readonly string[]): void {
  for (const line of lines) process.stderr.write(`svc-gateway: ${line}\n`);
  process.exitCode = EXIT_USAGE;
}
