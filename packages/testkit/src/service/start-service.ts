import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startProcess, type RunningProcess } from '../processes/start-process.ts';
import type { ServerAddress } from '../postgres/server-address.ts';
import { createReleasers } from '../releasers.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { createAgentSecret, createKey, SVC_AGENT, SVC_GATEWAY, type AgentSecret } from './executables.ts';

export interface ServiceOptions {
  readonly database: ServerAddress & { readonly name: string };
  /** YAML of the sections `capabilities`, and of any other that is not about gateway and database. */
  readonly capabilities: string;
  readonly gatewayEnv?: Readonly<Record<string, string>>;
  /** Keys besides `all`, which may call everything: name to comma-separated capabilities. */
  readonly keys?: Readonly<Record<string, string>>;
  /** The port that agents dial, when something stands between them and the gateway; default the gateway's own. */
  readonly linkPort?: number;
  /** How many agents to start; default 1. */
  readonly agents?: number;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Undefined when the text is not JSON. */
  readonly json: unknown;
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
  const secret = await createAgentSecret();
  const names = { all: '*', ...options.keys };
  const created = await Promise.all(
    Object.entries(names).map(async ([name, allowed]) => [name, await createKey(name, allowed)] as const),
  );
  const apiKeys = Object.fromEntries(created.map(([name, key]) => [name, key.api_key]));
  const gatewayEnv = {
    GATEWAY_ADDR: '127.0.0.1:0',
    GATEWAY_AGENT_PUBLIC_KEY: secret.agent_public_key,
    GATEWAY_API_KEYS_JSON: JSON.stringify(created.map(([, key]) => key.record)),
    ...options.gatewayEnv,
  };
  let gateway = await startGateway(gatewayEnv);
  await releasers.add(() => gateway.process.stop());
  const { port } = gateway;
  const agents: RunningProcess[] = [];

  async function startAgent(): Promise<RunningProcess> {
    const home = agentFolder(agents.length);
    await mkdir(home);
    await copyFile(SVC_AGENT, join(home, 'svc-agent'));
    await writeFile(join(home, 'capability.yaml'), capabilityFile(options, options.linkPort ?? port, secret));
    const listed = countEvents(gateway.process, 'agent_connected') + 1;
    const agent = await startProcess(join(home, 'svc-agent'), [], { cwd: home });
    agents.push(agent);
    await releasers.add(() => agent.stop());
    let seen = 0;
    const arrived = gateway.process.waitForLine((line) => {
      if (line.includes('"event":"agent_connected"')) seen++;
      return seen === listed;
    }, 20_000);
    const died = agent.exited.then(({ code }) => {
      throw new Error(`cannot start an agent: it ended with ${code}\n${agent.output()}`);
    });
    await Promise.race([arrived, died]);
    died.catch(() => {});
    return agent;
  }

  function agentFolder(index: number): string {
    return join(folder.path, `agent-${index}`);
  }

  const request = async (
    method: string,
    path: string,
    body: string | undefined,
    call: CallOptions,
  ): Promise<Answer> => {
    const { key = 'all', headers = {}, signal } = call;
    const credential = key === null ? {} : { authorization: `Bearer ${apiKeys[key] ?? ''}` };
    const type = body === undefined ? {} : { 'content-type': 'application/json' };
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: { ...credential, ...type, ...headers },
      ...(body === undefined ? {} : { body }),
      ...(signal === undefined ? {} : { signal }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, json: parsed(text) };
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
      request('POST', `/api/v1/capabilities/${capability}`, JSON.stringify(params), call),
    get: (path, call = {}) => request('GET', path, undefined, call),
    startAgent,
    async restartGateway() {
      gateway = await startGateway({ ...gatewayEnv, GATEWAY_ADDR: `127.0.0.1:${port}` });
      const { process } = gateway;
      await releasers.add(() => process.stop());
      return process;
    },
    agentFolder,
    stop: () => releasers.closeAll(),
  };
  for (let count = 0; count < (options.agents ?? 1); count++) await startAgent();
  return service;
}

async function startGateway(
  env: Readonly<Record<string, string>>,
): Promise<{ process: RunningProcess; port: number }> {
  const process = await startProcess(SVC_GATEWAY, [], { env });
  const line = await process.waitForLine((text) => text.includes('"event":"listening"'));
  const { port }: { port: number } = JSON.parse(line);
  return { process, port };
}

function capabilityFile(
  { database, capabilities }: ServiceOptions,
  port: number,
  secret: AgentSecret,
): string {
  return `service: { title: Test, version: 1.0.0 }
gateway:
  url: ws://127.0.0.1:${port}/ws/agent
  agent_private_key: ${secret.agent_private_key}
database:
  driver: postgres
  host: ${database.host}
  port: ${database.port}
  name: ${database.name}
  user: ${JSON.stringify(database.user)}
  password: ${JSON.stringify(database.password)}
${capabilities}`;
}

function countEvents(process: RunningProcess, event: string): number {
  return process.output('stdout').split(`"event":"${event}"`).length - 1;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
