import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { createInterface } from 'node:readline';
import { afterAll, describe, expect, test } from 'vitest';
import {
  createKey,
  freePort,
  isPortFree,
  startFaultProxy,
  startService,
  SVC_GATEWAY,
  testDatabase,
  type Answer,
  type FaultProxy,
  type RunningProcess,
  type Service,
  type TestDatabase,
} from '@svc/testkit';
import { gatewayEnvironment } from './lone-gateway.testing.ts';

const CAPABILITIES = `
capabilities:
  nap:
    description: Answers after a while
    sql: select :seconds as slept from pg_sleep(:seconds::float8)
    params: { seconds: { type: number, required: true } }
    policy: { timeout: 1m, allow_functions: [pg_sleep] }
    result: { slept: { type: number } }
  brief:
    description: One, within half a second
    sql: select 1 as one
    policy: { timeout: 500ms }
    result: { one: { type: integer } }
`;
const SLEEPING =
  "select pid from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'";
const OFFLINE = { error: { code: 'GATEWAY_AGENT_OFFLINE', message: 'agent is not connected' } };

interface Scene {
  readonly service: Service;
  readonly database: TestDatabase;
}

const started: Service[] = [];
const networks: FaultProxy[] = [];
afterAll(async () => {
  await Promise.all(started.map((service) => service.stop()));
  await Promise.all(networks.map((network) => network.close()));
});

async function start(options: { port?: number; linkPort?: number } = {}): Promise<Scene> {
  const { port, linkPort } = options;
  const database = await testDatabase();
  const service = await startService({
    database,
    capabilities: CAPABILITIES,
    ...(port === undefined ? {} : { gatewayEnv: { GATEWAY_ADDR: `127.0.0.1:${port}` } }),
    ...(linkPort === undefined ? {} : { linkPort }),
  });
  started.push(service);
  return { service, database };
}

function agentOf({ agents: [agent] }: Service): RunningProcess {
  if (agent === undefined) throw new Error('cannot take the agent: none was started');
  return agent;
}

/** Asks until the answer is as wanted; `expect.poll` serves only tests that run one after the other. */
async function until(holds: () => Promise<boolean>, withinMs: number): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await holds())) expect(performance.now()).toBeLessThan(deadline);
}

async function asleep({ database }: Scene, count: number): Promise<void> {
  await until(async () => (await database.query(SLEEPING)).length === count, 20_000);
}

async function readiness({ service }: Scene, status: number): Promise<void> {
  await until(async () => (await service.get('/readyz')).status === status, 20_000);
}

/** Resolves with the milliseconds since `from` at which the call ended, and its answer. */
async function timed(call: Promise<Answer>, from: number): Promise<{ answer: Answer; ms: number }> {
  const answer = await call;
  return { answer, ms: performance.now() - from };
}

interface Kept {
  get(
    path: string,
  ): Promise<{ readonly status: number; readonly body: unknown; readonly connection: string }>;
  close(): void;
}

/** A caller with one connection, which it keeps. */
function keptConnection({ url }: Service): Kept {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return {
    get: (path) =>
      new Promise((resolve, reject) => {
        const asked = request(`${url}${path}`, { agent }, (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (chunk: string) => {
            text += chunk;
          });
          response.on('end', () => {
            const { statusCode: status = 0, headers } = response;
            resolve({ status, body: JSON.parse(text), connection: headers.connection ?? '' });
          });
        });
        asked.on('error', reject).end();
      }),
    close: () => agent.destroy(),
  };
}

