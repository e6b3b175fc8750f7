import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { freePort, runProcess, SVC_GATEWAY, type RunningProcess, dial } from '@svc/testkit';
import { faultyEnvironments, faultyFiles } from './canary-faults.testing.ts';
import { createDetector, type Kind } from './canary-marks.testing.ts';
import { mcpMessages, refusedBodies, refusedHeads } from './canary-requests.testing.ts';
import { startMarkedService, typedMarks, type MarkedService } from './canary-service.testing.ts';
import { startPair, type Pair } from './pair.testing.ts';
import { startCollector, type Collector } from '../traces/collector.testing.ts';

/** What may appear where; every other kind of mark may not. */
const ALLOWED = {
  // The values of listed fields are what callers ask for.
  response: ['answer'],
  'gateway standard output': [],
  'gateway standard error': [],
  'gateway metrics': [],
  // A file that cannot be read is named, so that its owner can correct it.
  'agent standard output': ['file'],
  'agent standard error': ['file'],
  'agent metrics': [],
  // Details of a start that failed go to the log file, and only there.
  'agent log': ['sql', 'connection', 'file'],
  'openapi.json': [],
  'other file': [],
  'process list': [],
  'collector of traces': [],
} as const satisfies Readonly<Record<string, readonly Kind[]>>;
type Place = keyof typeof ALLOWED;

interface Evidence {
  readonly place: Place;
  /** What it came from. */
  readonly of: string;
  readonly text: string;
}

let secrets: MarkedService;
let gateway: Pair;
let agentMetrics: number;
let collector: Collector;
/** JSON, so that what the collector gets can be searched. */
let otel: Readonly<Record<string, string>>;
const evidence: Evidence[] = [];
const codes = new Set<string>();

beforeAll(async () => {
  secrets = await startMarkedService();
  collector = await startCollector();
  otel = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_TRACES_SAMPLER: 'always_on',
  };
  gateway = await startPair({
    keys: { reader: 'read,gone' },
    env: {
      GATEWAY_MAX_REQUEST_BODY_BYTES: '20000',
      GATEWAY_BODY_READ_TIMEOUT: '300ms',
      GATEWAY_EMIT_OPENAPI_SNAPSHOT: 'true',
      GATEWAY_METRICS_ADDR: '127.0.0.1:0',
      GATEWAY_LOG_LEVEL: 'debug',
      GATEWAY_IP_ALLOW_LIST: '127.0.0.1,10.0.0.0/8',
      GATEWAY_TRUSTED_PROXY_CIDRS: '127.0.0.1',
      GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND: '50',
      GATEWAY_RATE_LIMIT_BURST: '300',
      GATEWAY_TRACES: 'otlp',
      ...otel,
    },
  });
  for (const key of Object.values(gateway.apiKeys)) secrets.note('api_key', key.split('_').at(-1) ?? key);
  secrets.note('private_key', gateway.privateKey);
  agentMetrics = await freePort();
  await failToStart();
  const agent = await gateway.startAgent('agent', file(), otel);
  await refuse();
  await call();
  await overMcp();
  await overload();
  await lose(agent);
  await scrape();
  await listProcesses();
  await shutDown();
  await collectFiles();
}, 120_000);
afterAll(async () => {
  await gateway.stop();
  await collector.close();
  await secrets.stop();
});

function file(): Readonly<Record<string, unknown>> {
  return {
    database: secrets.connection,
    capabilities: secrets.capabilities,
    runtime: { max_concurrent_requests: 2, queue_size: 1 },
    logging: { max_size: '4KB', max_files: 100 },
    metrics: { addr: `127.0.0.1:${agentMetrics}` },
    telemetry: { traces: 'otlp' },
  };
}

function keep(place: Place, of: string, text: string): void {
  evidence.push({ place, of, text });
}

