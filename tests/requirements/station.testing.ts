import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  createAgentSecret,
  createKey,
  createReleasers,
  startProcess,
  SVC_AGENT,
  SVC_GATEWAY,
  temporaryFolder,
  type RunningProcess,
  type TestDatabase,
} from '@svc/testkit';

type Section = Readonly<Record<string, unknown>>;

export interface StationAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Undefined when the text is not JSON. */
  readonly json: unknown;
}

export interface StationAgent {
  readonly folder: string;
  readonly process: RunningProcess;
  /** Ends it, and waits until the gateway knows. */
  stop(): Promise<void>;
}

/** A gateway that agents with capability files of any kind can be started for, one after the other. */
export interface Station {
  readonly url: string;
  readonly port: number;
  readonly agentPrivateKey: string;
  /** The capability file, with `sections` laid over what every file needs, key by key. JSON is YAML, too. */
  file(sections?: Readonly<Record<string, Section>>): string;
  /** A new folder with the agent's executable and these files. */
  folder(files?: Readonly<Record<string, string>>): Promise<string>;
  /** Starts an agent with this file and waits until it is connected. */
  agent(file: string, options?: AgentOptions): Promise<StationAgent>;
  call(capability: string, params?: unknown, signal?: AbortSignal): Promise<StationAnswer>;
  get(path: string): Promise<StationAnswer>;
  stop(): Promise<void>;
}

interface AgentOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Besides the capability file. */
  readonly files?: Readonly<Record<string, string>>;
}

export async function startStation(
  database: TestDatabase,
  gatewayEnv: Readonly<Record<string, string>> = {},
): Promise<Station> {
  const releasers = createReleasers();
  const home = await temporaryFolder('station');
  await releasers.add(() => home.remove());
  const [secret, key] = await Promise.all([createAgentSecret(), createKey('all', '*')]);
  const gateway = await startProcess(SVC_GATEWAY, [], {
    cwd: home.path,
    env: {
      GATEWAY_ADDR: '127.0.0.1:0',
      GATEWAY_AGENT_PUBLIC_KEY: secret.agent_public_key,
      GATEWAY_API_KEYS_JSON: JSON.stringify([key.record]),
      ...gatewayEnv,
    },
  });
  await releasers.add(() => gateway.stop());
  const { port }: { port: number } = JSON.parse(
    await gateway.waitForLine((line) => line.includes('"event":"listening"')),
  );
  const url = `http://127.0.0.1:${port}`;
  let folders = 0;

  async function folder(files: Readonly<Record<string, string>> = {}): Promise<string> {
    const path = join(home.path, String(folders++));
    await mkdir(path);
    await copyFile(SVC_AGENT, join(path, 'svc-agent'));
    for (const [name, content] of Object.entries(files)) await writeFile(join(path, name), content);
    return path;
  }

  async function request(path: string, init: RequestInit): Promise<StationAnswer> {
    const headers = { authorization: `Bearer ${key.api_key}`, 'content-type': 'application/json' };
    const response = await fetch(`${url}${path}`, { ...init, headers });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, json: parsed(text) };
  }

  function lines(event: string): number {
    return gateway.output('stdout').split(`"event":"${event}"`).length - 1;
  }

  async function nth(event: string, count: number): Promise<void> {
    let seen = 0;
    await gateway.waitForLine((line) => line.includes(`"event":"${event}"`) && ++seen === count, 20_000);
  }

  return {
    url,
    port,
    agentPrivateKey: secret.agent_private_key,
    file(sections = {}) {
      const { host, port: databasePort, name, user, password } = database;
      const base: Readonly<Record<string, Section>> = {
        gateway: { url: `ws://127.0.0.1:${port}/ws/agent`, agent_private_key: secret.agent_private_key },
        database: { host, port: databasePort, name, user, password },
        capabilities: { one: { sql: 'select 1 as one', result: { one: { type: 'integer' } } } },
      };
      const laid = Object.entries(sections).map(([section, keys]) => [
        section,
        section === 'capabilities' ? keys : { ...base[section], ...keys },
      ]);
      return JSON.stringify({ ...base, ...Object.fromEntries(laid) }, undefined, 1);
    },
    folder,
    async agent(file, { env = {}, files = {} } = {}) {
      const at = await folder({ ...files, 'capability.yaml': file });
      const connected = lines('agent_connected') + 1;
      const process = await startProcess(join(at, 'svc-agent'), [], { cwd: at, env });
      await releasers.add(() => process.stop());
      const died = process.exited.then(({ code }) => {
        throw new Error(`cannot start an agent: it ended with ${code}\n${process.output()}`);
      });
      await Promise.race([nth('agent_connected', connected), died]);
      died.catch(() => {});
      return {
        folder: at,
        process,
        async stop() {
          const gone = lines('agent_disconnected') + 1;
          await process.stop();
          await nth('agent_disconnected', gone);
        },
      };
    },
    call: (capability, params = {}, signal) =>
      request(`/api/v1/capabilities/${capability}`, {
        method: 'POST',
        body: JSON.stringify(params),
        ...(signal === undefined ? {} : { signal }),
      }),
    get: (path) => request(path, { method: 'GET' }),
    stop: () => releasers.closeAll(),
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
