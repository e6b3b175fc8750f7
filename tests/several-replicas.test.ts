import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  ask,
  createAgentSecret,
  createKey,
  createReleasers,
  gatewaySettings,
  makeAgentFolder,
  nextRecord,
  startAgent,
  startTcpBalancer,
  startGateway,
  startProcess,
  temporaryFolder,
  testDatabase,
  type Answer,
  type TcpBalancer,
  type RunningProcess,
  type StartedGateway,
} from '@svc/testkit';
import { metricsPortOf } from './requirements/metrics-ports.testing.ts';

const CAPABILITIES = `
capabilities:
  echo:
    description: Gives back its number after a moment
    sql: select :n as n from (select pg_sleep(:seconds)) as moment
    params:
      n: { type: integer, required: true }
      seconds: { type: number, default: 0 }
    policy: { timeout: 5s, allow_functions: [pg_sleep] }
    result:
      n: { type: integer }
`;

// Three replicas behind a balancer and one agent live through all of it, each test with what the one before has left.
const releasers = createReleasers();
let settings: Readonly<Record<string, string>>;
let key: string;
let gateways: StartedGateway[];
let balancer: TcpBalancer;
let agent: RunningProcess;
let home: string;

async function startReplica(port = 0, env: Readonly<Record<string, string>> = {}): Promise<StartedGateway> {
  const gateway = await startGateway({
    ...settings,
    GATEWAY_ADDR: `127.0.0.1:${port}`,
    GATEWAY_REPLICAS: '3',
    ...env,
  });
  await releasers.add(() => gateway.process.stop());
  return gateway;
}

beforeAll(async () => {
  const folder = await temporaryFolder('replicas');
  await releasers.add(() => folder.remove());
  const secret = createAgentSecret();
  const [created, database] = await Promise.all([createKey('all', '*'), testDatabase()]);
  key = created.api_key;
  settings = {
    ...gatewaySettings(secret.agent_public_key, [created.record]),
    GATEWAY_METRICS_ADDR: '127.0.0.1:0',
  };
  gateways = await Promise.all([startReplica(), startReplica(), startReplica()]);
  balancer = await startTcpBalancer(
    gateways.map(({ port }) => port),
    'random',
  );
  await releasers.add(() => balancer.close());
  home = join(folder.path, 'agent');
  await makeAgentFolder(home, {
    'capability.yaml': `gateway:
  url: ws://127.0.0.1:${balancer.port}/ws/agent
  agent_private_key: ${secret.agent_private_key}
runtime: { max_concurrent_requests: 1, queue_size: 0 }
database:
  host: ${database.host}
  port: ${database.port}
  name: ${database.name}
  user: ${JSON.stringify(database.user)}
  password: ${JSON.stringify(database.password)}
${CAPABILITIES}`,
  });
  const listed = gateways.map((gateway) => nextRecord(gateway.process, 'agent_connected'));
  const [first] = gateways;
  if (first === undefined) throw new Error('no replica');
  agent = await startAgent(first.process, home);
  await releasers.add(() => agent.stop());
  await Promise.all(listed);
});
afterAll(() => releasers.closeAll());

function call(gateway: StartedGateway | undefined, params: object): Promise<Answer> {
  const url = `http://127.0.0.1:${gateway?.port}/api/v1/capabilities/echo`;
  return ask(url, { apiKey: key, method: 'POST', body: JSON.stringify(params) });
}

async function agentRecords(
  event: string,
  folder = home,
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const text = await readFile(join(folder, 'svc-agent.log'), 'utf8');
  return text
    .split('\n')
    .filter((line) => line.includes(`"event":"${event}"`))
    .map((line): Readonly<Record<string, unknown>> => JSON.parse(line));
}

test(
  'an agent links itself to every replica, and each answers with it',
  { tags: ['replicas:links', 'setting:GATEWAY_REPLICAS'] },
  async () => {
    for (const [n, gateway] of gateways.entries()) expect((await call(gateway, { n })).status).toBe(200);
    const connected = await agentRecords('connected');
    expect(new Set(connected.map(({ replica_id: id }) => id)).size).toBe(3);
    expect(connected.map(({ worker }) => worker)).toEqual([0, 0, 0]);
    expect(await agentRecords('disconnected')).toEqual([]);
  },
);

test('the bounds of the agent hold for all links together', { tags: ['replicas:bounds'] }, async () => {
  const [first, second] = gateways;
  if (first === undefined) throw new Error('no replica');
  const slow = call(first, { n: 1, seconds: 1 });
  const metrics = `http://127.0.0.1:${await metricsPortOf(first.process)}/metrics`;
  await expect
    .poll(async () => (await fetch(metrics)).text(), { interval: 10 })
    .toContain('\nsvc_gateway_agent_calls_in_flight 1\n');
  expect((await call(second, { n: 2 })).status).toBe(503);
  expect((await slow).status).toBe(200);
});