/** Starts that cannot succeed. */
async function failToStart(): Promise<void> {
  const files = Object.entries(faultyFiles(secrets, gateway.privateKey, gateway.agentUrl));
  for (const [name, faulty] of files) {
    const commands = name === 'bad-sql' || name === 'no-shape' ? [[], ['check']] : [[]];
    const runs = commands.map(async (args) => {
      const home = await gateway.prepareAgent([name, ...args].join('-'), faulty);
      const run = await runProcess(join(home, 'svc-agent'), args, { cwd: home });
      expect({ name, code: run.code }).toEqual({ name, code: 2 });
      keepAgent(name, run);
    });
    await Promise.all(runs);
  }
  for (const [at, env] of faultyEnvironments(secrets).entries()) {
    const run = await runProcess(SVC_GATEWAY, [], { cwd: gateway.folder, env });
    const inFile = join(gateway.folder, `${at}.env`);
    await writeFile(
      inFile,
      Object.entries(env)
        .map(([name, value]) => `${name}='${value}'`)
        .join('\n'),
    );
    const again = await runProcess(SVC_GATEWAY, ['--env-file', inFile], { cwd: gateway.folder });
    for (const { code, stdout, stderr } of [run, again]) {
      expect(code).toBe(2);
      keep('gateway standard output', `environment ${at}`, stdout);
      keep('gateway standard error', `environment ${at}`, stderr);
    }
  }
}

function keepAgent(of: string, { stdout, stderr }: { stdout: string; stderr: string }): void {
  keep('agent standard output', of, stdout);
  keep('agent standard error', of, stderr);
}

/** One request as bytes on a connection of its own. */
async function raw(head: readonly string[], body = ''): Promise<void> {
  const connection = await dial(gateway.port);
  connection.send([...head, 'Host: gateway.test', 'Connection: close', '', body].join('\r\n'));
  const answer = await Promise.race([
    connection.ended,
    connection.until(/^HTTP.* 426 [^]*\}$/).catch(() => ''),
  ]);
  connection.socket.destroy();
  keepAnswer(head.join(' '), answer);
}

function keepAnswer(of: string, answer: string): void {
  keep('response', of, answer);
  const [, code] = /"code":"([A-Z_]+)"/.exec(answer) ?? [];
  if (code !== undefined) codes.add(code);
}

async function post(path: string, body: string, headers: readonly string[] = []): Promise<void> {
  const key = `Authorization: Bearer ${gateway.apiKeys['all'] ?? ''}`;
  const type = headers.some((header) => header.startsWith('Content-Type'))
    ? []
    : ['Content-Type: application/json'];
  const sized = headers.some((header) => header.startsWith('Content-Length'));
  const length = sized ? [] : [`Content-Length: ${Buffer.byteLength(body)}`];
  await raw([`POST ${path} HTTP/1.1`, key, ...type, ...length, ...headers], body);
}

const CALLS = '/api/v1/capabilities/';

const json = async (capability: string, params: unknown): Promise<void> =>
  await post(`${CALLS}${capability}`, JSON.stringify(params));

/** What the gateway itself refuses. */
async function refuse(): Promise<void> {
  for (const head of refusedHeads(secrets, gateway.apiKeys)) await raw(head);
  for (const { body, headers } of refusedBodies(secrets)) {
    await post(`${CALLS}take_all`, body, headers);
    await post('/mcp', body, headers);
  }
  const gone = { method: 'POST', key: 'reader', body: `{"a":"${secrets.mark('value')}"}` };
  const unknown = await gateway.ask('/api/v1/capabilities/gone', gone);
  keepAnswer('unknown capability', `${[...unknown.headers].join('\n')}${unknown.text}`);
}

/** What the agent and its database answer and refuse. */
async function call(): Promise<void> {
  const value = (): string => secrets.mark('value');
  const { id, whole } = typedMarks();
  secrets.note('value', id);
  secrets.note('value', String(whole));
  await json('read', {});
  await json('take_all', {
    text: value(),
    list: [value(), value()],
    document: { [value()]: value() },
    mail: `${value()}@example.org`,
    id,
    whole,
  });
  for (const name of ['text', 'list', 'document', 'mail', 'id', 'whole', 'day', 'choice', 'coded']) {
    await json('take_all', { text: value(), [name]: value() });
    await json('take_all', { text: value(), [name]: [value(), { a: value() }, value().repeat(4)] });
    await json('take_all', { text: value(), [name]: whole });
  }
  await json('take_all', { text: value(), [`No name ${value()}`]: value() });
  for (const name of ['cast_parameter', 'raise', 'domain', 'document', 'zone', 'large', 'slow']) {
    await json(name, { text: value() });
  }
  await json('expression', { text: `(${value()}` });
  await json('overflow', { whole });
  await json('cast_column', {});
  await json('divide', {});
}