// Most of this is bounded by the clock alone, so it runs side by side.
describe.concurrent('half a minute', { timeout: 60_000 }, () => {
  test(
    'a gateway that is stopped finishes what it has, cuts off what takes more than 25 s, and ends with 0',
    { tags: ['shutdown:gateway', 'shutdown:bounded', 'health:ok', 'health:readyz', 'log:shutting_down'] },
    async () => {
      const scene = await start();
      const { service } = scene;
      const kept = [keptConnection(service), keptConnection(service)] as const;
      const [health, ready] = kept;
      expect(await health.get('/healthz')).toMatchObject({
        status: 200,
        body: { ok: true, agent_connected: true },
      });
      expect(await ready.get('/readyz')).toMatchObject({ status: 200 });
      const short = service.call('nap', { seconds: 2 });
      const long = service.call('nap', { seconds: 50 });
      await asleep(scene, 2);
      const from = performance.now();
      service.gateway.signal('SIGTERM');
      const line = await service.gateway.waitForLine((text) => text.includes('shutting_down'));
      expect(JSON.parse(line)).toMatchObject({ event: 'shutting_down', signal: 'SIGTERM', in_flight: 2 });
      await until(() => isPortFree(service.port), 10_000);
      // The agent was told: it looks for another gateway while this one still waits for it.
      await agentOf(service).waitForLine((text) => text.includes('not connected to ws://'));
      const leave = { status: 503, connection: 'close' };
      expect(await health.get('/healthz')).toEqual({ ...leave, body: { ok: false, agent_connected: true } });
      expect(await ready.get('/readyz')).toMatchObject(leave);
      for (const connection of kept) connection.close();
      expect((await short).text).toBe('{"rows":[{"slept":2}],"count":1}');
      const { answer, ms } = await timed(long, from);
      expect([answer.status, answer.json]).toEqual([503, OFFLINE]);
      expect(ms).toBeGreaterThan(24_500);
      expect(ms).toBeLessThan(29_000);
      expect(await service.gateway.exited).toEqual({ code: 0, signal: null });
      expect(performance.now() - from).toBeLessThan(30_000);
      // Nobody waits for the query any more.
      await asleep(scene, 0);
    },
  );

  test(
    'an agent that is stopped finishes what it has, cuts off what takes more than 25 s, and ends with 0',
    { tags: ['shutdown:agent', 'shutdown:bounded'] },
    async () => {
      const scene = await start();
      const { service } = scene;
      const agent = agentOf(service);
      const short = service.call('nap', { seconds: 2 });
      const long = service.call('nap', { seconds: 50 });
      await asleep(scene, 2);
      const from = performance.now();
      agent.signal('SIGTERM');
      await agent.waitForLine((text) => text.includes('SIGTERM: finishing 2 calls'));
      await readiness(scene, 503);
      const refused = await service.call('nap', { seconds: 0 });
      expect([refused.status, refused.json]).toEqual([503, OFFLINE]);
      expect((await short).text).toBe('{"rows":[{"slept":2}],"count":1}');
      const { answer, ms } = await timed(long, from);
      expect([answer.status, answer.json]).toEqual([503, OFFLINE]);
      expect(ms).toBeGreaterThan(24_500);
      expect(ms).toBeLessThan(29_000);
      expect(await agent.exited).toEqual({ code: 0, signal: null });
      expect(performance.now() - from).toBeLessThan(30_000);
      await asleep(scene, 0);
    },
  );

  test(
    'a link that falls silent is given up by both sides within 28 s and made again; no call waits for it',
    { tags: ['agent:reconnect', 'log:agent_disconnected', 'error:GATEWAY_AGENT_TIMEOUT'] },
    async () => {
      const port = await freePort();
      const network = await startFaultProxy({ target: { host: '127.0.0.1', port } });
      networks.push(network);
      const scene = await start({ port, linkPort: network.port });
      const { service } = scene;
      // The key is known from here on, so that only the call takes time below.
      expect((await service.call('brief', {})).status).toBe(200);
      network.strand();
      const from = performance.now();
      const { answer, ms } = await timed(service.call('brief', {}), from);
      expect([answer.status, answer.json]).toMatchObject([504, { error: { code: 'GATEWAY_AGENT_TIMEOUT' } }]);
      expect(ms).toBeLessThan(5000);
      const lost = service.gateway.waitForLine(
        (text) => text.includes('"event":"agent_disconnected"'),
        29_000,
      );
      expect(JSON.parse(await lost)).toMatchObject({ reason: 'the peer fell silent' });
      expect(performance.now() - from).toBeLessThan(29_000);
      const agent = agentOf(service);
      await agent.waitForLine(
        (text) => text.includes('the peer fell silent'),
        29_000 - (performance.now() - from),
      );
      await readiness(scene, 200);
      expect((await service.call('brief', {})).status).toBe(200);
    },
  );

  test(
    'SIGQUIT is SIGTERM, SIGHUP too for the gateway alone, and no other signal ends an accepted call',
    { tags: ['shutdown:signals', 'log:shutting_down'] },
    async () => {
      const scene = await start();
      const { service } = scene;
      const { gateway } = service;
      const answered: Promise<Answer>[] = [];
      const nap = async (): Promise<void> => {
        answered.push(service.call('nap', { seconds: 2 }));
        await asleep(scene, 1);
      };
      const send = (running: RunningProcess, ...signals: readonly NodeJS.Signals[]): void => {
        for (const signal of signals) running.signal(signal);
      };
      const first = agentOf(service);
      await nap();
      send(gateway, 'SIGUSR1', 'SIGUSR2');
      send(first, 'SIGUSR1', 'SIGUSR2', 'SIGHUP');
      await Promise.all(answered);
      await nap();
      send(first, 'SIGQUIT');
      await first.waitForLine((text) => text.includes('SIGQUIT: finishing 1 call'));
      send(first, 'SIGQUIT', 'SIGHUP', 'SIGUSR1', 'SIGUSR2');
      expect(await first.exited).toEqual({ code: 0, signal: null });
      const second = await service.startAgent();
      await nap();
      send(gateway, 'SIGHUP');
      const line = await gateway.waitForLine((text) => text.includes('shutting_down'));
      expect(JSON.parse(line)).toMatchObject({ event: 'shutting_down', signal: 'SIGHUP', in_flight: 1 });
      send(gateway, 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2');
      expect(await gateway.exited).toEqual({ code: 0, signal: null });
      for (const { text } of await Promise.all(answered))
        expect(text).toBe('{"rows":[{"slept":2}],"count":1}');
      for (const running of [gateway, first, second]) expect(running.output()).not.toContain('Debugger');
    },
  );

  test(
    'a second signal ends either at once, with 1',
    { tags: ['shutdown:second-signal', 'log:shutting_down'] },
    async () => {
      const scene = await start();
      const { service } = scene;
      const calls = [1, 2].map(() => service.call('nap', { seconds: 4 }).catch(() => 'cut off'));
      await asleep(scene, 2);
      const both = [agentOf(service), service.gateway];
      for (const running of both) running.signal('SIGINT');
      await Promise.all(
        both.map((running) => running.waitForLine((text) => /shutting_down|finishing 2 calls/.test(text))),
      );
      const from = performance.now();
      for (const running of both) running.signal('SIGINT');
      const exits = await Promise.all(both.map((running) => running.exited));
      expect(exits).toEqual(both.map(() => ({ code: 1, signal: null })));
      expect(performance.now() - from).toBeLessThan(10_000);
      await Promise.all(calls);
      await asleep(scene, 0);
    },
  );
});

test('a gateway that is part of a program ends once when a signal comes with the end of that program', async () => {
  const { record } = await createKey('one', '*');
  const env = await gatewayEnvironment([record], { SVC_GATEWAY_ENDS_WITH_STDIN: '1' });
  const gateway = spawn(SVC_GATEWAY, { env: { ...process.env, ...env } });
  const exited = once(gateway, 'exit');
  const events: unknown[] = [];
  for await (const line of createInterface(gateway.stdout)) {
    const { event } = JSON.parse(line);
    events.push(event);
    if (event !== 'listening') continue;
    gateway.kill('SIGTERM');
    gateway.stdin.end();
  }
  expect(await exited).toEqual([0, null]);
  expect(events.filter((event) => event === 'shutting_down' || event === 'internal_error')).toEqual([
    'shutting_down',
  ]);
});
