import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
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
} from '@svc/testkit';

/** A gateway whose agents come with whole capability files of their own. */
export interface Gateway {
  readonly url: string;
  /** What a capability file names as `gateway.url`. */
  readonly agentUrl: string;
  readonly port: number;
  /** Its working directory; the agents have folders of their own in it. */
  readonly folder: string;
  readonly process: RunningProcess;
  readonly apiKeys: Readonly<Record<string, string>>;
  readonly privateKey: string;
  /** Puts an agent with this file into a folder of its own, starts it and waits until the gateway lists it. */
  startAgent(
    name: string,
    file: CapabilitySections | string,
    env?: Readonly<Record<string, string>>,
  ): Promise<RunningProcess>;
  /** The same without starting it; resolves to the folder. */
  prepareAgent(name: string, file: CapabilitySections | string): Promise<string>;
  /** Those started, the ended ones too. */
  readonly agents: readonly { readonly name: string; readonly process: RunningProcess }[];
  stopAgents(): Promise<void>;
  ask(path: string, options?: AskOptions): Promise<Reply>;
  call(capability: string, params: unknown, key?: string): Promise<Reply>;
  stop(): Promise<void>;
}

/** Everything of the file but `gateway`; a file given as text is written as it is. */
export type CapabilitySections = Readonly<Record<string, unknown>>;

interface AskOptions {
  readonly method?: string;
  /** Name of a key, or null for none; default `all`. */
  readonly key?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Undefined when the text is not JSON. */
  readonly json: unknown;
}

/** `keys`: name to comma-separated capabilities, `*` or nothing; `all` is there in any case. */
export async function startGateway(
  options: {
    readonly keys?: Readonly<Record<string, string>>;
    readonly env?: Readonly<Record<string, string>>;
  } = {},
): Promise<Gateway> {
  const releasers = createReleasers();
  const home = await temporaryFolder('pair');
  const folder = home.path;
  await releasers.add(() => home.remove());
  const secret = await createAgentSecret();
  const created = await Promise.all(
    Object.entries({ all: '*', ...options.keys }).map(async ([name, allowed]) => {
      if (allowed !== '') return [name, await createKey(name, allowed)] as const;
      const { api_key, record } = await createKey(name, 'any');
      return [name, { api_key, record: { ...record, capabilities: [] } }] as const;
    }),
  );
  const apiKeys = Object.fromEntries(created.map(([name, { api_key }]) => [name, api_key]));
  const process = await startProcess(SVC_GATEWAY, [], {
    cwd: folder,
    env: {
      GATEWAY_ADDR: '127.0.0.1:0',
      GATEWAY_AGENT_PUBLIC_KEY: secret.agent_public_key,
      GATEWAY_API_KEYS_JSON: JSON.stringify(created.map(([, { record }]) => record)),
      ...options.env,
    },
  });
  await releasers.add(() => process.stop());
  const { port }: { port: number } = JSON.parse(
    await process.waitForLine((line) => line.includes('"event":"listening"')),
  );
  const url = `http://127.0.0.1:${port}`;
  const agentUrl = `ws://127.0.0.1:${port}/ws/agent`;

  const agents: { name: string; process: RunningProcess }[] = [];

  async function prepareAgent(name: string, file: CapabilitySections | string): Promise<string> {
    const home = join(folder, name);
    await mkdir(home);
    await copyFile(SVC_AGENT, join(home, 'svc-agent'));
    const gateway = { url: agentUrl, agent_private_key: secret.agent_private_key };
    // JSON is YAML, too.
    const text = typeof file === 'string' ? file : JSON.stringify({ gateway, ...file });
    await writeFile(join(home, 'capability.yaml'), text);
    return home;
  }

  async function startAgent(
    name: string,
    file: CapabilitySections | string,
    env: Readonly<Record<string, string>> = {},
  ): Promise<RunningProcess> {
    const home = await prepareAgent(name, file);
    const connected = (line: string): boolean => line.includes('"event":"agent_connected"');
    let before = process.output('stdout').split('\n').filter(connected).length;
    const agent = await startProcess(join(home, 'svc-agent'), [], { cwd: home, env });
    await releasers.add(() => agent.stop());
    agents.push({ name, process: agent });
    const ended = agent.exited.then(async () => {
      const log = await readFile(join(home, 'svc-agent.log'), 'utf8').catch(() => '');
      throw new Error(`cannot start the agent ${name}: ${agent.output()}\n${log}`);
    });
    ended.catch(() => {});
    await Promise.race([ended, process.waitForLine((line) => connected(line) && before-- === 0, 20_000)]);
    return agent;
  }

  async function ask(path: string, options: AskOptions = {}): Promise<Reply> {
    const { method = 'GET', key = 'all', headers = {}, body } = options;
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        ...(key === null ? {} : { authorization: `Bearer ${apiKeys[key] ?? ''}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, json: parsed(text) };
  }

  return {
    url,
    agentUrl,
    port,
    folder,
    process,
    apiKeys,
    privateKey: secret.agent_private_key,
    startAgent,
    prepareAgent,
    agents,
    stopAgents: async () => {
      await Promise.all(agents.map(({ process }) => process.stop()));
    },
    ask,
    call: (capability, params, key = 'all') =>
      ask(`/api/v1/capabilities/${capability}`, { method: 'POST', body: JSON.stringify(params), key }),
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
