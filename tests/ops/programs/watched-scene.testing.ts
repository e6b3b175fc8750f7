import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import {
  createReleasers,
  createTokenIssuer,
  dial,
  findValkey,
  startFaultProxy,
  startService,
  startValkey,
  temporaryFolder,
  testDatabase,
  type Service,
} from '@svc/testkit';
import { agentMetricsPort, metricsPortOf } from '../../requirements/metrics-ports.testing.ts';
import { ALERTS_FILE } from '../ops-files.testing.ts';
import { startPrometheus, type Prometheus } from './prometheus.testing.ts';

const CAPABILITIES = `
metrics: { addr: "127.0.0.1:0" }
capabilities:
  get:
    description: What is in a table
    sql: select id from kept
    result: { id: { type: integer } }
  divide:
    description: Fails in the database
    sql: select 1 / :by as quotient
    params: { by: { type: integer, required: true } }
    result: { quotient: { type: integer } }
  sleep:
    description: Takes very long
    sql: select 'x' as slept from pg_sleep(60)
    policy: { timeout: 1m, allow_functions: [pg_sleep] }
    result: { slept: { type: string } }
`;

/** Two gateways with an agent each, calls that go on, and a Prometheus that looks at it all. */
export interface WatchedScene {
  readonly prometheus: Prometheus;
  readonly hasValkey: boolean;
  /** More calls than both agents can run, strangers, a table that is gone, files that are wrong. */
  overload(): Promise<void>;
  /** One of the two databases is away. */
  loseDatabase(): Promise<void>;
  /** One of the two gateways has no agent. */
  loseAgent(): Promise<void>;
  stop(): Promise<void>;
}

export async function startWatchedScene(): Promise<WatchedScene> {
  const releasers = createReleasers();
  try {
    return await start(releasers);
  } catch (error) {
    await releasers.closeAll();
    throw error;
  }
}

async function start(releasers: ReturnType<typeof createReleasers>): Promise<WatchedScene> {
  const folder = await temporaryFolder('watched');
  await releasers.add(() => folder.remove());
  const valkey = findValkey() && (await startValkey());
  if (valkey !== undefined) await releasers.add(() => valkey.stop());
  const services = join(folder.path, 'services.json');
  const jwks = join(folder.path, 'jwks.json');
  await writeFile(services, '{"services":[]}');
  const issuer = 'https://idp.example';
  await writeFile(jwks, createTokenIssuer(issuer, 'http://localhost/mcp').jwks);
  const database = await testDatabase({ sql: ['create table kept as select 1 as id'] });
  const proxy = await startFaultProxy({ target: database });
  await releasers.add(() => proxy.close());

  /** One process each, as little as there can be. */
  const small = await startService({
    database: { ...database, host: proxy.host, port: proxy.port },
    capabilities: `runtime: { max_concurrent_requests: 2, reverify: 1s }${CAPABILITIES}`,
    gatewayEnv: { GATEWAY_METRICS_ADDR: '127.0.0.1:0' },
  });
  await releasers.add(() => small.stop());
  /** Everything that has metrics of its own. */
  const large = await startService({
    database,
    capabilities: `runtime: { workers: 2 }\ntelemetry: { traces: otlp }${CAPABILITIES}`,
    gatewayEnv: {
      GATEWAY_METRICS_ADDR: '127.0.0.1:0',
      GATEWAY_WORKERS: '2',
      GATEWAY_TRACES: 'otlp',
      GATEWAY_SERVICES_FILE: services,
      GATEWAY_PUBLIC_URL: 'http://localhost',
      GATEWAY_ISSUERS_JSON: JSON.stringify([
        { name: 'idp', issuer, jwks_file: jwks, grants: [{ capabilities: ['get'], scope: 'read' }] },
      ]),
      ...(valkey && { GATEWAY_VALKEY_URL: `redis://${valkey.host}:${valkey.port}` }),
    },
  });
  await releasers.add(() => large.stop());

  const calls = new AbortController();
  const calling = callOn([small, large], calls.signal);
  await releasers.add(async () => {
    calls.abort();
    await calling;
  });
  const prometheus = await startPrometheus({
    jobs: {
      gateways: [await metricsPortOf(small.gateway), await metricsPortOf(large.gateway)],
      agents: [await agentMetricsPort(small), await agentMetricsPort(large)],
    },
    rules: ALERTS_FILE,
  });
  await releasers.add(() => prometheus.stop());

  return {
    prometheus,
    hasValkey: valkey !== undefined,
    async overload() {
      // Slots are scarce at one agent, connections at the other.
      for (const service of [small, large]) {
        for (let call = 0; call < 12; call++) void sleepOn(service, calls.signal);
      }
      for (let stranger = 0; stranger < 10; stranger++) await beStranger(small.port);
      await database.query('alter table kept rename to gone');
      await writeFile(services, 'no JSON');
      large.gateway.signal('SIGHUP');
      const file = join(large.agentFolder(0), 'capability.yaml');
      await writeFile(file, `${await readFile(file, 'utf8')}\nnothing: known\n`);
      large.agents[0]?.signal('SIGHUP');
    },
    loseDatabase: () => proxy.close(),
    async loseAgent() {
      await small.agents[0]?.stop();
    },
    stop: () => releasers.closeAll(),
  };
}

/** Good calls, calls of every sort of failure, and callers without a key, until the signal. */
async function callOn(services: readonly Service[], signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const calls = services.flatMap((service) => [
      service.call('get', {}, { signal }),
      service.call('divide', { by: 0 }, { signal }),
      service.call('divide', { by: 'x' }, { signal }),
      service.get('/openapi.json', { key: null, signal }),
      service.get('/healthz', { key: null, signal }),
    ]);
    await Promise.allSettled(calls);
    await pause(100, undefined, { signal }).catch(() => {});
  }
}

async function sleepOn(service: Service, signal: AbortSignal): Promise<void> {
  await service.call('sleep', {}, { signal }).catch(() => {});
}

/** Opens the connection of an agent and says what no agent says. */
async function beStranger(port: number): Promise<void> {
  const connection = await dial(port);
  connection.send(
    `GET /ws/agent HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${Buffer.alloc(16).toString('base64')}\r\nSec-WebSocket-Protocol: svc-agent.v1\r\n\r\n`,
  );
  await connection.until(/\r\n\r\n/);
  // A text of two characters, masked with zeros.
  connection.send(new Uint8Array([0x81, 0x82, 0, 0, 0, 0, 0x7b, 0x7d]));
  await connection.until(/\x88/);
  connection.socket.destroy();
}
