import { join } from 'node:path';
import {
  ask,
  createAgentSecret,
  createKey,
  createReleasers,
  gatewaySettings,
  makeAgentFolder,
  startAgent,
  startGateway,
  temporaryFolder,
  type Answer,
  type AskOptions,
  type RunningProcess,
} from '@svc/testkit';

/** A gateway whose agents come with whole capability files of their own. */
export interface Pair {
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
  ask(path: string, options?: PairAsk): Promise<Answer>;
  call(capability: string, params: unknown, key?: string): Promise<Answer>;
  stop(): Promise<void>;
}

/** Everything of the file but `gateway`; a file given as text is written as it is. */
export type CapabilitySections = Readonly<Record<string, unknown>>;

/** `key` is the name of a key, or null for none; default `all`. */
type PairAsk = Omit<AskOptions, 'apiKey'> & { readonly key?: string | null };

/** `keys`: name to comma-separated capabilities, `*` or nothing; `all` is there in any case. */
export async function startPair(
  options: {
    readonly keys?: Readonly<Record<string, string>>;
    readonly env?: Readonly<Record<string, string>>;
  } = {},
): Promise<Pair> {
  const releasers = createReleasers();
  const home = await temporaryFolder('pair');
  const folder = home.path;
  await releasers.add(() => home.remove());
  const secret = createAgentSecret();
  const created = await Promise.all(
    Object.entries({ all: '*', ...options.keys }).map(async ([name, allowed]) => {
      if (allowed !== '') return [name, await createKey(name, allowed)] as const;
      const { api_key, record } = await createKey(name, 'any');
      return [name, { api_key, record: { ...record, capabilities: [] } }] as const;
    }),
  );
  const apiKeys = Object.fromEntries(created.map(([name, { api_key }]) => [name, api_key]));
  const records = created.map(([, { record }]) => record);
  const { process, port } = await startGateway(
    { ...gatewaySettings(secret.agent_public_key, records), ...options.env },
    { cwd: folder },
  );
  await releasers.add(() => process.stop());
  const url = `http://127.0.0.1:${port}`;
  const agentUrl = `ws://127.0.0.1:${port}/ws/agent`;

  const agents: { name: string; process: RunningProcess }[] = [];

  async function prepareAgent(name: string, file: CapabilitySections | string): Promise<string> {
    const home = join(folder, name);
    const gateway = { url: agentUrl, agent_private_key: secret.agent_private_key };
    // JSON is YAML, too.
    const text = typeof file === 'string' ? file : JSON.stringify({ gateway, ...file });
    await makeAgentFolder(home, { 'capability.yaml': text });
    return home;
  }

  async function startNamedAgent(
    name: string,
    file: CapabilitySections | string,
    env: Readonly<Record<string, string>> = {},
  ): Promise<RunningProcess> {
    const agent = await startAgent(process, await prepareAgent(name, file), env);
    await releasers.add(() => agent.stop());
    agents.push({ name, process: agent });
    return agent;
  }

  const askWithKey = (path: string, { key = 'all', ...options }: PairAsk = {}): Promise<Answer> =>
    ask(`${url}${path}`, { ...options, apiKey: key === null ? undefined : (apiKeys[key] ?? '') });

  return {
    url,
    agentUrl,
    port,
    folder,
    process,
    apiKeys,
    privateKey: secret.agent_private_key,
    startAgent: startNamedAgent,
    prepareAgent,
    agents,
    stopAgents: async () => {
      await Promise.all(agents.map(({ process }) => process.stop()));
    },
    ask: askWithKey,
    call: (capability, params, key = 'all') =>
      askWithKey(`/api/v1/capabilities/${capability}`, { method: 'POST', body: JSON.stringify(params), key }),
    stop: () => releasers.closeAll(),
  };
}
