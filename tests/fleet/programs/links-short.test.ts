import { createReleasers, findProgram, startHaproxy, testDatabase, type Haproxy } from '@svc/testkit';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { HAPROXY_FILE } from '../balancer-files.testing.ts';
import { startFleet, until } from '../fleet.testing.ts';
import { LOAD_SQL, startOpenLoad } from '../open-load.testing.ts';
import { missing } from './missing.testing.ts';

const TOLD_WITHIN_MS = 75_000;

const releasers = createReleasers();
afterAll(() => releasers.closeAll());
const skipped = missing('a balancer that always gives one replica', {
  haproxy: findProgram('haproxy') === undefined ? 'not installed' : undefined,
});

test.skipIf(skipped)(
  'a balancer that always gives agents the same replica is told in both logs after a minute; calls are served',
  { timeout: 120_000 },
  async () => {
    let haproxy: Haproxy | undefined;
    const fleet = await startFleet({
      database: await testDatabase({ sql: [LOAD_SQL] }),
      replicas: 3,
      agents: 1,
      gatewayEnv: { GATEWAY_REPLICAS: '3' },
      async dials(urls) {
        const targets = urls.map((url) => ({ host: '127.0.0.1', port: Number(new URL(url).port) }));
        haproxy = await startHaproxy({ targets, configuration: HAPROXY_FILE, agentsToFirst: true });
        return [`ws://127.0.0.1:${haproxy.port}/ws/agent`];
      },
    });
    const balancer = haproxy;
    if (balancer === undefined) throw new Error('HAProxy was not started');
    const { port } = balancer;
    await releasers.add(() => balancer.stop());
    await releasers.add(() => fleet.stop());
    const [first] = fleet.replicas;
    const [agent] = fleet.agents;
    if (first === undefined || agent === undefined) throw new Error('the fleet is too small');
    await first.ready();
    const from = performance.now();
    // Calls go where agents are.
    await until(() => balancer.isUp(0) && !balancer.isUp(1) && !balancer.isUp(2), 60_000);
    const load = startOpenLoad({ port, apiKey: fleet.apiKey, perSecond: 20 });
    await releasers.add(() => load.stop());
    const log = join(agent.folder, 'svc-agent.log');
    await first.process.waitForLine((line) => line.includes('"event":"links_short"'), TOLD_WITHIN_MS);
    await until(async () => (await readFile(log, 'utf8')).includes('"event":"links_short"'), TOLD_WITHIN_MS);
    expect(performance.now() - from).toBeGreaterThan(50_000);
    expect(performance.now() - from).toBeLessThan(TOLD_WITHIN_MS);
    const { failures, right, sent } = await load.stop();
    expect([failures, right]).toEqual([{}, sent]);
    // Once: nobody who fixes it needs a reminder each minute.
    expect((await readFile(log, 'utf8')).split('"event":"links_short"')).toHaveLength(2);
  },
);
