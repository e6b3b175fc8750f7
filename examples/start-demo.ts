import { createHash, randomBytes } from 'node:crypto';
import { copyFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  createReleasers,
  databaseUrl,
  freePort,
  isPortFree,
  startProcess,
  type Releasers,
  type RunningProcess,
} from '../packages/testkit/src/index.ts';
import { startLibrary } from './start-library.ts';
import { credentialsIn, type Credentials } from './start-credentials.ts';
import { openHome } from './start-home.ts';
import type { StartOptions } from './start-options.ts';

export interface Demo {
  readonly url: string;
  readonly apiKey: string;
  /** Contains the token that opens the console. */
  readonly consoleUrl: string;
  /** Connects as the superuser. */
  readonly databaseUrl: string;
  /** Holds the agent's private key. */
  readonly credentialsFile: string;
  readonly sample: typeof sample;
  readonly pids: { readonly postgres: number; readonly gateway: number; readonly agent: number };
  /** The folder that keeps data and keys; undefined if they are removed with the demo. */
  readonly keptIn: string | undefined;
  /** Resolves when a process ends without being asked to. */
  readonly failure: Promise<Error>;
  /** Ends the agent, the gateway and the database, in this order. */
  stop(): Promise<void>;
}

/** The call that is shown to the user; it is made once before, to make sure that it works. */
const sample = { capability: 'search_books', params: { query: 'dostoevsky', limit: 3 } };

const defaultPort = 8080;
const examples = dirname(fileURLToPath(import.meta.url));
const root = dirname(examples);
const gatewayFile = join(root, 'dist', 'svc-gateway');
const agentFile = join(root, 'dist', 'svc-agent');

/** Starts everything. On failure, or when `stop` is aborted, everything is undone and it rejects. */
export async function startDemo(
  options: StartOptions,
  progress: (line: string) => void,
  stop: AbortSignal,
): Promise<Demo> {
  const releasers = createReleasers();
  // Ends what runs at once, so that the step that waits for it fails.
  const abandon = (): void => void releasers.closeAll().catch(() => {});
  stop.addEventListener('abort', abandon, { once: true });
  try {
    return await assemble(options, progress, stop, releasers);
  } catch (error) {
    await releasers.closeAll();
    throw error;
  } finally {
    stop.removeEventListener('abort', abandon);
  }
}

async function assemble(
  options: StartOptions,
  progress: (line: string) => void,
  stop: AbortSignal,
  releasers: Releasers,
): Promise<Demo> {
  const port = await choosePort(options.port, progress);
  const url = `http://127.0.0.1:${port}`;
  const home = await openHome(root, options.keep, releasers);
  progress('Starting PostgreSQL');
  const library = await startLibrary(examples, home, progress, releasers);
  stop.throwIfAborted();
  const credentialsFile = join(home.folder, 'credentials.json');
  const credentials = await credentialsIn(credentialsFile, gatewayFile);
  stop.throwIfAborted();
  const token = randomBytes(32).toString('base64url');
  const gateway = await startGateway(port, credentials, token);
  await releasers.add(() => gateway.stop());
  const { url: consolePage }: { readonly url: string } = JSON.parse(
    await gateway.waitForLine((line) => hasEvent(line, 'console_listening')),
  );
  await gateway.waitForLine((line) => hasEvent(line, 'listening'));
  progress(`The gateway listens on ${url}`);
  stop.throwIfAborted();
  const agent = await startAgent(home.folder, port, credentials, library.environment);
  await releasers.add(() => agent.stop());

  const failure = Promise.race([
    ended('the agent (svc-agent)', agent),
    ended('the gateway (svc-gateway)', gateway),
    ended('PostgreSQL', library.postgres),
  ]);
  const connected = gateway.waitForLine((line) => hasEvent(line, 'agent_connected'), 30_000);
  const outcome = await Promise.race([connected, failure]);
  if (outcome instanceof Error) {
    connected.catch(() => {});
    throw outcome;
  }
  progress('The agent has connected');
  await trySample(url, credentials.apiKey);
  stop.throwIfAborted();
  return {
    url,
    apiKey: credentials.apiKey,
    consoleUrl: `${consolePage}#token=${token}`,
    databaseUrl: databaseUrl(library.postgres, 'library'),
    credentialsFile,
    sample,
    pids: { postgres: library.postgres.pid, gateway: gateway.pid, agent: agent.pid },
    keptIn: home.kept ? home.folder : undefined,
    failure,
    stop: () => releasers.closeAll(),
  };
}

async function choosePort(wanted: number | undefined, progress: (line: string) => void): Promise<number> {
  const port = wanted ?? defaultPort;
  if (await isPortFree(port)) return port;
  if (wanted !== undefined) {
    throw new Error(`cannot listen on 127.0.0.1:${wanted}: the port is taken; choose another with --port`);
  }
  const other = await freePort();
  progress(`Port ${defaultPort} is taken, using ${other}`);
  return other;
}

async function startGateway(port: number, credentials: Credentials, token: string): Promise<RunningProcess> {
  return await startProcess(process.execPath, [gatewayFile], {
    env: {
      GATEWAY_ADDR: `127.0.0.1:${port}`,
      GATEWAY_PUBLIC_URL: `http://127.0.0.1:${port}`,
      GATEWAY_AGENT_PUBLIC_KEY: credentials.agentPublicKey,
      GATEWAY_API_KEYS_JSON: JSON.stringify([credentials.record]),
      GATEWAY_CONSOLE_ADDR: '127.0.0.1:0',
      GATEWAY_CONSOLE_TOKEN_SHA256: createHash('sha256').update(token).digest('hex'),
    },
  });
}

async function startAgent(
  folder: string,
  port: number,
  credentials: Credentials,
  database: Readonly<Record<string, string>>,
): Promise<RunningProcess> {
  // The agent logs next to its own executable, so the copy is in the folder that is removed at the end.
  const executable = join(folder, 'svc-agent');
  await copyFile(agentFile, executable);
  return await startProcess(
    process.execPath,
    [executable, '--config', join(examples, 'library', 'capability.yaml')],
    {
      env: {
        SVC_GATEWAY_URL: `ws://127.0.0.1:${port}/ws/agent`,
        SVC_AGENT_PRIVATE_KEY: credentials.agentPrivateKey,
        ...database,
      },
    },
  );
}

function hasEvent(line: string, event: string): boolean {
  return line.includes(`"event":"${event}"`);
}

async function ended(
  what: string,
  { exited, output }: Pick<RunningProcess, 'exited' | 'output'>,
): Promise<Error> {
  const { code, signal } = await exited;
  const tail = output().trimEnd().split('\n').slice(-20).join('\n');
  return new Error(
    `${what} has ended unexpectedly with ${signal ?? `code ${code}`}. Its output ends:\n${tail}`,
  );
}

async function trySample(url: string, apiKey: string): Promise<void> {
  const response = await fetch(`${url}/api/v1/capabilities/${sample.capability}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(sample.params),
    signal: AbortSignal.timeout(10_000),
  });
  const answer = await response.text();
  if (response.status !== 200)
    throw new Error(`cannot call ${sample.capability}: ${response.status} ${answer}`);
}
