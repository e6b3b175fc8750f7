import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { Agent, request, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { agentKeyId, privateKeyFromSeed, rawPublicKey } from '@svc/protocol';
import {
  createReleasers,
  databaseUrl,
  freePort,
  makeAgentFolder,
  startFaultProxy,
  startProcess,
  startService,
  temporaryFolder,
  type Answer,
  type FaultProxy,
  type RunningProcess,
  type ServerAddress,
  type Service,
} from '@svc/testkit';
import pg from 'pg';
import type { AgentKey } from '../../packages/gateway/src/agents/unauthenticated-peer.testing.ts';
import { LOAD_CAPABILITIES, LOAD_SQL } from '../requirements/steady-load.testing.ts';
import { heapReporter } from './link-heap.testing.ts';

export const SCENE_SQL: string = LOAD_SQL;
/** What the gateway answers to, besides loopback addresses. */
export const AUDIENCE = 'wss://gateway.example/ws/agent';
const CAPABILITIES = `
metrics: { addr: "127.0.0.1:0" }
${LOAD_CAPABILITIES}
  sleep:
    description: Answers after a while
    sql: select :seconds as slept from pg_sleep(:seconds::float8)
    params: { seconds: { type: number, required: true } }
    policy: { timeout: 5m, allow_functions: [pg_sleep] }
    result: { slept: { type: number } }
  large:
    description: As many times 64 KiB
    sql: select repeat('x', 65536) as text from generate_series(1, :pieces) as piece
    params: { pieces: { type: integer, required: true } }
    policy: { timeout: 5m, max_bytes: 64MB }
    result: { text: { type: string } }
  large_soon:
    description: The same within 20 s
    sql: select repeat('x', 65536) as text from generate_series(1, :pieces) as piece
    params: { pieces: { type: integer, required: true } }
    policy: { timeout: 20s, max_bytes: 64MB }
    result: { text: { type: string } }
`;

/** A gateway and an agent with a network between them that can be made bad, and all that is asked of them. */
export interface LinkScene {
  readonly service: Service;
  /** Between agent and gateway. */
  readonly network: FaultProxy;
  /** Calls by connections that can be told apart from what the service itself holds open; see `hangUp`. */
  readonly caller: Pick<Service, 'call'>;
  readonly agentKey: AgentKey;
  /** The agents that run now. */
  agents(): readonly RunningProcess[];
  /** An agent whose file differs from the first one's, with further options of Node.js; not waited for. */
  startVariant(change: (file: string) => string, nodeOptions?: string): Promise<RunningProcess>;
  /** Begins a call whose answer is taken only as far as the caller reads. */
  open(capability: string, params: unknown): Promise<OpenCall>;
  query<Row extends pg.QueryResultRow>(sql: string): Promise<Row[]>;
  /** Ends the connections of `caller`. */
  hangUp(): void;
  stop(): Promise<void>;
}

interface OpenCall {
  /** Resolves with the head; rejects when the connection breaks before. */
  readonly response: Promise<IncomingMessage>;
  destroy(): void;
}

export async function startScene(database: ServerAddress & { readonly name: string }): Promise<LinkScene> {
  const releasers = createReleasers();
  try {
    const folder = await temporaryFolder('link');
    await releasers.add(() => folder.remove());
    const port = await freePort();
    const network = await startFaultProxy({ target: { host: '127.0.0.1', port } });
    await releasers.add(() => network.close());
    const env = { NODE_OPTIONS: heapReporter };
    const service = await startService({
      database,
      capabilities: CAPABILITIES,
      gatewayEnv: {
        ...env,
        GATEWAY_ADDR: `127.0.0.1:${port}`,
        GATEWAY_METRICS_ADDR: '127.0.0.1:0',
        GATEWAY_AGENT_URLS: AUDIENCE,
      },
      agentEnv: env,
      linkPort: network.port,
    });
    await releasers.add(() => service.stop());
    const file = await readFile(join(service.agentFolder(0), 'capability.yaml'), 'utf8');
    const connections = new Agent({ keepAlive: true });
    const variants: RunningProcess[] = [];

    const open = (capability: string, params: unknown, agent: Agent | false): OpenCall => {
      const headers = {
        authorization: `Bearer ${service.apiKeys['all'] ?? ''}`,
        'content-type': 'application/json',
      };
      const path = `/api/v1/capabilities/${capability}`;
      const asked = request({ host: '127.0.0.1', port, path, method: 'POST', headers, agent });
      const response = once(asked, 'response').then(([head]: IncomingMessage[]) => {
        if (head === undefined) throw new Error('no response');
        // A reader that was cut off says so by the end of its response.
        head.on('error', () => {});
        return head;
      });
      asked.on('error', () => {});
      asked.end(JSON.stringify(params));
      return { response, destroy: () => void asked.destroy() };
    };

    await releasers.add(async () => connections.destroy());
    return {
      service,
      network,
      agentKey: agentKeyOf(file),
      caller: {
        call: async (capability, params) =>
          await answerOf(await open(capability, params, connections).response),
      },
      agents: () => [...service.agents, ...variants].filter(isAlive),
      async startVariant(change, nodeOptions = '') {
        const home = join(folder.path, `variant-${variants.length}`);
        await makeAgentFolder(home, { 'capability.yaml': change(file) });
        const agent = await startProcess(join(home, 'svc-agent'), [], {
          cwd: home,
          env: { NODE_OPTIONS: `${heapReporter} ${nodeOptions}` },
        });
        await releasers.add(() => agent.stop());
        variants.push(agent);
        return agent;
      },
      open: async (capability, params) => open(capability, params, false),
      async query<Row extends pg.QueryResultRow>(sql: string) {
        const client = new pg.Client({ connectionString: databaseUrl(database, database.name) });
        await client.connect();
        try {
          return (await client.query<Row>(sql)).rows;
        } finally {
          await client.end();
        }
      },
      hangUp: () => connections.destroy(),
      stop: () => releasers.closeAll(),
    };
  } catch (error) {
    await releasers.closeAll();
    throw error;
  }
}

/** The agent that was started last, of those that run. */
export function newestAgent(scene: LinkScene): RunningProcess {
  const agent = scene.agents().at(-1);
  if (agent === undefined) throw new Error('cannot take an agent: none runs');
  return agent;
}

function isAlive({ pid }: RunningProcess): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function answerOf(response: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(Buffer.from(chunk));
  const text = Buffer.concat(chunks).toString();
  const headers = new Headers();
  for (const [name, value] of Object.entries(response.headers)) headers.set(name, String(value));
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    json = undefined;
  }
  return { status: response.statusCode ?? 0, headers, text, json };
}

function agentKeyOf(file: string): AgentKey {
  const [, text = ''] = /agent_private_key: (\S+)/.exec(file) ?? [];
  const privateKey = privateKeyFromSeed(Buffer.from(text, 'base64url').subarray(0, 32));
  const publicKey = rawPublicKey(privateKey);
  return { privateKey, publicKey, keyId: agentKeyId(publicKey) };
}
