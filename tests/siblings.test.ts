import { request } from 'node:http';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  ask,
  startService,
  temporaryFolder,
  testDatabase,
  type Service,
  type TemporaryFolder,
} from '@svc/testkit';

const WORKERS = 3;
const CAPABILITIES = `
capabilities:
  echo:
    description: Gives back its number after a moment
    sql: select :n as n from (select pg_sleep(0.02)) as moment
    params:
      n: { type: integer, required: true }
    policy: { timeout: 5s, allow_functions: [pg_sleep] }
    result:
      n: { type: integer }
  slow:
    description: Takes two seconds
    sql: select 1 as n from (select pg_sleep(2)) as moment
    params: {}
    policy: { timeout: 5s, allow_functions: [pg_sleep] }
    result:
      n: { type: integer }
  wide:
    description: Some 300 KB
    sql: select repeat('x', 1000) || n as text from generate_series(1, 300) as n
    params: {}
    policy: { timeout: 5s, max_rows: 1000, max_bytes: 10MB, allow_functions: [generate_series, repeat] }
    result:
      text: { type: string }
`;

let service: Service;
let metricsUrl: string;
let folder: TemporaryFolder;
beforeAll(async () => {
  folder = await temporaryFolder('sockets');
  service = await startService({
    database: await testDatabase(),
    capabilities: CAPABILITIES,
    gatewayEnv: {
      GATEWAY_WORKERS: String(WORKERS),
      // One link, so that most calls have to cross.
      GATEWAY_LINKS_PER_REPLICA: '1',
      GATEWAY_METRICS_ADDR: '127.0.0.1:0',
      TMPDIR: folder.path,
    },
  });
  const line = await service.gateway.waitForLine((text) => text.includes('"event":"metrics_listening"'));
  const record: { port?: number } = JSON.parse(line);
  metricsUrl = `http://127.0.0.1:${record.port}/metrics`;
});
afterAll(async () => {
  await service.stop();
  await folder.remove();
});

/** Over a connection of its own: the next worker's. */
async function fresh(path: string, body?: unknown): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(
      `${service.url}${path}`,
      {
        agent: false,
        method: body === undefined ? 'GET' : 'POST',
        headers: {
          authorization: `Bearer ${service.apiKeys['all']}`,
          'content-type': 'application/json',
          connection: 'close',
        },
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (piece: string) => (text += piece));
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
        response.on('error', reject);
      },
    );
    sent.on('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

async function outcome(n: number): Promise<string> {
  try {
    const { status, text } = await fresh('/api/v1/capabilities/echo', { n });
    if (status !== 200) return `${status} ${text}`;
    return text === `{"rows":[{"n":${n}}],"count":1}` ? 'right' : `wrong: ${text}`;
  } catch (error) {
    return `no answer: ${String(error)}`;
  }
}

function outcomes(count: number): Promise<string[]> {
  return Promise.all(Array.from({ length: count }, (_, n) => outcome(n)));
}

async function metric(name: string): Promise<number> {
  const { text } = await ask(metricsUrl);
  const line = text.split('\n').find((one) => one.startsWith(`${name} `));
  return Number(line?.split(' ')[1]);
}

test(
  'with one link of one agent, calls to every worker succeed',
  { tags: ['workers:siblings'] },
  async () => {
    // Which worker takes a connection is not for the caller to say.
    while (!((await metric('svc_gateway_sibling_calls_total')) > 30)) {
      expect(new Set(await outcomes(60))).toEqual(new Set(['right']));
    }
  },
);

test(
  'descriptions, readiness and large results are the same at every worker',
  { tags: ['workers:agents'] },
  async () => {
    for (const path of ['/openapi.json', '/readyz', '/healthz']) {
      const answers = await Promise.all(Array.from({ length: 2 * WORKERS }, () => fresh(path)));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    }
    const wide = Array.from({ length: 2 * WORKERS }, () => fresh('/api/v1/capabilities/wide', {}));
    const answers = await Promise.all(wide);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers[0]?.text.length).toBeGreaterThan(300_000);
  },
);

test('a capability that nobody offers is 404 at every worker', async () => {
  const answers = await Promise.all(
    Array.from({ length: 2 * WORKERS }, () => fresh('/api/v1/capabilities/nothing', {})),
  );
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([404]));
});

/** The processes of the workers, by number. */
async function workers(): Promise<ReadonlyMap<number, number>> {
  const { pid } = service.gateway;
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
  const found = new Map<number, number>();
  for (const child of children.trim().split(' ')) {
    const environment = await readFile(`/proc/${child}/environ`, 'utf8').catch(() => '');
    const number = /SVC_GATEWAY_WORKER=(\d+)/.exec(environment)?.[1];
    if (number !== undefined) found.set(Number(number), Number(child));
  }
  return found;
}

/** The worker that has the agent's link. */
async function linked(): Promise<number> {
  const lines = service.gateway.output('stdout').split('\n');
  const line = lines.findLast((one) => one.includes('"event":"agent_connected"')) ?? '{}';
  const record: { worker?: number } = JSON.parse(line);
  return record.worker ?? -1;
}

async function killWorker(number: number): Promise<void> {
  const pid = (await workers()).get(number);
  if (pid === undefined) throw new Error(`no worker ${number}`);
  process.kill(pid, 'SIGKILL');
  await expect.poll(async () => (await workers()).get(number) ?? pid, { interval: 20 }).not.toBe(pid);
}

const onLinux = { skip: process.platform !== 'linux' };

test(
  'a worker without an agent is killed: the others go on, and the next one calls their agent',
  onLinux,
  async () => {
    const number = ((await linked()) + 1) % WORKERS;
    await killWorker(number);
    await expect
      .poll(async () => new Set(await outcomes(3 * WORKERS)), { interval: 20 })
      .toEqual(new Set(['right']));
    expect((await workers()).size).toBe(WORKERS);
  },
);

test('the worker with the link is killed: the replica is whole within 3 s', onLinux, async () => {
  const before = await linked();
  const at = performance.now();
  await killWorker(before);
  await expect
    .poll(async () => new Set(await outcomes(3 * WORKERS)), { interval: 20 })
    .toEqual(new Set(['right']));
  expect(performance.now() - at).toBeLessThan(15_000);
});

test('nobody but its user can reach the sockets of a gateway', { tags: ['workers:sockets'] }, async () => {
  const [only, ...others] = await readdir(folder.path);
  expect(others).toEqual([]);
  const { mode } = await stat(join(folder.path, only ?? ''));
  expect(mode & 0o777).toBe(0o700);
  const sockets = async (): Promise<number> => (await readdir(join(folder.path, only ?? ''))).length;
  await expect.poll(sockets, { interval: 10 }).toBe(WORKERS);
});

test('a gateway that is asked to stop answers what all workers accepted', async () => {
  const calls = 2 * WORKERS;
  const running = Promise.all(Array.from({ length: calls }, () => fresh('/api/v1/capabilities/slow', {})));
  await expect.poll(() => metric('svc_gateway_agent_calls_in_flight'), { interval: 5 }).toBe(calls);
  const exit = await service.gateway.stop();
  expect(exit.code).toBe(0);
  expect(new Set((await running).map(({ status }) => status))).toEqual(new Set([200]));
  expect(await readdir(folder.path)).toEqual([]);
});

test('a primary that is killed leaves no sockets behind', { tags: ['workers:sockets'] }, async () => {
  const gateway = await service.restartGateway();
  expect(await readdir(folder.path)).toHaveLength(1);
  gateway.signal('SIGKILL');
  await expect.poll(() => readdir(folder.path), { interval: 20 }).toEqual([]);
});