test(
  'a replica that is killed costs the others nothing, and is found again',
  { tags: ['replicas:lost'] },
  async () => {
    const [first] = gateways;
    if (first === undefined) throw new Error('no replica');
    balancer.policy('round robin');
    first.process.signal('SIGKILL');
    await first.process.exited;
    for (let n = 0; n < 10; n++) {
      for (const gateway of gateways.slice(1)) expect((await call(gateway, { n })).status).toBe(200);
    }
    const back = await startReplica(first.port);
    gateways[0] = back;
    await back.process.waitForLine((line) => line.includes('"event":"agent_connected"'), 20_000);
    expect((await call(back, { n: 1 })).status).toBe(200);
  },
);

test(
  'the newest count that a link has said holds: one replica more is found',
  { tags: ['replicas:count'] },
  async () => {
    const more = { GATEWAY_REPLICAS: '4' };
    const fourth = await startReplica(0, more);
    const listed = nextRecord(fourth.process, 'agent_connected');
    const [, second] = gateways;
    if (second === undefined) throw new Error('no replica');
    await second.process.stop();
    gateways[1] = await startReplica(second.port, more);
    balancer.targets([...gateways, fourth].map(({ port }) => port));
    await listed;
    expect((await call(fourth, { n: 1 })).status).toBe(200);
  },
);

describe('replicas with workers', { tags: ['setting:GATEWAY_LINKS_PER_REPLICA'] }, () => {
  test('get as many links of an agent as they want, each to another worker', async () => {
    const env = { ...settings, GATEWAY_WORKERS: '3', GATEWAY_LINKS_PER_REPLICA: '2', GATEWAY_REPLICAS: '2' };
    const two = await Promise.all([startGateway(env), startGateway(env)]);
    for (const { process } of two) await releasers.add(() => process.stop());
    const front = await startTcpBalancer(
      two.map(({ port }) => port),
      'random',
    );
    await releasers.add(() => front.close());
    const there = join(home, '..', 'several-links');
    const file = await readFile(join(home, 'capability.yaml'), 'utf8');
    const url = `url: ws://127.0.0.1:${front.port}/ws/agent\n  max_links: 4\n  resolve_interval: 1s`;
    await makeAgentFolder(there, { 'capability.yaml': file.replace(/url: .*/, url) });
    const several = await startProcess(join(there, 'svc-agent'), [], { cwd: there });
    await releasers.add(() => several.stop());
    const places = async (): Promise<readonly string[]> =>
      (await agentRecords('connected', there)).map(
        ({ replica_id: id, worker }) => `${String(id)} ${String(worker)}`,
      );
    await expect.poll(async () => (await places()).length, { interval: 50, timeout: 15_000 }).toBe(4);
    expect(new Set(await places()).size).toBe(4);
    const replicas = (await places()).map((place) => place.split(' ')[0] ?? '');
    expect(replicas.filter((replica) => replica === replicas[0]).length).toBe(2);
    for (const { process } of two) {
      const text = await (await fetch(`http://127.0.0.1:${await metricsPortOf(process)}/metrics`)).text();
      expect(text).toContain('\nsvc_gateway_replicas 2\n');
      expect(text).toContain('\nsvc_gateway_links_missing 0\n');
    }
  });
});

describe('GATEWAY_MAX_AGENT_LINKS', { tags: ['setting:GATEWAY_MAX_AGENT_LINKS'] }, () => {
  test('sends the agent that is one too many elsewhere', async () => {
    const full = await startGateway({ ...settings, GATEWAY_MAX_AGENT_LINKS: '1', GATEWAY_REPLICAS: '1' });
    await releasers.add(() => full.process.stop());
    const one = join(home, '..', 'one');
    const two = join(home, '..', 'two');
    const file = await readFile(join(home, 'capability.yaml'), 'utf8');
    const files = { 'capability.yaml': file.replace(/url: .*/, `url: ws://127.0.0.1:${full.port}/ws/agent`) };
    await Promise.all([makeAgentFolder(one, files), makeAgentFolder(two, files)]);
    const first = await startAgent(full.process, one);
    await releasers.add(() => first.stop());
    const refused = nextRecord(full.process, 'agent_rejected');
    const second = startAgent(full.process, two);
    expect(await refused).toContain('GATEWAY_MAX_AGENT_LINKS');
    await first.stop();
    const there = await second;
    await releasers.add(() => there.stop());
  });
});
