import { join } from 'node:path';
import type { RunningProcess } from '../processes/start-process.ts';
import type { ServerAddress } from '../postgres/server-address.ts';
import { createReleasers } from '../releasers.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { ask, type Answer, type AskOptions } from './ask.ts';
import type { Executables } from './executables.ts';
import { createAgentSecret, createKey, type AgentSecret } from './secrets.ts';
import { makeAgentFolder, startAgent } from './start-agent.ts';
import { gatewaySettings, startGateway } from './start-gateway.ts';

/** A PostgreSQL, or the section that the capability file has of any other database. */
type NamedDatabase =
  | (ServerAddress & { readonly name: string; readonly driver?: never })
  | Readonly<{ driver: string; port?: number } & Record<string, unknown>>;

export interface ServiceOptions {
  /** The only one, or several by name. */
  readonly database: NamedDatabase | Readonly<Record<string, NamedDatabase>>;
  /** YAML of the sections `capabilities`, and of any other that is not about gateway and database. */
  readonly capabilities: string;
  readonly gatewayEnv?: Readonly<Record<string, string>>;
  readonly agentEnv?: Readonly<Record<string, string>>;
  readonly agentFlags?: readonly string[];
  /** Keys besides `all`, which may call everything: name to comma-separated capabilities. */
  readonly keys?: Readonly<Record<string, string>>;
  /** Further fields of the records of keys, by name. */
  readonly keyFields?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** The bcrypt cost of the keys; default the least. */
  readonly keyCost?: number;
  /** The port that agents dial, when something stands between them and the gateway; default the gateway's own. */
  readonly linkPort?: number;
  /** What stands before the path that agents dial; default nothing. */
  readonly basePath?: string;
  /** How many agents to start; default 1. */
  readonly agents?: number;
  readonly executables?: Executables | undefined;
}

/** Gateway and agents as separate processes of the built executables, as a user would run them. */
export interface Service {
  /** Without a trailing slash. */
  readonly url: string;
  readonly port: number;
  readonly gateway: RunningProcess;
  readonly agents: readonly RunningProcess[];
  /** By the names given to `keys`, and `all`. */
  readonly apiKeys: Readonly<Record<string, string>>;
  call(capability: string, params: unknown, options?: CallOptions): Promise<Answer>;
  get(path: string, options?: CallOptions): Promise<Answer>;
  /** A further agent; resolves once the gateway lists it. */
  startAgent(): Promise<RunningProcess>;
  /** A new gateway process on the same port, after the first has ended. */
  restartGateway(): Promise<RunningProcess>;
  /** The folder of agent `index` (from 0): its executable, capability file and log. */
  agentFolder(index: number): string;
  stop(): Promise<void>;
}

export interface CallOptions {
  /** Name of a key; default `all`, null for none. */
  readonly key?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export async function startService(options: ServiceOptions): Promise<Service> {
  const releasers = createReleasers();
  try {
    return await start(options, releasers);
  } catch (error) {
    await releasers.closeAll();
    throw error;
  }
}

async function start(
  options: ServiceOptions,
  releasers: ReturnType<typeof createReleasers>,
): Promise<Service> {
  const folder = await temporaryFolder('service');
  await releasers.add(() => folder.remove());
  const secret = createAgentSecret();
  const names = { all: '*', ...options.keys };
  const created = await Promise.all(
    Object.entries(names).map(
      async ([name, allowed]) => [name, await createKey(name, allowed, { cost: options.keyCost })] as const,
    ),
  );
  const apiKeys = Object.fromEntries(created.map(([name, key]) => [name, key.api_key]));
  const gatewayEnv = {
    ...gatewaySettings(
      secret.agent_public_key,
      created.map(([name, { record }]) => ({ ...record, ...options.keyFields?.[name] })),
    ),
    ...options.gatewayEnv,
  };
  const { executables } = options;
  const place = { executable: executables?.gateway };
  let gateway = await startGateway(gatewayEnv, place);
  await releasers.add(() => gateway.process.stop());
  const { port } = gateway;
  const agents: RunningProcess[] = [];

  async function startNextAgent(): Promise<RunningProcess> {
    const home = agentFolder(agents.length);
    const files = { 'capability.yaml': capabilityFile(options, options.linkPort ?? port, secret) };
    await makeAgentFolder(home, files, executables?.agent);
    const agent = await startAgent(gateway.process, home, options.agentEnv, options.agentFlags);
    agents.push(agent);
    await releasers.add(() => agent.stop());
    return agent;
  }

  function agentFolder(index: number): string {
    return join(folder.path, `agent-${index}`);
  }

  const request = (
    path: string,
    { key = 'all', ...call }: CallOptions,
    sent: Pick<AskOptions, 'method' | 'body'> = {},
  ): Promise<Answer> => {
    const apiKey = key === null ? undefined : (apiKeys[key] ?? '');
    return ask(`http://127.0.0.1:${port}${path}`, { ...call, ...sent, apiKey });
  };

  const service: Service = {
    url: `http://127.0.0.1:${port}`,
    port,
    get gateway() {
      return gateway.process;
    },
    agents,
    apiKeys,
    call: (capability, params, call = {}) =>
      request(`/api/v1/capabilities/${capability}`, call, { method: 'POST', body: JSON.stringify(params) }),
    get: (path, call = {}) => request(path, call),
    startAgent: startNextAgent,
    async restartGateway() {
      gateway = await startGateway({ ...gatewayEnv, GATEWAY_ADDR: `127.0.0.1:${port}` }, place);
      const { process } = gateway;
      await releasers.add(() => process.stop());
      return process;
    },
    agentFolder,
    stop: () => releasers.closeAll(),
  };
  for (let count = 0; count < (options.agents ?? 1); count++) await startNextAgent();
  return service;
}

function capabilityFile(
  { database, capabilities, basePath = '' }: ServiceOptions,
  port: number,
  secret: AgentSecret,
): string {
  return `service: { title: Test, version: 1.0.0 }
gateway:
  url: ws://127.0.0.1:${port}${basePath}/ws/agent
  agent_private_key: ${secret.agent_private_key}
${databaseSections(database)}
${capabilities}`;
}

function databaseSections(database: ServiceOptions['database']): string {
  if (isNamed(database)) return databaseSection('database', database, '');
  const sections = Object.entries(database).map(([name, each]) => databaseSection(`  ${name}`, each, '  '));
  return ['databases:', ...sections].join('\n');
}

function isNamed(database: ServiceOptions['database']): database is NamedDatabase {
  return typeof database['port'] === 'number' || typeof database['driver'] === 'string';
}

function databaseSection(key: string, database: NamedDatabase, indent: string): string {
  if (database.driver !== undefined) return `${key}: ${JSON.stringify(database)}`;
  return `${key}:
${indent}  driver: postgres
${indent}  host: ${database.host}
${indent}  port: ${database.port}
${indent}  name: ${database.name}
${indent}  user: ${JSON.stringify(database.user)}
${indent}  password: ${JSON.stringify(database.password)}`;
}
