import { expect } from 'vitest';
import { join } from 'node:path';
import {
  ask,
  createAgentSecret,
  createKey,
  createReleasers,
  gatewaySettings,
  makeAgentFolder,
  nextRecord,
  startAgent,
  startGateway,
  temporaryFolder,
  type Answer,
  type RunningProcess,
  type TestDatabase,
} from '@svc/testkit';
import { checkFile } from './checked-file.testing.ts';

type Section = Readonly<Record<string, unknown>>;
type Sections = Readonly<Record<string, Section>>;

interface StationAgent {
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
  file(sections?: Sections): string;
  /** A new folder with the agent's executable and these files. */
  folder(files?: Readonly<Record<string, string>>): Promise<string>;
  /** Starts an agent with this file and waits until it is connected. */
  agent(file: string, options?: AgentOptions): Promise<StationAgent>;
  /** The same for the time of `work`. */
  withAgent(
    sections: Sections,
    work: (agent: StationAgent) => Promise<void>,
    options?: AgentOptions,
  ): Promise<void>;
  /** What `svc-agent check --offline`, or without that option, says of a file with these sections. */
  check(
    sections: Sections,
    options?: CheckOptions,
  ): Promise<{ readonly code: number; readonly text: string }>;
  call(capability: string, params?: unknown, signal?: AbortSignal): Promise<Answer>;
  get(path: string): Promise<Answer>;
  stop(): Promise<void>;
}

interface AgentOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Besides the capability file. */
  readonly files?: Readonly<Record<string, string>>;
}

interface CheckOptions extends AgentOptions {
  /** Default true. */
  readonly offline?: boolean;
}

export async function startStation(
  database: TestDatabase,
  gatewayEnv: Readonly<Record<string, string>> = {},
): Promise<Station> {
  const releasers = createReleasers();
  const home = await temporaryFolder('station');
  await releasers.add(() => home.remove());
  const [secret, key] = [createAgentSecret(), await createKey('all', '*')];
  const { process: gateway, port } = await startGateway(
    { ...gatewaySettings(secret.agent_public_key, [key.record]), ...gatewayEnv },
    { cwd: home.path },
  );
  await releasers.add(() => gateway.stop());
  const url = `http://127.0.0.1:${port}`;
  let folders = 0;

  async function folder(files: Readonly<Record<string, string>> = {}): Promise<string> {
    const path = join(home.path, String(folders++));
    await makeAgentFolder(path, files);
    return path;
  }

  function file(sections: Sections = {}): string {
    const { host, port: databasePort, name, user, password } = database;
    const base: Sections = {
      gateway: { url: `ws://127.0.0.1:${port}/ws/agent`, agent_private_key: secret.agent_private_key },
      database: { host, port: databasePort, name, user, password },
      capabilities: {
        one: { description: 'The number 1.', sql: 'select 1 as one', result: { one: { type: 'integer' } } },
      },
    };
    const laid = Object.entries(sections).map(([section, keys]) => [
      section,
      section === 'capabilities' ? keys : { ...base[section], ...keys },
    ]);
    return JSON.stringify({ ...base, ...Object.fromEntries(laid) }, undefined, 1);
  }

  async function agent(text: string, { env = {}, files = {} }: AgentOptions = {}): Promise<StationAgent> {
    const at = await folder({ ...files, 'capability.yaml': text });
    const process = await startAgent(gateway, at, env);
    await releasers.add(() => process.stop());
    return {
      folder: at,
      process,
      async stop() {
        const gone = nextRecord(gateway, 'agent_disconnected');
        await process.stop();
        await gone;
      },
    };
  }

  return {
    url,
    port,
    agentPrivateKey: secret.agent_private_key,
    file,
    folder,
    agent,
    async withAgent(sections, work, options) {
      const started = await agent(file(sections), options);
      try {
        await work(started);
      } finally {
        await started.stop();
      }
    },
    async check(sections, { offline = true, files = {}, env = {} } = {}) {
      const at = await folder({ ...files, 'capability.yaml': file(sections) });
      return await checkFile(join(at, 'capability.yaml'), { offline, env });
    },
    call: (capability, params = {}, signal) =>
      ask(`${url}/api/v1/capabilities/${capability}`, {
        method: 'POST',
        apiKey: key.api_key,
        body: JSON.stringify(params),
        ...(signal === undefined ? {} : { signal }),
      }),
    get: (path) => ask(`${url}${path}`, { apiKey: key.api_key }),
    stop: () => releasers.closeAll(),
  };
}

export function expectRefusal(answer: Answer, status: number, code: string, message?: string): void {
  expect(answer.json).toEqual({ error: { code, message: message ?? expect.any(String) } });
  expect(answer.status).toBe(status);
}
