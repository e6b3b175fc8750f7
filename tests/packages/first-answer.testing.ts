import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  ask,
  createAgentSecret,
  createKey,
  createReleasers,
  gatewaySettings,
  nextRecord,
  startProcess,
  testDatabase,
  type TestDatabase,
} from '@svc/testkit';
import { consoleUrl } from '../console/console.testing.ts';
import type { Collector } from '../traces/collector.testing.ts';

/** How the two programs of a package are started. */
export interface Installed {
  /** The folder that is the root for them; empty where it is that of this machine. */
  readonly root: string;
  /** What stands before each command line. */
  readonly within?: readonly string[];
  readonly gateway: readonly [string, ...string[]];
  readonly agent: readonly [string, ...string[]];
  /** Where the capability file is put, seen from within; the agent is told of it by `agent`, or finds it. */
  readonly capabilityFile: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly workers?: number;
  /** Gets the spans of the call; with it the gateway has a console, too. */
  readonly collector?: Collector;
}

/** The account that runs them; it owns nothing. */
export const NOBODY = '65532:65532';

export interface FirstAnswer {
  readonly status: number;
  readonly rows: unknown;
  /** The page at the address of the console. */
  readonly page?: string;
}

const WATCHED = {
  GATEWAY_TRACES: 'otlp',
  GATEWAY_CONSOLE_ADDR: '127.0.0.1:0',
  // Of a token that nobody has.
  GATEWAY_CONSOLE_TOKEN_SHA256: '0'.repeat(64),
};

const BOOKS = ["create table books (id int, title text); insert into books values (66, 'The Owl')"];

/** Runs both as separate processes, with PostgreSQL outside of their root, and asks for the one row; resolves to the answer. */
export async function firstAnswer({
  root,
  within = [],
  gateway: [gatewayFile, ...gatewayArgs],
  agent: [agentFile, ...agentArgs],
  capabilityFile,
  env = {},
  workers = 1,
  collector,
}: Installed): Promise<FirstAnswer> {
  const releasers = createReleasers();
  try {
    const database = await testDatabase({ sql: BOOKS });
    const secret = createAgentSecret();
    const key = await createKey('all', '*');
    const traced =
      collector === undefined
        ? undefined
        : {
            OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
            OTEL_BSP_SCHEDULE_DELAY: '20',
            OTEL_TRACES_SAMPLER: 'always_on',
          };
    const gateway = await startProcess(gatewayFile, gatewayArgs, {
      within,
      env: {
        ...env,
        ...(traced === undefined ? {} : { ...traced, ...WATCHED }),
        ...gatewaySettings(secret.agent_public_key, [key.record]),
        GATEWAY_WORKERS: String(workers),
      },
    });
    await releasers.add(() => gateway.stop());
    const listening = await gateway.waitForLine((line) => line.includes('"event":"listening"'), 60_000);
    const { port } = JSON.parse(listening);
    const url = `ws://127.0.0.1:${port}/ws/agent`;
    await writeCapabilities(join(root, capabilityFile), {
      database,
      url,
      key: secret.agent_private_key,
      workers,
      traced: traced !== undefined,
    });
    const connected = nextRecord(gateway, 'agent_connected');
    connected.catch(() => {});
    const agent = await startProcess(agentFile, agentArgs, { within, env: { ...env, ...traced } });
    await releasers.add(() => agent.stop());
    const died = agent.exited.then(({ code }) => {
      throw new Error(`the agent ended with ${code}:\n${agent.output()}`);
    });
    died.catch(() => {});
    await Promise.race([connected, died]);
    const answer = await askForBook(`http://127.0.0.1:${port}`, key.api_key);
    if (collector === undefined) return answer;
    const page = await fetch(`${await consoleUrl(gateway)}/console/`);
    return { ...answer, page: await page.text() };
  } finally {
    await releasers.closeAll();
  }
}

/** The same by `svc-agent dev`, which starts the gateway beside it. */
export async function firstAnswerOfDev({
  root,
  within = [],
  agent: [file, ...args],
  capabilityFile,
}: Omit<Installed, 'gateway'>): Promise<FirstAnswer> {
  const database = await testDatabase({ sql: BOOKS });
  const { agent_private_key: key } = createAgentSecret();
  await writeCapabilities(join(root, capabilityFile), { database, url: 'ws://127.0.0.1:1/ws/agent', key });
  const dev = await startProcess(file, [...args, 'dev', '--port', '0', '--json'], { within });
  try {
    const ready = JSON.parse(await dev.waitForLine((line) => line.includes('"event":"ready"'), 60_000));
    return await askForBook(ready.url, ready.api_key);
  } finally {
    await dev.stop();
  }
}

async function askForBook(url: string, apiKey: string): Promise<FirstAnswer> {
  const { status, text } = await ask(`${url}/api/v1/capabilities/get_book`, {
    method: 'POST',
    body: JSON.stringify({ id: 66 }),
    apiKey,
  });
  return { status, rows: JSON.parse(text).rows };
}

async function writeCapabilities(
  path: string,
  {
    database,
    url,
    key,
    workers = 1,
    traced = false,
  }: {
    readonly database: TestDatabase;
    readonly url: string;
    readonly key: string;
    readonly workers?: number;
    readonly traced?: boolean;
  },
): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(
    path,
    `service: { title: Books, version: 1.0.0 }
gateway: { url: '${url}', agent_private_key: ${key} }
database:
  driver: postgres
  host: ${database.host}
  port: ${database.port}
  name: ${database.name}
  user: ${database.user}
  password: ${JSON.stringify(database.password)}
  require_readonly_account: false
logging: { output: stdout }
runtime: { workers: ${workers} }
${traced ? 'telemetry: { traces: otlp }' : ''}
capabilities:
  get_book:
    description: A book by its number.
    sql: select title from books where id = :id
    params: { id: { type: integer, required: true } }
    result: { title: { type: string } }
`,
  );
}