/** The same over MCP, and what only MCP refuses. */
async function overMcp(): Promise<void> {
  const value = (): string => secrets.mark('value');
  const { id, whole } = typedMarks();
  secrets.note('value', id);
  for (const { params, headers, ...message } of mcpMessages(value, { id, whole })) {
    const body = { jsonrpc: '2.0', id: 1, params, ...message };
    await post('/mcp', JSON.stringify(body), headers);
    await post('/mcp', JSON.stringify([body, value(), { ...body, jsonrpc: value() }]), headers);
  }
}

/** More than the agent, the keys and the source may. */
async function overload(): Promise<void> {
  await Promise.all(Array.from({ length: 5 }, () => json('sleep', { text: secrets.mark('value') })));
  const stranger = [`GET /healthz?${secrets.mark('value')} HTTP/1.1`, 'X-Forwarded-For: 10.0.0.1'];
  for (let count = 0; count < 24 && !codes.has('GATEWAY_RATE_LIMITED'); count++) {
    await Promise.all(Array.from({ length: 25 }, () => raw(stranger)));
  }
}

/** The database goes, the agent stands still, and is killed. */
async function lose(agent: RunningProcess): Promise<void> {
  const cutOff = json('sleep', { text: secrets.mark('value') });
  await untilOneRuns();
  secrets.cut();
  await cutOff;
  await json('raise', { text: secrets.mark('value') });
  secrets.restore();
  agent.signal('SIGSTOP');
  await json('slow', { text: secrets.mark('value') });
  agent.signal('SIGCONT');
  await scrape();
  const killed = json('sleep', { text: secrets.mark('value') });
  await untilOneRuns();
  agent.signal('SIGKILL');
  await killed;
  await agent.exited;
  await json('raise', { text: secrets.mark('value') });
  keepAgent('killed', { stdout: agent.output('stdout'), stderr: agent.output('stderr') });
}

async function untilOneRuns(): Promise<void> {
  await vi.waitFor(
    async () => {
      const active = await secrets.database.query(
        `select 1 from pg_stat_activity
          where datname = current_database() and usename <> current_user and state = 'active'`,
      );
      expect(active).toHaveLength(1);
    },
    { interval: 20, timeout: 20_000 },
  );
}

async function scrape(): Promise<void> {
  const line = await gateway.process.waitForLine((text) => text.includes('"event":"metrics_listening"'));
  const { port }: { port: number } = JSON.parse(line);
  keep('gateway metrics', 'scrape', await metrics(port));
  // The agent that was killed has none any more.
  const agent = await metrics(agentMetrics).catch(() => undefined);
  if (agent !== undefined) keep('agent metrics', 'scrape', agent);
}

