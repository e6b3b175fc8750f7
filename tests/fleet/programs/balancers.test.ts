import {
  findProgram,
  startFaultProxy,
  startHaproxy,
  startNginx,
  testDatabase,
  type HttpBalancer,
  type FaultProxy,
  type Target,
} from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HAPROXY_FILE, NGINX_FILE } from '../balancer-files.testing.ts';
import { startFleet, until, type Fleet } from '../fleet.testing.ts';
import { LOAD_SQL, startOpenLoad, type LoadReport } from '../open-load.testing.ts';
import { descendantsOf, leaksOf, sizesOnceLinked, type Sizes } from '../no-leak.testing.ts';

const CHECK_MS = 500;

describe.each<{ program: string; start: (targets: readonly Target[]) => Promise<HttpBalancer> }>([
  {
    program: 'haproxy',
    start: (targets) => startHaproxy({ targets, configuration: HAPROXY_FILE, checkEveryMs: CHECK_MS }),
  },
  { program: 'nginx', start: (targets) => startNginx({ targets, configuration: NGINX_FILE }) },
])('three replicas behind $program', ({ program, start }) => {
  const isMissing = findProgram(program) === undefined;
  let fleet: Fleet;
  let balancer: HttpBalancer;
  /** Between agents and the first replica. */
  let network: FaultProxy;
  let before: Sizes;
  beforeAll(async () => {
    if (isMissing) return;
    fleet = await startFleet({
      database: await testDatabase({ sql: [LOAD_SQL] }),
      replicas: 3,
      agents: 2,
      dials: async ([first = '', ...others]) => {
        const { hostname: host, port } = new URL(first);
        network = await startFaultProxy({ target: { host, port: Number(port) } });
        return [first.replace(port, String(network.port)), ...others];
      },
      gatewayEnv: { GATEWAY_SHUTDOWN_DELAY: '1500ms' },
    });
    await fleet.ready();
    balancer = await start(fleet.replicas);
    before = await sizesOnceLinked(fleet);
  });
  afterAll(async () => {
    if (isMissing) return;
    await balancer.stop();
    await fleet.stop();
    await network.close();
  });

  async function during(happens: () => Promise<void>): Promise<LoadReport> {
    const load = startOpenLoad({ port: balancer.port, apiKey: fleet.apiKey, perSecond: 200 });
    try {
      await until(() => load.report().right > 100, 10_000);
      await happens();
      const { sent } = load.report();
      await until(() => load.report().sent > sent + 100, 10_000);
    } finally {
      await load.stop();
    }
    return load.report();
  }

  test.skipIf(isMissing)('one that is killed costs no call but those whose answers had begun', async () => {
    const [, second] = fleet.replicas;
    const report = await during(async () => {
      await second?.kill();
      await until(async () => (await second?.status('/healthz')) === 0, 5000);
    });
    expect([report.failures, report.right]).toEqual([{}, report.sent - report.begun]);
    const back = await during(async () => {
      await second?.start();
      await second?.ready();
    });
    expect([back.failures, back.right]).toEqual([{}, back.sent]);
  });

  test.skipIf(isMissing)('one that no agent reaches answers 503, and its calls go elsewhere', async () => {
    const [replica] = fleet.replicas;
    const { port } = network;
    const report = await during(async () => {
      await network.close();
      await until(async () => (await replica?.status('/readyz')) === 503, 5000);
    });
    expect([report.failures, report.right]).toEqual([{}, report.sent - report.begun]);
    network = await startFaultProxy({ target: { host: '127.0.0.1', port: replica?.port ?? 0 }, port });
    await fleet.ready(30_000);
  });

  test.skipIf(isMissing)('each that ends and starts again, one after the other, costs no call', async () => {
    const report = await during(async () => {
      for (const replica of fleet.replicas) {
        expect(await replica.end()).toEqual({ code: 0, signal: null });
        await replica.start();
        await replica.ready();
      }
    });
    expect([report.failures, report.right]).toEqual([{}, report.sent]);
  });

  test.skipIf(isMissing)('after all of it nothing is left', async () => {
    await balancer.stop();
    expect(await leaksOf(fleet, before)).toEqual([]);
    const pids = fleet.processes.map(({ pid }) => pid);
    await fleet.stop();
    expect(await descendantsOf(pids)).toEqual([]);
  });
});
