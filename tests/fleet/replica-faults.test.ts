import { startRetryingBalancer, testDatabase, type RetryingBalancer } from '@svc/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startFleet, type Fleet } from './fleet.testing.ts';
import { LOAD_SQL, startOpenLoad, type LoadReport } from './open-load.testing.ts';

/** What calls see of replicas that die, end and come back, behind a balancer that sends a call once more elsewhere. */
let fleet: Fleet;
let balancer: RetryingBalancer;
beforeAll(async () => {
  fleet = await startFleet({
    database: await testDatabase({ sql: [LOAD_SQL] }),
    replicas: 3,
    agents: 3,
    dials: (agent, urls) => urls.slice(agent, agent + 1),
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
