import { fileURLToPath } from 'node:url';
import { createAgentSecret, gatewaySettings, startGateway, startProcess } from '@svc/testkit';
import { expect, test } from 'vitest';
import { median } from '../../../bench/report/statistics.ts';
import { drive, type Driven } from './drive.testing.ts';

const SERVER = fileURLToPath(new URL('hostile-server.mjs', import.meta.url));

interface Waited {
  /** Milliseconds. */
  readonly median: number;
  /** The same of a gateway without Valkey at the same time, which shows what this machine does to any call. */
  readonly usual: number;
  readonly statuses: readonly number[];
}

/** What callers of a gateway of so many workers wait for whose Valkey does this; `without` is the port of another. */
async function callsWhile(attack: string, workers: number, without: number): Promise<Waited> {
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
      const [answers, others] = await Promise.all([
        drive({ ports: [gateway.port], perSecond: 400, seconds: 2 }),
        drive({ ports: [without], perSecond: 100, seconds: 2 }),
      ]);
      const output = (): string => gateway.process.output('stdout');
      await expect.poll(output, { message: attack }).toContain('"event":"shared_limits_lost"');
      return {
        median: medianOf(answers),
        usual: medianOf(others),
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
    const { agent_public_key: publicKey } = createAgentSecret();
    const without = await startGateway({
      ...gatewaySettings(publicKey, []),
      GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND: '10000',
      GATEWAY_RATE_LIMIT_BURST: '10000',
      GATEWAY_WORKERS: String(workers),
    });
    try {
      for (const attack of ATTACKS) {
        const { median: waited, usual, statuses } = await callsWhile(attack, workers, without.port);
        expect([attack, statuses]).toEqual([attack, [200]]);
        expect(waited).toBeLessThan(2 * usual + 5 * LEASE_WAIT_MS);
      }
    } finally {
      await without.process.stop();
    }
  },
);

function medianOf(answers: readonly Driven[]): number {
  return median(answers.map(({ ms }) => ms));
}
