import { Agent, request, type IncomingHttpHeaders } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import {
  createReleasers,
  freePort,
  nextRecord,
  startFaultProxy,
  startService,
  testDatabase,
  type FaultProxy,
  type Service,
} from '@svc/testkit';
import { afterAll, describe, expect, test } from 'vitest';

const CAPABILITIES = `
capabilities:
  one:
    sql: select 1 as n
    result: { n: { type: integer } }
`;
const RIGHT = '{"rows":[{"n":1}],"count":1}';
const OFFLINE = { error: { code: 'GATEWAY_AGENT_OFFLINE', message: 'agent is not connected' } };

const releasers = createReleasers();
afterAll(() => releasers.closeAll());

async function start(gatewayEnv: Readonly<Record<string, string>>, agents = 1): Promise<Service> {
  const service = await startService({
    database: await testDatabase(),
    capabilities: CAPABILITIES,
    gatewayEnv,
    agents,
  });
  await releasers.add(() => service.stop());
  return service;
}

interface NetworkedService {
  readonly service: Service;
  /** Between agent and gateway. */
  readonly network: FaultProxy;
}

async function startNetworked(gatewayEnv: Readonly<Record<string, string>>): Promise<NetworkedService> {
  const port = await freePort();
  const network = await startFaultProxy({ target: { host: '127.0.0.1', port } });
  await releasers.add(() => network.close());
  const service = await startService({
    database: await testDatabase(),
    capabilities: CAPABILITIES,
    gatewayEnv: { GATEWAY_ADDR: `127.0.0.1:${port}`, ...gatewayEnv },
    linkPort: network.port,
  });
  await releasers.add(() => service.stop());
  return { service, network };
}

