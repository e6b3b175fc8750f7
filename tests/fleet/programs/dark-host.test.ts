import {
  createReleasers,
  findProgram,
  makeCertificate,
  networkHost,
  startHaproxy,
  temporaryFolder,
  testDatabase,
} from '@svc/testkit';
import { afterAll, expect, test } from 'vitest';
import { HAPROXY_FILE } from '../balancer-files.testing.ts';
import { startFleet, until, type Fleet } from '../fleet.testing.ts';
import { LOAD_SQL, startOpenLoad } from '../open-load.testing.ts';
import { missing } from './missing.testing.ts';

const OUT_WITHIN_MS = 6000;
const NOTICED_WITHIN_MS = 28_000;

const releasers = createReleasers();
afterAll(() => releasers.closeAll());

const host = await networkHost();
if (typeof host !== 'string') await releasers.add(() => host.remove());
const skipped = missing('a host that goes dark', {
  'network namespaces': typeof host === 'string' ? host : undefined,
  haproxy: findProgram('haproxy') === undefined ? 'not installed' : undefined,
  openssl: findProgram('openssl') === undefined ? 'not installed' : undefined,
});

/** Three replicas, of which the first is on that host, and behind it an agent with a link there. */
async function start(): Promise<Fleet> {
  if (typeof host === 'string') throw new Error(host);
  const folder = await temporaryFolder('certificate');
  await releasers.add(() => folder.remove());
  const files = await makeCertificate(folder.path, [`IP:${host.address}`]);
  const fleet = await startFleet({
    database: await testDatabase({ sql: [LOAD_SQL] }),
    replicas: 3,
    agents: 2,
    place: (index) =>
      index === 0 ? { host: host.address, within: host.within } : { host: '127.0.0.1', within: [] },
    replicaEnv: (index): Readonly<Record<string, string>> =>
      index === 0 ? { GATEWAY_TLS_CERT_FILE: files.certificate, GATEWAY_TLS_KEY_FILE: files.key } : {},
    agentGatewayLines: [`ca_file: ${files.certificate}`],
  });
  await releasers.add(() => fleet.stop());
  await fleet.ready();
  return fleet;
}

test.skipIf(skipped)(
  'a host that goes dark is left by the balancer in 6 s and by agents in 28 s, and serves when it is back',
  { timeout: 120_000 },
  async () => {
    if (typeof host === 'string') return;
    const fleet = await start();
    const haproxy = await startHaproxy({ targets: fleet.replicas, configuration: HAPROXY_FILE });
    await releasers.add(() => haproxy.stop());
    const call = { port: haproxy.port, apiKey: fleet.apiKey, perSecond: 50 };
    const [agent] = fleet.agents;
    const silent = agent?.process.waitForLine(
      (line) => line.includes('the peer fell silent'),
      NOTICED_WITHIN_MS + 2000,
    );
    silent?.catch(() => {});

    const before = startOpenLoad(call);
    await until(() => before.report().right > 100, 10_000);
    expect((await before.stop()).failures).toEqual({});

    // Not every kernel has what delays and loses packets.
    const impaired = await host.impair({ delayMs: 20, lossPercent: 2 }).then(
      () => true,
      (error: unknown) => missing('a line that delays and loses packets', { netem: String(error) }) && false,
    );
    if (impaired) {
      const slowly = startOpenLoad(call);
      await until(() => slowly.report().sent > 200, 10_000);
      const { failures, right, sent } = await slowly.stop();
      expect([failures, right]).toEqual([{}, sent]);
      await host.impair({ delayMs: 0, lossPercent: 0 });
    }

    const during = startOpenLoad(call);
    await until(() => during.report().right > 20, 10_000);
    const from = performance.now();
    await host.goDark();
    await until(() => !haproxy.isUp(0), OUT_WITHIN_MS);
    // What was on its way there has no end for a while: a dark host and a slow one look the same.
    const lost = during.stop();

    const after = startOpenLoad(call);
    await silent;
    expect(performance.now() - from).toBeLessThan(NOTICED_WITHIN_MS + 1000);
    const report = await after.stop();
    expect([report.failures, report.right]).toEqual([{}, report.sent]);

    await host.comeBack();
    const back = startOpenLoad(call);
    await until(() => haproxy.isUp(0), 40_000);
    const { sent: then } = back.report();
    await until(() => back.report().sent > then + 100, 10_000);
    const last = await back.stop();
    expect([last.failures, last.right]).toEqual([{}, last.sent]);
    const { sent, right, failures } = await lost;
    expect(right).toBeGreaterThan(sent / 2);
    // Nobody was given another's row.
    expect(Object.keys(failures).filter((cause) => cause.startsWith('wrong'))).toEqual([]);
  },
);
