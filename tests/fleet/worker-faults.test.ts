import {
  ask,
  freePort,
  nextRecord,
  startRetryingBalancer,
  testDatabase,
  type RetryingBalancer,
} from '@svc/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startFleet, until, type Fleet, type Replica } from './fleet.testing.ts';
import { descendantsOf } from './no-leak.testing.ts';
import { LOAD_SQL, startOpenLoad, type LoadReport, type OpenLoad } from './open-load.testing.ts';

/** Workers start one after the other, under load. */
const PATIENTLY = { timeout: 240_000 };

/** What calls see when processes of a replica die: two replicas of two workers each, behind a balancer that retries once. */
let fleet: Fleet;
let balancer: RetryingBalancer;
let metricsPort: number;
beforeAll(async () => {
  metricsPort = await freePort();
  fleet = await startFleet({
    database: await testDatabase({ sql: [LOAD_SQL] }),
    replicas: 2,
    agents: 2,
    gatewayEnv: { GATEWAY_WORKERS: '2', GATEWAY_AGENT_WAIT: '1s' },
    replicaEnv: (index) => (index === 0 ? { GATEWAY_METRICS_ADDR: `127.0.0.1:${metricsPort}` } : {}),
  });
  balancer = await startRetryingBalancer(fleet.replicas.map(({ port }) => port));
  await fleet.ready();
});
afterAll(async () => {
  await balancer.close();
  await fleet.stop();
});

async function during(happens: (load: OpenLoad) => Promise<void>, port = balancer.port): Promise<LoadReport> {
  const load = startOpenLoad({ port, apiKey: fleet.apiKey, perSecond: 100 });
  try {
    await until(() => load.report().right > 50, 20_000);
    await happens(load);
    const { sent } = load.report();
    await until(() => load.report().sent > sent + 50, 20_000);
  } finally {
    await load.stop();
  }
  return load.report();
}

function first(): Replica {
  const [replica] = fleet.replicas;
  if (replica === undefined) throw new Error('there is no replica');
  return replica;
}

/** The process ids of the workers of a replica. */
async function workersOf({ process }: Replica): Promise<readonly number[]> {
  return (await descendantsOf([process.pid])).filter((pid) => pid !== process.pid);
}

/** Until both workers of the first replica have a link of both agents. */
async function whole(): Promise<void> {
  await until(async () => {
    const { text } = await ask(`http://127.0.0.1:${metricsPort}/metrics`);
    return /^svc_gateway_agent_connections 4$/m.test(text);
  }, 60_000);
}

test(
  'a worker that is killed costs no call behind a balancer, and is there again within 5 s',
  PATIENTLY,
  async () => {
    const replica = first();
    const before = await workersOf(replica);
    expect(before).toHaveLength(2);
    const [victim = 0] = before;
    const report = await during(async () => {
      process.kill(victim, 'SIGKILL');
      await replica.process.waitForLine((line) => line.includes('"event":"worker_ended"'));
      await until(async () => {
        const now = await workersOf(replica);
        return now.length === 2 && !now.includes(victim);
      }, 25_000);
    });
    expect([report.failures, report.right]).toEqual([{}, report.sent - report.begun]);
    await replica.ready();
  },
);

test('workers that are killed again and again leave no call without an end', PATIENTLY, async () => {
  const replica = first();
  // Each call that loses its connection makes the caller dial again, just when the primary has not noticed yet.
  const report = await during(async () => {
    for (let round = 0; round < 4; round += 1) {
      await whole();
      const [victim = 0] = await workersOf(replica);
      const ended = nextRecord(replica.process, 'worker_ended');
      process.kill(victim, 'SIGKILL');
      await ended;
    }
  }, replica.port);
  const causes = Object.keys(report.failures).filter(
    (cause) => !/^no answer: (?:the connection was closed|ECONNRESET)$/.test(cause),
  );
  expect(causes).toEqual([]);
  const after = await during(async () => {}, replica.port);
  expect([after.failures, after.right]).toEqual([{}, after.sent]);
});

test('when a primary is killed its workers end, and nothing of them is left', PATIENTLY, async () => {
  const replica = first();
  const { pid } = replica.process;
  const report = await during(async () => {
    await replica.kill();
    await until(async () => (await descendantsOf([pid])).length === 0, 30_000);
    await replica.start();
    await replica.ready();
  });
  expect([report.failures, report.right]).toEqual([{}, report.sent - report.begun]);
  expect(await workersOf(replica)).toHaveLength(2);
});