function get(
  service: Service,
  path: string,
  agent?: Agent,
): Promise<{ status: number; headers: IncomingHttpHeaders }> {
  return new Promise((resolve, reject) => {
    const asked = request(`${service.url}${path}`, agent === undefined ? {} : { agent }, (response) => {
      response
        .resume()
        .once('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers }));
    });
    asked.once('error', reject).end();
  });
}

/** Milliseconds until `/readyz` answers 200. */
async function readyAfter(service: Service, from: number): Promise<number> {
  while ((await service.get('/readyz')).status !== 200) await wait(10);
  return performance.now() - from;
}

describe.concurrent('the beginning and the end of a gateway', { timeout: 60_000 }, () => {
  test(
    'for the delay of the shutdown it says that it is not ready and serves as before; then it ends as ever',
    { tags: ['setting:GATEWAY_SHUTDOWN_DELAY', 'health:ok', 'health:readyz', 'log:shutting_down'] },
    async () => {
      const DELAY_MS = 2000;
      const service = await start({ GATEWAY_SHUTDOWN_DELAY: `${DELAY_MS}ms` });
      const [agent] = service.agents;
      const kept = new Agent({ keepAlive: true, maxSockets: 1 });
      await get(service, '/healthz', kept);
      const from = performance.now();
      service.gateway.signal('SIGTERM');
      await service.gateway.waitForLine((line) => line.includes('"event":"shutting_down"'));
      expect(performance.now() - from).toBeLessThan(1000);
      let right = 0;
      while (performance.now() - from < DELAY_MS - 300) {
        const answers = await Promise.all([
          service.get('/readyz'),
          service.get('/healthz'),
          service.call('one', {}),
          service.get('/openapi.json'),
        ]);
        const [ready, health, call, description] = answers;
        for (const { status, json } of [ready, health]) {
          expect([status, json]).toEqual([503, { ok: false, agent_connected: true }]);
        }
        expect([call.status, call.text]).toEqual([200, RIGHT]);
        expect(description.status).toBe(200);
        const onKept = await get(service, '/openapi.json', kept);
        expect([onKept.status, onKept.headers.connection]).toEqual([401, 'keep-alive']);
        right += 1;
        await wait(20);
      }
      expect(right).toBeGreaterThan(0);
      expect(agent?.output()).not.toContain('not connected to ws://');
      kept.destroy();
      expect(await service.gateway.exited).toEqual({ code: 0, signal: null });
      expect(performance.now() - from).toBeGreaterThan(DELAY_MS);
      await agent?.waitForLine((line) => line.includes('not connected to ws://'));
    },
  );

  test(
    'all its workers serve during the delay, and all say that they are not ready',
    { tags: ['setting:GATEWAY_SHUTDOWN_DELAY'] },
    async () => {
      const service = await start({ GATEWAY_SHUTDOWN_DELAY: '3s', GATEWAY_WORKERS: '2' });
      expect((await service.call('one', {})).status).toBe(200);
      const from = performance.now();
      service.gateway.signal('SIGTERM');
      await service.gateway.waitForLine((line) => line.includes('"event":"shutting_down"'));
      while (performance.now() - from < 2000) {
        // New connections, so that each worker has some.
        const asked = Array.from({ length: 6 }, () => get(service, '/readyz'));
        const calls = Array.from({ length: 6 }, () => service.call('one', {}));
        for (const { status } of await Promise.all(asked)) expect(status).toBe(503);
        for (const { status, text } of await Promise.all(calls)) expect([status, text]).toEqual([200, RIGHT]);
        await wait(20);
      }
      expect(await service.gateway.exited).toEqual({ code: 0, signal: null });
      expect(performance.now() - from).toBeGreaterThan(3000);
    },
  );

  test(
    'a second signal ends it at once, during the delay too',
    { tags: ['setting:GATEWAY_SHUTDOWN_DELAY', 'shutdown:second-signal'] },
    async () => {
      const service = await start({ GATEWAY_SHUTDOWN_DELAY: '10m' }, 0);
      service.gateway.signal('SIGTERM');
      await service.gateway.waitForLine((line) => line.includes('"event":"shutting_down"'));
      const from = performance.now();
      service.gateway.signal('SIGTERM');
      expect(await service.gateway.exited).toEqual({ code: 1, signal: null });
      expect(performance.now() - from).toBeLessThan(2000);
    },
  );

  test(
    'it is ready 2 s after its first agent, where no agent of another service comes',
    { tags: ['setting:GATEWAY_READY_AFTER', 'health:readyz'] },
    async () => {
      const service = await start({ GATEWAY_READY_AFTER: '10m' }, 0);
      const alone = await service.get('/readyz');
      expect([alone.status, alone.json]).toEqual([503, { ok: false, agent_connected: false }]);
      await service.startAgent();
      const from = performance.now();
      const early = await service.get('/readyz');
      expect([early.status, early.json]).toEqual([503, { ok: false, agent_connected: true }]);
      expect((await service.get('/healthz')).json).toEqual({ ok: true, agent_connected: true });
      // Whoever calls is served.
      expect((await service.call('one', {})).status).toBe(200);
      const ms = await readyAfter(service, from);
      expect(ms).toBeGreaterThan(1500);
      expect(ms).toBeLessThan(6000);
      // Agents that go and come change no more than without the setting.
      const gone = nextRecord(service.gateway, 'agent_disconnected');
      await service.agents[0]?.stop();
      await gone;
      expect((await service.get('/readyz')).status).toBe(503);
      await service.startAgent();
      expect((await service.get('/readyz')).status).toBe(200);
    },
  );

  test(
    'it is ready at the latest when the time of the setting is over',
    { tags: ['setting:GATEWAY_READY_AFTER'] },
    async () => {
      const service = await start({ GATEWAY_READY_AFTER: '100ms' }, 0);
      await wait(150);
      expect((await service.get('/readyz')).status).toBe(503);
      await service.startAgent();
      expect((await service.get('/readyz')).status).toBe(200);
    },
  );

  test(
    'calls wait for the only agent to come back, and are answered then',
    { tags: ['setting:GATEWAY_AGENT_WAIT', 'agent:reconnect'] },
    async () => {
      const { service, network } = await startNetworked({ GATEWAY_AGENT_WAIT: '20s' });
      expect((await service.call('one', {})).status).toBe(200);
      for (let round = 0; round < 3; round += 1) {
        const lost = nextRecord(service.gateway, 'agent_disconnected');
        const back = nextRecord(service.gateway, 'agent_connected');
        network.cut();
        await lost;
        const calls = Array.from({ length: 20 }, () => service.call('one', {}));
        for (const { status, text } of await Promise.all(calls)) expect([status, text]).toEqual([200, RIGHT]);
        await back;
      }
    },
  );

  test(
    'when no agent comes, calls are refused after the time of the setting, and 2 s after the loss at once',
    { tags: ['setting:GATEWAY_AGENT_WAIT', 'error:GATEWAY_AGENT_OFFLINE'] },
    async () => {
      const { service, network } = await startNetworked({ GATEWAY_AGENT_WAIT: '1s' });
      expect((await service.call('one', {})).status).toBe(200);
      const lost = nextRecord(service.gateway, 'agent_disconnected');
      await network.close();
      await lost;
      const from = performance.now();
      const refused = await service.call('one', {});
      expect([refused.status, refused.json]).toEqual([503, OFFLINE]);
      expect(performance.now() - from).toBeGreaterThan(950);
      await wait(2500 - (performance.now() - from));
      const later = performance.now();
      expect((await service.call('one', {})).status).toBe(503);
      expect(performance.now() - later).toBeLessThan(900);
    },
  );
});