async function metrics(port: number): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${port}/metrics?${secrets.mark('value')}`);
  return await answer.text();
}

async function listProcesses(): Promise<void> {
  await gateway.startAgent('last', file(), otel);
  for (const { pid } of [gateway.process, ...gateway.agents.slice(-1).map(({ process }) => process)]) {
    keep('process list', String(pid), await commandLine(pid));
  }
}

async function commandLine(pid: number): Promise<string> {
  if (process.platform === 'linux') return await readFile(`/proc/${pid}/cmdline`, 'utf8');
  return (await runProcess('ps', ['-o', 'args=', '-p', String(pid)])).stdout;
}

/** Both processes are asked to end while they work. */
async function shutDown(): Promise<void> {
  const last = json('sleep', { text: secrets.mark('value') });
  await untilOneRuns();
  await gateway.process.stop();
  await last;
  keep('gateway standard output', 'whole run', gateway.process.output('stdout'));
  keep('gateway standard error', 'whole run', gateway.process.output('stderr'));
}

async function collectFiles(): Promise<void> {
  await gateway.stopAgents();
  for (const { path, body } of collector.deliveries) keep('collector of traces', path, body.toString());
  for (const { name, process } of gateway.agents) {
    keepAgent(name, { stdout: process.output('stdout'), stderr: process.output('stderr') });
  }
  for (const entry of await readdir(gateway.folder, { recursive: true, withFileTypes: true })) {
    const ours =
      entry.name === 'svc-agent' || entry.name === 'capability.yaml' || entry.name.endsWith('.env');
    if (!entry.isFile() || ours) continue;
    keep(placeOf(entry.name), entry.name, await readFile(join(entry.parentPath, entry.name), 'utf8'));
  }
}

function placeOf(name: string): Place {
  if (name.startsWith('svc-agent.log')) return 'agent log';
  return name === 'openapi.json' ? 'openapi.json' : 'other file';
}

test('what may appear does, so the places are the right ones', { tags: ['log:canary'] }, () => {
  const kinds = (place: Place): readonly Kind[] => {
    const find = createDetector(secrets.marks);
    const found = evidence.filter((piece) => piece.place === place).flatMap(({ text }) => find(text));
    return [...new Set(found.map(({ kind }) => kind))].toSorted();
  };
  expect(kinds('response')).toEqual(['answer']);
  expect(kinds('agent log')).toEqual(expect.arrayContaining(['connection', 'sql']));
  expect(kinds('agent standard error')).toEqual(['file']);
  const services = new Set(collector.spans.map(({ resource }) => resource['service.name']));
  expect(services).toEqual(new Set(['svc-gateway', 'svc-agent']));
  const names = evidence.filter(({ place }) => place === 'agent log').map(({ of }) => of);
  expect(names).toEqual(expect.arrayContaining(['svc-agent.log', 'svc-agent.log.1', 'svc-agent.log.2']));
});

describe('no secret', () => {
  test('was left out: every error that a caller can meet was met', { tags: ['error:silence'] }, () => {
    expect([...codes].toSorted()).toEqual([
      'AGENT_BUSY',
      'AGENT_INVALID_PARAMS',
      'AGENT_QUERY_FAILED',
      'AGENT_QUERY_TIMEOUT',
      'AGENT_RESULT_TOO_LARGE',
      'GATEWAY_AGENT_OFFLINE',
      'GATEWAY_AGENT_TIMEOUT',
      'GATEWAY_CAPABILITY_NOT_FOUND',
      'GATEWAY_CAPABILITY_NOT_PERMITTED',
      'GATEWAY_INVALID_REQUEST',
      'GATEWAY_METHOD_NOT_ALLOWED',
      'GATEWAY_NOT_FOUND',
      'GATEWAY_ORIGIN_NOT_ALLOWED',
      'GATEWAY_RATE_LIMITED',
      'GATEWAY_REQUEST_TIMEOUT',
      'GATEWAY_SOURCE_NOT_ALLOWED',
      'GATEWAY_UNAUTHORIZED',
      'GATEWAY_UPGRADE_REQUIRED',
    ]);
  });

  test('is in a file that is none of these', { tags: ['log:canary'] }, () => {
    expect(leaks('other file')).toEqual([]);
  });

  const PROVES: readonly (readonly [tags: string[], places: readonly Place[]])[] = [
    [['error:silence', 'openapi:silence'], ['response']],
    [['openapi:silence'], ['openapi.json']],
    [['metrics:canary'], ['gateway metrics', 'agent metrics']],
    [['traces:canary'], ['collector of traces']],
    [['file:start-up-silence'], ['agent standard output', 'agent standard error']],
    [['log:canary'], ['gateway standard output', 'gateway standard error', 'agent log', 'process list']],
  ];
  describe.each(PROVES.map(([tags, places]) => ({ tags, places })))('$tags', ({ tags, places }) => {
    test.each(places)('is in the %s', { tags }, (place) => {
      expect(evidence.some((piece) => piece.place === place && piece.text !== '')).toBe(true);
      expect(leaks(place)).toEqual([]);
    });
  });
});

/** Each line that holds what it may not. */
function leaks(place: Place): readonly string[] {
  const allowed: readonly Kind[] = ALLOWED[place];
  const find = createDetector(secrets.marks.filter(({ kind }) => !allowed.includes(kind)));
  return evidence
    .filter((piece) => piece.place === place)
    .flatMap(({ of, text }) => (find(text).length > 0 ? text.split('\n').map((line) => ({ of, line })) : []))
    .flatMap(({ of, line }) => find(line).map(({ kind }) => `${kind} in ${of}: ${line}`));
}
