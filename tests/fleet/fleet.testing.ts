import { request } from 'node:http';
import { request as requestSecurely } from 'node:https';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import {
  createAgentSecret,
  createKey,
  createReleasers,
  freePort,
  gatewaySettings,
  makeAgentFolder,
  startProcess,
  SVC_GATEWAY,
  temporaryFolder,
  type ProcessExit,
  type RunningProcess,
  type ServerAddress,
} from '@svc/testkit';
import { LOAD_CAPABILITIES } from './open-load.testing.ts';

export interface FleetOptions {
  readonly database: ServerAddress & { readonly name: string };
  readonly replicas: number;
  readonly agents: number;
  /** Of the capability file; default those of the load. */
  readonly capabilities?: string;
  readonly gatewayEnv?: Readonly<Record<string, string>>;
  /** Of one replica, laid over those of all. */
  readonly replicaEnv?: (index: number) => Readonly<Record<string, string>>;
  /** Where a replica runs; default on this machine. */
  readonly place?: (index: number) => Place;
  /** Further lines of the section `gateway` of the capability files. */
  readonly agentGatewayLines?: readonly string[];
  /** The URLs that an agent dials; default those of all replicas. */
  readonly dials?: (urls: readonly string[]) => Promise<readonly string[]>;
  /** Whether all replicas listen on the same port; then their places need hosts of their own. */
  readonly samePort?: boolean;
  /** For `within` of the agents. */
  readonly agentsWithin?: readonly string[];
}

interface Place {
  /** As this machine reaches it. */
  readonly host: string;
  readonly within: readonly string[];
}

export interface Replica {
  readonly host: string;
  readonly port: number;
  readonly secure: boolean;
  /** The process that runs now, or that ran last. */
  readonly process: RunningProcess;
  /** The status of a path, 0 while nothing answers. */
  status(path: string): Promise<number>;
  /** Resolves once `/readyz` says 200; rejects after `withinMs`. */
  ready(withinMs?: number): Promise<void>;
  /** Another process in its place, on the same port, after the last one has ended; ready once its agents are there. */
  start(): Promise<void>;
  /** SIGKILL. */
  kill(): Promise<ProcessExit>;
  /** SIGTERM; resolves when it has ended by itself. */
  end(): Promise<ProcessExit>;
}

interface FleetAgent {
  readonly folder: string;
  readonly process: RunningProcess;
  start(): Promise<void>;
  kill(): Promise<ProcessExit>;
}

/** Several gateways and several agents, as processes of the built executables. */
export interface Fleet {
  readonly replicas: readonly Replica[];
  readonly agents: readonly FleetAgent[];
  /** May call everything. */
  readonly apiKey: string;
  /** Every replica and agent that runs. */
  readonly processes: readonly RunningProcess[];
  /** Resolves once every replica is ready; rejects after `withinMs`. */
  ready(withinMs?: number): Promise<void>;
  stop(): Promise<void>;
}

const READY_MS = 20_000;
const ENDED_MS = 40_000;

export async function startFleet(options: FleetOptions): Promise<Fleet> {
  const releasers = createReleasers();
  try {
    return await start(
      options,
      (release) => releasers.add(release),
      () => releasers.closeAll(),
    );
  } catch (error) {
    await releasers.closeAll();
    throw error;
  }
}

type AddRelease = (release: () => Promise<unknown>) => Promise<void>;

