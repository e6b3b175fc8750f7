import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  runProcess,
  startService,
  SVC_AGENT,
  SVC_GATEWAY,
  temporaryFolder,
  testDatabase,
  type Service,
  type TestDatabase,
} from '@svc/testkit';
import { askOnce, gatewayEnvironment, recordsOf, startLoneGateway } from './lone-gateway.testing.ts';
import { agentMetricsPort, metricsPortOf } from './metrics-ports.testing.ts';

const CAPABILITIES = `
metrics: { addr: "127.0.0.1:0" }
capabilities:
  one:
    sql: select 1 as one
    result: { one: { type: integer } }
`;
/** For what happens at once, on a machine that is busy. */
const PATIENCE_MS = 15_000;

let database: TestDatabase;
let service: Service;
let gatewayPort: number;
let agentPort: number;
/** How long a client was borne that says nothing. */
let silentHeldMs: Promise<number>;

beforeAll(async () => {
  database = await testDatabase();
  service = await startService({
    database,
    capabilities: CAPABILITIES,
    gatewayEnv: { GATEWAY_METRICS_ADDR: '127.0.0.1:0' },
  });
  gatewayPort = await metricsPortOf(service.gateway);
  agentPort = await agentMetricsPort(service);
  const silent = await open(gatewayPort);
  const since = performance.now();
  silentHeldMs = once(silent, 'close').then(() => performance.now() - since);
});
afterAll(() => service.stop());

async function open(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

describe.each([
  ['gateway', 'setting:GATEWAY_METRICS_ADDR', () => gatewayPort],
  ['agent', 'file:metrics.addr', () => agentPort],
] as const)('the listener of the %s', (_side, tag, port) => {
  test('answers GET and HEAD of /metrics, and nothing else', { tags: [tag] }, async () => {
    const got = await askOnce(port(), 'GET', '/metrics?x=1');
    expect(got.status).toBe(200);
    expect(got.header('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(got.header('connection')).toBe('close');
    const head = await askOnce(port(), 'HEAD', '/metrics');
    expect([head.status, head.body]).toEqual([200, '']);
    expect(Number(head.header('content-length'))).toBeGreaterThan(1000);
    for (const path of ['/', '/metrics/', '/metricsx', '/healthz', '/api/v1/capabilities/get'])
      expect((await askOnce(port(), 'GET', path)).status).toBe(404);
    const posted = await askOnce(port(), 'POST', '/metrics', { body: '{}' });
    expect([posted.status, posted.header('allow')]).toEqual([405, 'GET, HEAD']);
  });

  test('lets few connect at once', { tags: [tag] }, async () => {
    const idle: Socket[] = [];
    // The silent one may still be there, too.
    for (let count = 0; count < 16; count++) idle.push(await open(port()));
    const since = performance.now();
    const beyond = connect(port(), '127.0.0.1').on('error', () => {});
    await once(beyond, 'close');
    // Sooner than one that is cut off because it says nothing.
    expect(performance.now() - since).toBeLessThan(4000);
    for (const socket of idle) socket.destroy();
    await expect
      .poll(
        () =>
          askOnce(port(), 'GET', '/metrics').then(
            ({ status }) => status,
            () => 0,
          ),
        { timeout: PATIENCE_MS },
      )
      .toBe(200);
  });
});

test('the metrics are not where callers are', { tags: ['setting:GATEWAY_METRICS_ADDR'] }, async () => {
  expect((await service.get('/metrics')).status).toBe(404);
  expect(gatewayPort).not.toBe(service.port);
});

describe('settings', () => {
  test(
    'there is no listener unless one is asked for',
    { tags: ['setting:GATEWAY_METRICS_ADDR'] },
    async () => {
      const alone = await startLoneGateway(await gatewayEnvironment());
      expect(recordsOf(alone.process).map(({ event }) => event)).toEqual(
        expect.not.arrayContaining(['metrics_listening']),
      );
      expect((await alone.process.stop()).code).toBe(0);
    },
  );

  test(
    'a port that is taken ends the start with 1 and says which setting to change',
    { tags: ['setting:GATEWAY_METRICS_ADDR', 'file:metrics.addr', 'command:exit-codes'] },
    async () => {
      const taken = createServer().listen(0, '127.0.0.1');
      await once(taken, 'listening');
      const bound = taken.address();
      if (bound === null || typeof bound === 'string') throw new Error('no TCP address');
      const addr = `127.0.0.1:${bound.port}`;
      const advice = 'another process listens on this address; choose another, or port 0 for any free one';
      const env = await gatewayEnvironment([], { GATEWAY_METRICS_ADDR: addr });
      const { code, stderr } = await runProcess(SVC_GATEWAY, [], { env });
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: `svc-gateway: cannot start: GATEWAY_METRICS_ADDR: ${advice}\n`,
      });
      const capabilities = CAPABILITIES.replace('127.0.0.1:0', addr);
      await expect(startService({ database, capabilities })).rejects.toThrow(
        new RegExp(`it ended with 1\\n[^]*svc-agent: cannot start: metrics\\.addr: ${advice}$`, 'm'),
      );
      taken.close();
    },
  );

  test.each(['9090', ':65536', '[1.2.3.4]:9090'])(
    'an address must be one: %s',
    { tags: ['setting:GATEWAY_METRICS_ADDR', 'file:metrics.addr'] },
    async (addr) => {
      const env = await gatewayEnvironment([], { GATEWAY_METRICS_ADDR: addr });
      const folder = await temporaryFolder('metrics-addr');
      const file = join(folder.path, 'capability.yaml');
      await writeFile(file, `metrics: { addr: ${JSON.stringify(addr)} }\n`);
      const [gateway, agent] = await Promise.all([
        runProcess(SVC_GATEWAY, [], { env }),
        runProcess(SVC_AGENT, ['check', '--offline', '--config', file], { cwd: folder.path }),
      ]);
      await folder.remove();
      expect([gateway.code, agent.code]).toEqual([2, 2]);
      expect(gateway.stderr).toMatch(/^svc-gateway: GATEWAY_METRICS_ADDR: .* is not a listen address; .*\n$/);
      expect(agent.stdout).toMatch(/:1:18 {2}metrics\.addr: must be `:<port>` or `<host>:<port>`/);
    },
  );
});

test('a client that says nothing is cut off', { tags: ['setting:GATEWAY_METRICS_ADDR'] }, async () => {
  const heldMs = await silentHeldMs;
  expect(heldMs).toBeGreaterThan(2000);
  expect(heldMs).toBeLessThan(10_000);
});
