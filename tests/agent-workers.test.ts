import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { ask, startFaultProxy, startService, testDatabase, type Answer, type FaultProxy } from '@svc/testkit';
import type { RunningProcess, Service, TestDatabase } from '@svc/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { agentMetricsPort } from './requirements/metrics-ports.testing.ts';

const WORKERS = 2;
const CONNECTIONS = 5;
const SLEEPING = `select pid from pg_stat_activity
  where datname = current_database() and application_name = 'svc-agent' and wait_event = 'PgSleep'`;
const SESSIONS = `select pid from pg_stat_activity
  where datname = current_database() and application_name = 'svc-agent'`;
const LARGE_ROWS = 30;

const CAPABILITIES = `  max_connections: ${CONNECTIONS}
runtime: { workers: ${WORKERS} }
metrics: { addr: "127.0.0.1:0" }
capabilities:
  echo:
    description: Gives back what it got
    sql: select :n as n
    params: { n: { type: integer, required: true } }
    result: { n: { type: integer } }
  sleep:
    description: Sleeps
    sql: select :seconds as slept from pg_sleep(:seconds)
    params: { seconds: { type: number, required: true } }
    policy: { allow_functions: [pg_sleep] }
    result: { slept: { type: number } }
  large:
    description: Some 30 MiB
    sql: select repeat(chr(65 + n), 1024 * 1024) as text from generate_series(1, ${LARGE_ROWS}) n
    policy: { max_bytes: 64MB }
    result: { text: { type: string } }
`;

let database: TestDatabase;
let network: FaultProxy;
let service: Service;
let agent: RunningProcess;
beforeAll(async () => {
  database = await testDatabase();
  network = await startFaultProxy({ target: database });
  const { name, user, password } = database;
  const { host, port } = network;
  service = await startService({
    database: { host, port, name, user, password },
    capabilities: CAPABILITIES,
    gatewayEnv: { GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND: '100000' },
  });
  const [first] = service.agents;
  if (first === undefined) throw new Error('no agent was started');
  agent = first;
});
afterAll(async () => {
  await service.stop();
  await network.close();
});

/** The processes that the agent has started. */
async function workers(): Promise<readonly number[]> {
  const { stdout } = await promisify(execFile)('pgrep', ['-P', String(agent.pid)]).catch(() => ({
    stdout: '',
  }));
  return stdout.split('\n').filter(Boolean).map(Number);
}

async function firstWorker(): Promise<number> {
  const [pid] = await workers();
  if (pid === undefined) throw new Error('the agent has no workers');
  return pid;
}

/** Of these processes those that have not ended, whether or not anybody has asked how. */
async function alive(pids: readonly number[]): Promise<readonly string[]> {
  const { stdout } = await promisify(execFile)('ps', ['-o', 'stat=', '-p', pids.join()]).catch(() => ({
    stdout: '',
  }));
  return stdout.split('\n').filter((state) => state !== '' && !state.startsWith('Z'));
}

async function records(event: string): Promise<readonly Record<string, unknown>[]> {
  const log = await readFile(join(service.agentFolder(0), 'svc-agent.log'), 'utf8');
  const lines = log.split('\n').filter((line) => line.includes(`"event":"${event}"`));
  return lines.map((line): Record<string, unknown> => JSON.parse(line));
}

async function metric(name: string): Promise<number> {
  const { text } = await ask(`http://127.0.0.1:${await agentMetricsPort(service)}/metrics`);
  const line = text.split('\n').find((each) => each.startsWith(`${name} `));
  return Number(line?.slice(name.length));
}

async function outcomeOf(call: Promise<Answer>): Promise<string> {
  const { status, text } = await call;
  const code = /"code":"(\w+)"/.exec(text)?.[1];
  return code === undefined ? String(status) : `${status} ${code}`;
}

/** Calls all the time, each with a number of its own that has to come back. */
function load(): { readonly faults: string[]; stop(): Promise<number> } {
  const faults: string[] = [];
  let calls = 0;
  let stopped = false;
  const loops = Array.from({ length: 8 }, async () => {
    while (!stopped) {
      calls += 1;
      const n = calls;
      const { status, text } = await service.call('echo', { n });
      if (status !== 200 || !text.includes(`"n":${n}}`)) faults.push(`${status} ${text}`);
      // Others need the machine, too.
      await pause(10);
    }
  });
  return {
    faults,
    async stop() {
      stopped = true;
      await Promise.all(loops);
      return calls;
    },
  };
}

