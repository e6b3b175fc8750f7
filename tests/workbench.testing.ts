import { copyFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  ask,
  startProcess,
  SVC_AGENT,
  SVC_GATEWAY,
  type RunningProcess,
  type TestDatabase,
} from '@svc/testkit';

/** An account that only reads. */
export interface Reader {
  readonly user: string;
  readonly password: string;
}

/** May read all tables that there are. */
export async function createReader(database: TestDatabase): Promise<Reader> {
  const reader = { user: `${database.name}_reader`, password: 'reader' };
  await database.execute(`
    create role ${reader.user} login password '${reader.password}';
    revoke temporary on database ${database.name} from public;
    grant select on all tables in schema public to ${reader.user};
  `);
  return reader;
}

/** With the two executables and a file `password`. */
export async function fillFolder(folder: string, { password }: Reader): Promise<void> {
  await copyFile(SVC_AGENT, join(folder, 'svc-agent'));
  await copyFile(SVC_GATEWAY, join(folder, 'svc-gateway'));
  await writeFile(join(folder, 'password'), password);
}

/** Its gateway, key and variable are not there: the workbench needs none of them. */
export async function saveFile(
  folder: string,
  { host, port, name }: TestDatabase,
  { user }: Reader,
  capabilities: string,
  more = '',
): Promise<void> {
  const text = `gateway:
  url: wss://gateway.example.com/ws/agent
  agent_private_key: \${NOT_SET}
database: { host: ${host}, port: ${port}, name: ${name}, user: ${user}, password_file: password }
${more}capabilities:
${capabilities}`;
  // In one step, as editors save: a file that is being written could be taken up half written.
  const draft = join(folder, 'capability.yaml.draft');
  await writeFile(draft, text);
  await rename(draft, join(folder, 'capability.yaml'));
}

type Line = Readonly<Record<string, unknown>>;

export interface Workbench {
  readonly process: RunningProcess;
  readonly first: Line;
  /** The next line of one of these events. */
  next(...events: readonly string[]): Promise<Line>;
  call(capability: string, params: unknown): ReturnType<typeof ask>;
}

export async function startDev(
  folder: string,
  args: readonly string[] = ['--port', '0'],
): Promise<Workbench> {
  const bench = await startProcess(process.execPath, [join(folder, 'svc-agent'), 'dev', '--json', ...args], {
    cwd: folder,
  });
  const read = new Map<string, number>();
  const next = async (...events: readonly string[]): Promise<Line> => {
    const before = read.get(events.join()) ?? 0;
    read.set(events.join(), before + 1);
    let seen = 0;
    const line = await bench.waitForLine(
      (text, stream) =>
        stream === 'stdout' &&
        events.some((event) => text.includes(`"event":"${event}"`)) &&
        seen++ >= before,
      20_000,
    );
    return JSON.parse(line);
  };
  const first = await next('ready', 'watching', 'refused');
  if (first['event'] === 'refused') throw new Error(JSON.stringify(first));
  return {
    process: bench,
    first,
    next,
    call: (capability, params) =>
      ask(`${String(first['url'])}/api/v1/capabilities/${capability}`, {
        method: 'POST',
        body: JSON.stringify(params),
        apiKey: String(first['api_key']),
      }),
  };
}

/** The names of the capabilities that its gateway offers callers of either kind. */
export async function offeredBy({ first }: Workbench): Promise<{
  readonly operations: readonly string[];
  readonly tools: readonly string[];
}> {
  const apiKey = String(first['api_key']);
  const openapi = await ask(String(first['openapi_url']), { apiKey });
  const mcp = await ask(String(first['mcp_url']), {
    method: 'POST',
    apiKey,
    headers: { accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
  });
  const { paths } = Object(openapi.json);
  const { tools } = Object(Object(mcp.json).result);
  if (!Array.isArray(tools)) throw new Error(`no tools: ${mcp.text}`);
  return {
    operations: Object.keys(paths).map((path) => path.replace('/api/v1/capabilities/', '')),
    tools: tools.map(({ name }) => String(name)),
  };
}
