import {
  createReleasers,
  findProgram,
  makeCertificate,
  startDnsmasq,
  startHaproxy,
  temporaryFolder,
  testDatabase,
  type Haproxy,
} from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HAPROXY_FILE } from '../balancer-files.testing.ts';
import { startFleet, until, type Fleet } from '../fleet.testing.ts';
import { LOAD_SQL, startOpenLoad, type LoadReport } from '../open-load.testing.ts';
import { missing } from './missing.testing.ts';

const NAME = 'gateways.test';
/** A host for each replica, all of them this machine. */
const HOSTS = ['127.87.0.1', '127.87.0.2', '127.87.0.3'];
/** Several times as long as names are good for below. */
const PAUSE_MS = 7000;

const releasers = createReleasers();
afterAll(() => releasers.closeAll());
const dnsmasq = await startDnsmasq();
if (typeof dnsmasq !== 'string') await releasers.add(() => dnsmasq.stop());
const skipped = missing('replicas that agents find by a name', {
  dnsmasq: typeof dnsmasq === 'string' ? dnsmasq : undefined,
  haproxy: findProgram('haproxy') === undefined ? 'not installed' : undefined,
  openssl: findProgram('openssl') === undefined ? 'not installed' : undefined,
});

/** Agents know one name; replicas count its addresses. */
describe.skipIf(skipped)('three replicas behind a name', { timeout: 90_000 }, () => {
  let fleet: Fleet;
  let haproxy: Haproxy;
  beforeAll(async () => {
    if (typeof dnsmasq === 'string') return;
    await dnsmasq.names({ [NAME]: HOSTS });
    const folder = await temporaryFolder('certificate');
    await releasers.add(() => folder.remove());
    const files = await makeCertificate(folder.path, [`DNS:${NAME}`]);
    fleet = await startFleet({
      database: await testDatabase({ sql: [LOAD_SQL] }),
      replicas: HOSTS.length,
      agents: 2,
      samePort: true,
      place: (index) => ({ host: HOSTS[index] ?? '', within: dnsmasq.within }),
      gatewayEnv: {
        GATEWAY_REPLICAS: `dns:${NAME}`,
        GATEWAY_TLS_CERT_FILE: files.certificate,
        GATEWAY_TLS_KEY_FILE: files.key,
      },
      agentGatewayLines: [`ca_file: ${files.certificate}`, 'resolve_interval: 1s'],
      agentsWithin: dnsmasq.within,
      dials: async ([url = '']) => [`wss://${NAME}:${new URL(url).port}/ws/agent`],
    });
    await releasers.add(() => fleet.stop());
    await fleet.ready(30_000);
    haproxy = await startHaproxy({ targets: fleet.replicas, configuration: HAPROXY_FILE, checkEveryMs: 500 });
    await releasers.add(() => haproxy.stop());
  });

  async function during(happens: () => Promise<void>): Promise<LoadReport> {
    const load = startOpenLoad({ port: haproxy.port, apiKey: fleet.apiKey, perSecond: 50 });
    try {
      await happens();
    } finally {
      await load.stop();
    }
    return load.report();
  }

  /** How often agents have left replicas so far. */
  function losses(): number {
    return fleet.replicas
      .map(({ process }) => process.output().split('"event":"agent_disconnected"').length - 1)
      .reduce((sum, count) => sum + count, 0);
  }

  async function pass(ms: number): Promise<void> {
    const from = performance.now();
    await until(() => performance.now() - from > ms, ms + 5000);
  }

  test('a name server that dies costs no link and no call', async () => {
    if (typeof dnsmasq === 'string') return;
    const before = losses();
    const report = await during(async () => {
      await dnsmasq.kill();
      await pass(PAUSE_MS);
    });
    expect([report.failures, report.right, losses()]).toEqual([{}, report.sent, before]);
    for (const { process } of fleet.replicas) {
      expect(process.output()).toContain('"event":"replicas_lookup_failed"');
    }
  });

  test('while it is dead a replica that starts again is linked to at the addresses known before', async () => {
    const [, second] = fleet.replicas;
    const report = await during(async () => {
      await second?.kill();
      await second?.start();
      await second?.ready(30_000);
    });
    expect([report.failures, report.right]).toEqual([{}, report.sent - report.begun]);
  });

  test('a name without addresses costs no link and no call', async () => {
    if (typeof dnsmasq === 'string') return;
    const before = losses();
    const report = await during(async () => {
      await dnsmasq.names({});
      await dnsmasq.start();
      await pass(PAUSE_MS);
    });
    expect([report.failures, report.right, losses()]).toEqual([{}, report.sent, before]);
  });

  test('addresses of replicas that are gone, and of nobody, cost no link to others and no call', async () => {
    if (typeof dnsmasq === 'string') return;
    await dnsmasq.names({ [NAME]: [...HOSTS, '127.87.0.99'] });
    const [, , third] = fleet.replicas;
    const report = await during(async () => {
      await third?.kill();
      await pass(PAUSE_MS);
      await third?.start();
      await third?.ready(30_000);
    });
    expect([report.failures, report.right]).toEqual([{}, report.sent - report.begun]);
  });
});