test(
  'a worker that is killed fails its long calls only, and is there again at once',
  { tags: ['file:runtime.workers'] },
  async () => {
    const pids = await workers();
    expect(pids).toHaveLength(WORKERS);
    expect(await metric('svc_agent_database_connections_max')).toBe(CONNECTIONS);
    // One on each, for the one with fewest calls gets the next.
    const slow = [1, 2].map(() => outcomeOf(service.call('sleep', { seconds: 8 })));
    await expect.poll(async () => (await database.query(SLEEPING)).length).toBe(2);
    await expect.poll(() => metric('svc_agent_database_connections{state="busy"}')).toBe(2);
    const steady = load();
    // What is over sooner is run again.
    await pause(1100);
    const killed = await firstWorker();
    const killedAt = performance.now();
    process.kill(killed, 'SIGKILL');
    await expect.poll(() => metric('svc_agent_worker_restarts_total'), { interval: 20 }).toBe(1);
    await expect.poll(async () => (await workers()).length, { interval: 20 }).toBe(WORKERS);
    expect(performance.now() - killedAt).toBeLessThan(15_000);
    await pause(500);
    expect(await steady.stop()).toBeGreaterThan(20);
    expect(steady.faults).toEqual([]);
    expect((await Promise.all(slow)).toSorted()).toEqual(['200', '502 AGENT_QUERY_FAILED']);
    const [ended] = await records('worker_ended');
    expect(ended).toMatchObject({ level: 'warn', signal: 'SIGKILL', restart_in_ms: 100, detail: '' });
    expect((await database.query(SESSIONS)).length).toBeLessThanOrEqual(CONNECTIONS);
    expect(agent.output('stderr')).toMatch(/^svc-agent: worker [01] has ended \(SIGKILL\)/m);
  },
);

test('a worker that hangs gets no further calls, and is killed after 10 s', async () => {
  const hanging = await firstWorker();
  process.kill(hanging, 'SIGSTOP');
  await pause(3500);
  for (let n = 0; n < 50; n += 1) expect(await outcomeOf(service.call('echo', { n }))).toBe('200');
  await expect.poll(() => alive([hanging]), { timeout: 15_000 }).toEqual([]);
  await expect.poll(async () => (await workers()).length).toBe(WORKERS);
  const ended = (await records('worker_ended')).at(-1);
  expect(ended).toMatchObject({
    signal: 'SIGKILL',
    detail: expect.stringMatching(/^it said nothing for 10 s/),
  });
});

test('calls wait for a worker while none is there', async () => {
  const before = (await records('worker_ended')).length;
  for (const pid of await workers()) process.kill(pid, 'SIGKILL');
  await expect.poll(async () => (await records('worker_ended')).length).toBe(before + WORKERS);
  expect(await outcomeOf(service.call('echo', { n: 1 }))).toBe('200');
  await expect.poll(async () => (await workers()).length).toBe(WORKERS);
});

test('a database that is lost and back is told once', async () => {
  for (let n = 0; n < 20; n += 1) expect(await outcomeOf(service.call('echo', { n }))).toBe('200');
  const { port } = network;
  await network.close();
  const calls = Array.from({ length: 8 }, (_, n) => outcomeOf(service.call('echo', { n })));
  await expect.poll(() => metric('svc_agent_database_up')).toBe(0);
  await Promise.all(calls);
  network = await startFaultProxy({ target: database, port });
  await expect.poll(() => metric('svc_agent_database_up'), { timeout: 15_000 }).toBe(1);
  await expect.poll(() => outcomeOf(service.call('echo', { n: 1 }))).toBe('200');
  await pause(1500);
  expect([await records('database_lost'), await records('database_back')]).toMatchObject([
    [{ level: 'warn' }],
    [{ level: 'info' }],
  ]);
});

test('a cancelled call is cancelled in the database, and one whose time is up ends', async () => {
  const abort = new AbortController();
  const call = service.call('sleep', { seconds: 30 }, { signal: abort.signal }).catch(() => 'gone');
  await expect.poll(async () => (await database.query(SLEEPING)).length).toBe(1);
  abort.abort();
  expect(await call).toBe('gone');
  await expect.poll(async () => (await database.query(SLEEPING)).length).toBe(0);
  await expect.poll(() => metric('svc_agent_calls_running')).toBe(0);
});

test('large results arrive whole while short ones pass by', async () => {
  const steady = load();
  const answers = await Promise.all([1, 2].map(() => service.call('large', {})));
  await steady.stop();
  expect(steady.faults).toEqual([]);
  for (const { status, text } of answers) {
    expect(status).toBe(200);
    expect(text.length).toBeGreaterThan(LARGE_ROWS * 1024 * 1024);
    expect(text.slice(-40)).toContain(`"count":${LARGE_ROWS}`);
  }
});

test('a signal to all processes of the agent lets calls end, and leaves no process', async () => {
  const pids = await workers();
  const before = (await records('worker_ended')).length;
  const calls = [1, 2, 3].map(() => outcomeOf(service.call('sleep', { seconds: 1 })));
  await expect.poll(async () => (await database.query(SLEEPING)).length).toBe(3);
  process.kill(-agent.pid, 'SIGINT');
  expect(await Promise.all(calls)).toEqual(['200', '200', '200']);
  expect(await agent.exited).toEqual({ code: 0, signal: null });
  expect(await alive(pids)).toEqual([]);
  expect((await records('worker_ended')).length).toBe(before);
  await expect.poll(async () => (await database.query(SESSIONS)).length).toBe(0);
});

test('nothing is left of an agent that is killed, in the database neither', async () => {
  agent = await service.startAgent();
  const pids = await workers();
  const call = outcomeOf(service.call('sleep', { seconds: 60 }));
  await expect.poll(async () => (await database.query(SLEEPING)).length).toBe(1);
  agent.signal('SIGKILL');
  expect(await call).toMatch(/^503 /);
  await expect.poll(() => alive(pids)).toEqual([]);
  await expect.poll(async () => (await database.query(SLEEPING)).length).toBe(0);
});
