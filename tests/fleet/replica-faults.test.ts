import { startRetryingBalancer, testDatabase, type RetryingBalancer } from '@svc/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startFleet, until, type Fleet } from './fleet.testing.ts';
import { LOAD_SQL, startOpenLoad, type LoadReport } from './open-load.testing.ts';

/** What calls see of replicas that die, end and come back, behind a balancer that sends a call once more elsewhere. */
let fleet: Fleet;
let balancer: RetryingBalancer;
beforeAll(async () => {
  fleet = await startFleet({
    database: await testDatabase({ sql: [LOAD_SQL] }),
    replicas: 3,
    agents: 2,
    gatewayEnv: { GATEWAY_SHUTDOWN_DELAY: '500ms', GATEWAY_AGENT_WAIT: '1s' },
  });
  balancer = await startRetryingBalancer(fleet.replicas.map(({ port }) => port));
  await fleet.ready();
});
afterAll(async () => {
  await balancer.close();
  await fleet.stop();
});

/** The report of a load that runs while `happens` does. */
async function during(happens: () => Promise<void>): Promise<LoadReport> {
  const load = startOpenLoad({ port: balancer.port, apiKey: fleet.apiKey, perSecond: 150 });
  try {
    await happens();
  } finally {
    await load.stop();
  }
  return load.report();
}

test('a replica that is killed costs no call but those whose answers had begun', async () => {
  const [first] = fleet.replicas;
  const report = await during(async () => {
    await first?.kill();
    await first?.start();
    await first?.ready();
  });
  expect([report.failures, report.right]).toEqual([{}, report.sent - report.begun]);
  expect(report.sent).toBeGreaterThan(50);
  expect(balancer.retries).toBeGreaterThan(0);
});

test('replicas that end and start one after the other cost no call', async () => {
  const report = await during(async () => {
    for (const replica of fleet.replicas) {
      expect(await replica.end()).toEqual({ code: 0, signal: null });
      await replica.start();
      await replica.ready();
    }
  });
  expect([report.failures, report.right]).toEqual([{}, report.sent]);
});

test('replicas that are all killed are found again by all agents when they are back', async () => {
  for (const replica of fleet.replicas) await replica.kill();
  const from = performance.now();
  for (const replica of fleet.replicas) await replica.start();
  await fleet.ready(30_000);
  expect(performance.now() - from).toBeLessThan(30_000);
  const report = await during(async () => {
    await until(() => performance.now() > from + 500, 1000);
  });
  expect([report.failures, report.right]).toEqual([{}, report.sent]);
});

test('while the only agents restart, calls wait a second, and those that no agent has taken by then are 503', async () => {
  const report = await during(async () => {
    for (const agent of fleet.agents) await agent.kill();
    const from = performance.now();
    const [replica] = fleet.replicas;
    await until(async () => (await replica?.status('/readyz')) === 503, 5000);
    // Longer than a call waits.
    await until(() => performance.now() > from + 2500, 5000);
    for (const agent of fleet.agents) await agent.start();
    await fleet.ready();
  });
  expect(Object.keys(report.failures)).toEqual(['503 GATEWAY_AGENT_OFFLINE']);
  const back = await during(async () => {
    const from = performance.now();
    await until(() => performance.now() > from + 500, 1000);
  });
  expect([back.failures, back.right]).toEqual([{}, back.sent]);
});
