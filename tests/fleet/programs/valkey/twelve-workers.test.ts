import {
  createAgentSecret,
  createKey,
  createReleasers,
  gatewaySettings,
  startGateway,
  startValkey,
  type RunningProcess,
} from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { countOf, drive, longestStall } from '../../valkey/drive.testing.ts';
import { unanswered } from '../../valkey/leases.testing.ts';
import { hasValkey } from '../../valkey/needs-valkey.testing.ts';

const REPLICAS = 3;
const PER_SECOND = 100;
/** Half a second's: tokens of a full bucket are lost, and none may be lost because the machine does something else. */
const BURST = 50;
/** For so long nothing may have happened in an attempt that counts. */
const STALL_MS = 250;
const SECONDS = 5;
const ATTEMPTS = 4;

describe.skipIf(!hasValkey)('three replicas of four workers each', () => {
  const releasers = createReleasers();
  let ports: number[];
  let processes: RunningProcess[];

  beforeAll(async () => {
    const valkey = await startValkey();
    await releasers.add(() => valkey.stop());
    const { record } = await createKey('all', '*');
    const { agent_public_key: publicKey } = createAgentSecret();
    const gateways = await Promise.all(
      Array.from({ length: REPLICAS }, () =>
        startGateway({
          ...gatewaySettings(publicKey, [record]),
          GATEWAY_WORKERS: '4',
          GATEWAY_VALKEY_URL: `redis://127.0.0.1:${valkey.port}`,
          GATEWAY_TRUSTED_PROXY_CIDRS: '127.0.0.1/32',
          GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND: String(PER_SECOND),
          GATEWAY_RATE_LIMIT_BURST: String(BURST),
          GATEWAY_METRICS_ADDR: '127.0.0.1:0',
        }),
      ),
    );
    for (const { process } of gateways) await releasers.add(() => process.stop());
    ports = gateways.map(({ port }) => port);
    processes = gateways.map(({ process }) => process);
  });
  afterAll(() => releasers.closeAll());

  test(`let ${PER_SECOND} a second through, within 5 %`, { timeout: 60_000 }, async ({ skip }) => {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const before = await unanswered(processes);
      const headers = { 'X-Forwarded-For': `192.0.2.${attempt}` };
      const answers = await drive({ ports, perSecond: 3 * PER_SECOND, seconds: SECONDS, headers });
      // A machine that is busy with something else keeps Valkey from answering in time: then there is no shared limit.
      if ((await unanswered(processes)) > before || longestStall(answers) > STALL_MS) continue;
      const lasted = Math.max(...answers.map(({ atMs }) => atMs)) / 1000;
      const through = countOf(answers, 200);
      expect(through + countOf(answers, 429)).toBe(answers.length);
      expect(through - BURST).toBeGreaterThan(0.95 * (PER_SECOND * lasted));
      expect(through - BURST).toBeLessThan(1.05 * (PER_SECOND * lasted));
      return;
    }
    skip(`SKIPPED: Valkey did not answer in time in any of ${ATTEMPTS} attempts`);
  });
});
