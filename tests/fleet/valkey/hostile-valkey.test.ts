import { fileURLToPath } from 'node:url';
import { createAgentSecret, gatewaySettings, startGateway, startProcess } from '@svc/testkit';
import { expect, test } from 'vitest';
import { drive } from './drive.testing.ts';

const SERVER = fileURLToPath(new URL('hostile-server.mjs', import.meta.url));

interface Waited {
  /** Milliseconds. */
  readonly median: number;
  readonly statuses: readonly number[];
}

/** What callers of a gateway of so many workers wait for whose Valkey does this. */
async function callsWhile(attack: string, workers: number): Promise<Waited> {
  const valkey = await startProcess(process.execPath, [SERVER], { env: { ATTACK: attack } });
  try {
    const { agent_public_key: publicKey } = createAgentSecret();
    const line = await valkey.waitForLine((text) => text.startsWith('port '));
    const gateway = await startGateway({
      ...gatewaySettings(publicKey, []),
      GATEWAY_VALKEY_URL: `redis://127.0.0.1:${line.slice('port '.length)}`,
      GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND: '10000',
      GATEWAY_RATE_LIMIT_BURST: '10000',
      GATEWAY_WORKERS: String(workers),
    });
    try {
      const ports = [gateway.port];
      const answers = await drive({ ports, perSecond: 400, seconds: 2 });
      const times = answers.map(({ ms }) => ms).toSorted((a, b) => a - b);
      const at = (part: number): number => times[Math.floor(part * times.length)] ?? Number.NaN;
      if (attack !== 'none') {
        const output = (): string => gateway.process.output('stdout');
        await expect.poll(output, { message: attack }).toContain('"event":"shared_limits_lost"');
      }
      return {
        median: at(0.5),
        statuses: [...new Set(answers.map(({ status }) => status))],
      };
    } finally {
      await gateway.process.stop();
    }
  } finally {
    await valkey.stop();
  }
}

/** A call waits for a lease so long, which a busy machine makes several times as much. */
const LEASE_WAIT_MS = 20;

/** Of `hostile-server.mjs`. */
const ATTACKS = [
  'silence',
  'messages without end',
  'an answer without end',
  'answers without end',
  'an answer byte by byte',
];

test.each([1, 2])(
  'no Valkey, whatever it sends, delays the calls of a gateway with %i workers by much more than 20 ms',
  { timeout: 120_000 },
  async (workers) => {
    const usual = await callsWhile('none', workers);
    const waited: Record<string, Waited> = { none: usual };
    for (const attack of ATTACKS) {
      waited[attack] = await callsWhile(attack, workers);
    }
    for (const [attack, { median, statuses }] of Object.entries(waited)) {
      expect([attack, statuses]).toEqual([attack, [200]]);
      expect(median).toBeLessThan(usual.median + 5 * LEASE_WAIT_MS);
    }
  },
);
