import { WORKER_NUMBER } from './ignored-signals.ts';
import { readFileSync } from 'node:fs';
import { hash, randomBytes, randomUUID } from 'node:crypto';
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
import { startGateway, type Executable } from './gateway.ts';
import { addKeyRecord } from './config/services/add-key-record.ts';
import { parseArguments, type Command } from './cli/arguments.ts';
import { PROGRAM } from './cli/program.ts';
import { renderAgentSecret, renderConsoleToken, renderCreatedKey, renderRevokedKey } from './cli/render.ts';
import { readEnvFile } from './config/env-file.ts';
import type { Environment, ReadFile } from './config/read-settings.ts';
import { loadConfig, loadRevocation, loadServices } from './config/load.ts';
import { createKey } from './auth/api-keys/create-key.ts';
import { openFilesWarning } from './http/connection/limit-connections.ts';
import { createVerifier } from './auth/api-keys/verifier.ts';
import { revokeKey } from './valkey/revoke-key.ts';
import { runPrimary } from './run-primary.ts';
import { ABANDONED_MS, runWorker } from './run-worker.ts';
import { createLog, endAtUncaughtErrors } from './telemetry/log.ts';
import { createOnlyProcess } from './cluster/replica.ts';

declare const __SVC_VERSION__: string;
/** The code of a bcrypt thread, as part of the executable: it is the only file to copy. */
declare const SVC_VERIFIER: string;
/** The pages of the console, which the build writes in place of the name. */
declare const SVC_CONSOLE: string;

/** Set by a program that the gateway is a part of. When that program ends, in whatever way, the pipe closes and the gateway ends. */
const ENDS_WITH_STDIN = 'SVC_GATEWAY_ENDS_WITH_STDIN';
const EXIT_FAILURE = 1;
const EXIT_USAGE = 2;
const CONSOLE_TOKEN_BYTES = 32;
const EXECUTABLE: Executable = {
  version: __SVC_VERSION__,
  helper: SVC_VERIFIER,
  // Read only when it is wanted. Named only here, since the build writes the whole text in place of the name.
  get consoleAssets() {
    return SVC_CONSOLE;
  },
  exitFailure: EXIT_FAILURE,
};

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
    case 'create-console-token': {
      const token = randomBytes(CONSOLE_TOKEN_BYTES).toString('base64url');
      process.stdout.write(renderConsoleToken({ token, sha256: hash('sha256', token) }, command.json));
      return;
    }
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
    colour: !process.env['NO_COLOR'],
    standardError: process.stderr,
    ...(config.workers === 1 ? {} : { fields: { replica_id: replicaId } }),
  });
  endAtUncaughtErrors(log, EXIT_FAILURE);
  const openFiles = openFilesWarning(config.workers, openFileLimit());
  const warnings = openFiles === undefined ? loaded.warnings : [...loaded.warnings, openFiles];
  for (const message of warnings) log.observe({ event: 'config_warning', message });
  const reload =
    config.reloadedFiles.length === 0 ? undefined : (readFile: ReadFile) => loadServices(env, readFile);
  if (config.workers > 1) {
    await runPrimary({ config, replicaId, loadServices: reload, log, warnings, executable: EXECUTABLE });
    return;
  }
  const verifier = createVerifier({ spawn: () => startThread(SVC_VERIFIER) });
  try {
    const gateway = await startGateway(config, {
      log,
      verifier,
      replica: createOnlyProcess(replicaId, randomBytes(32)),
      loadServices: reload,
      executable: EXECUTABLE,
      warnings,
    });
    if (reload !== undefined) process.on('SIGHUP', () => gateway.reload());
    const asked = firstSignal(EXIT_FAILURE, reload === undefined ? ['SIGHUP'] : []);
    let isEnding = false;
    const end = async (reason: string, abandoned?: 'abandoned'): Promise<void> => {
      // Ctrl-C also ends the program that the gateway is a part of, so both reasons may come together.
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
    `svc-gateway: the key is not revoked: Valkey: ${outcome.reason}; check that Valkey runs and can be reached from ` +
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
  await runWorker(number, EXECUTABLE);
}

/** The variables of the process, which take precedence, and those of the file; undefined if the file is faulty. */
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