async function start(options: FleetOptions, release: AddRelease, stop: () => Promise<void>): Promise<Fleet> {
  const folder = await temporaryFolder('fleet');
  await release(() => folder.remove());
  const secret = createAgentSecret();
  const key = await createKey('all', '*');
  const settings = { ...gatewaySettings(secret.agent_public_key, [key.record]), ...options.gatewayEnv };
  const replicas: Replica[] = [];
  const agents: FleetAgent[] = [];
  let port = await freePort();
  for (let index = 0; index < options.replicas; index += 1) {
    const { host, within } = options.place?.(index) ?? { host: '127.0.0.1', within: [] };
    if (options.samePort !== true) port = await freePort();
    const env = { ...settings, GATEWAY_ADDR: `${host}:${port}`, ...options.replicaEnv?.(index) };
    replicas.push(
      await keepReplica({ host, port, secure: 'GATEWAY_TLS_CERT_FILE' in env }, release, () =>
        startProcess(SVC_GATEWAY, [], { env, within }),
      ),
    );
  }
  const urls = replicas.map(
    ({ host, port, secure }) => `${secure ? 'wss' : 'ws'}://${host}:${port}/ws/agent`,
  );
  const dialled = (await options.dials?.(urls)) ?? urls;
  for (let index = 0; index < options.agents; index += 1) {
    const home = join(folder.path, `agent-${index}`);
    await makeAgentFolder(home, {
      'capability.yaml': capabilityFile(options, dialled, secret.agent_private_key),
    });
    agents.push(
      await keepAgent(home, release, () =>
        startProcess(join(home, 'svc-agent'), [], { cwd: home, within: options.agentsWithin }),
      ),
    );
  }
  return {
    replicas,
    agents,
    apiKey: key.api_key,
    get processes() {
      return [...replicas, ...agents].map(({ process }) => process);
    },
    async ready(withinMs = READY_MS) {
      const ready = replicas.map((replica) => replica.ready(withinMs));
      await Promise.all(ready).catch((error: unknown) => {
        const said = agents.map(({ process }) => process.output().slice(-1000));
        throw new Error(`the fleet is not ready; its agents: ${said.join('\n')}`, { cause: error });
      });
    },
    stop,
  };
}

async function keepReplica(
  place: { readonly host: string; readonly port: number; readonly secure: boolean },
  release: AddRelease,
  startNext: () => Promise<RunningProcess>,
): Promise<Replica> {
  const { host, port, secure } = place;
  let running = await startNext();
  await release(() => running.stop());
  const status = (path: string): Promise<number> =>
    new Promise((resolve) => {
      const how = { host, port, path, agent: false, rejectUnauthorized: false, timeout: 1000 };
      const asked = (secure ? requestSecurely : request)(how, (response) => {
        response.resume().once('close', () => resolve(response.statusCode ?? 0));
      });
      asked.once('timeout', () => asked.destroy());
      asked.once('error', () => resolve(0)).end();
    });
  return {
    host,
    port,
    secure,
    get process() {
      return running;
    },
    status,
    async ready(withinMs = READY_MS) {
      await until(
        async () => (await status('/readyz')) === 200,
        withinMs,
        () => running.output(),
      );
    },
    async start() {
      running = await startNext();
    },
    async kill() {
      running.signal('SIGKILL');
      return running.exited;
    },
    end: () => running.stop(ENDED_MS),
  };
}

async function keepAgent(
  folder: string,
  release: AddRelease,
  startNext: () => Promise<RunningProcess>,
): Promise<FleetAgent> {
  let running = await startNext();
  await release(() => running.stop());
  return {
    folder,
    get process() {
      return running;
    },
    async start() {
      running = await startNext();
    },
    async kill() {
      running.signal('SIGKILL');
      return running.exited;
    },
  };
}

/** Asks again and again until it holds; rejects after `withinMs`. */
export async function until(
  holds: () => Promise<boolean> | boolean,
  withinMs: number,
  explain: () => string = () => '',
): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`not within ${withinMs} ms\n${explain().slice(-3000)}`);
    await wait(20);
  }
}

function capabilityFile(
  { database, capabilities = LOAD_CAPABILITIES, agentGatewayLines = [] }: FleetOptions,
  urls: readonly string[],
  privateKey: string,
): string {
  const lines = [
    `url: ${urls.length === 1 ? urls[0] : `[${urls.map((url) => `'${url}'`).join(', ')}]`}`,
    `agent_private_key: ${privateKey}`,
    ...agentGatewayLines,
  ];
  return `service: { title: Fleet, version: 1.0.0 }
gateway:
  ${lines.join('\n  ')}
database:
  host: ${database.host}
  port: ${database.port}
  name: ${database.name}
  user: ${JSON.stringify(database.user)}
  password: ${JSON.stringify(database.password)}
${capabilities}`;
}
