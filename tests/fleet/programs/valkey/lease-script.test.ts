import { startValkey, type Valkey } from '@svc/testkit';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createRateLimiter } from '../../../../packages/gateway/src/access/rate-limit.ts';
import {
  connectToValkey,
  type ValkeyClient,
} from '../../../../packages/gateway/src/valkey/valkey-connection.ts';
import { takeLease } from '../../../../packages/gateway/src/valkey/valkey-leases.ts';
import { hasValkey, valkeyConfig } from '../../valkey/needs-valkey.testing.ts';

describe.skipIf(!hasValkey)('the bucket in Valkey', () => {
  let valkey: Valkey;
  let client: ValkeyClient;
  let names = 0;
  const newBucket = (): string => `bucket ${names++}`;

  beforeAll(async () => {
    valkey = await startValkey();
    client = await connectToValkey(valkeyConfig(valkey.port), 1000, { answerBytes: 65_536 });
  });
  afterAll(async () => {
    client.destroy();
    await valkey.stop();
  });

  test('grants what a bucket of one process grants', async () => {
    const question = fc.record({
      least: fc.integer({ min: 1, max: 5 }),
      more: fc.integer({ min: 0, max: 10 }),
    });
    await fc.assert(
      fc.asyncProperty(
        // None comes back while the test runs.
        fc.constantFrom(1e-4, 1e-3),
        fc.integer({ min: 1, max: 30 }),
        fc.array(question, { minLength: 1, maxLength: 10 }),
        async (requestsPerSecond, burst, questions) => {
          const rate = { requestsPerSecond, burst };
          const model = createRateLimiter({ ...rate, now: () => 0 });
          const bucket = newBucket();
          for (const { least, more } of questions) {
            const grant = await takeLease(client, bucket, rate, least, least + more);
            const expected = model.grant('one', least, least + more);
            expect(grant.granted).toBe(expected.granted);
            // Its own clock goes on.
            expect(expected.aheadMs - grant.aheadMs).toBeGreaterThanOrEqual(-0.01);
            expect(expected.aheadMs - grant.aheadMs).toBeLessThan(10_000);
          }
        },
      ),
      { numRuns: 50 },
    );
  });

  test.each([1_000_000, 3, 700, 0.3])(
    'grants a whole burst, and no more, at %d per second',
    async (requestsPerSecond) => {
      const rate = { requestsPerSecond, burst: 10 };
      expect((await takeLease(client, newBucket(), rate, 1, 100)).granted).toBe(10);
      expect((await takeLease(client, newBucket(), rate, 10, 10)).granted).toBe(10);
      expect((await takeLease(client, newBucket(), rate, 11, 20)).granted).toBe(0);
    },
  );

  test('grants in a second what the rate says', async () => {
    const rate = { requestsPerSecond: 500, burst: 1000 };
    const bucket = newBucket();
    const startedAt = performance.now();
    let { granted } = await takeLease(client, bucket, rate, 1, rate.burst);
    const answeredAt = performance.now();
    let askedAt = answeredAt;
    while (askedAt - startedAt < 1000) {
      askedAt = performance.now();
      granted += (await takeLease(client, bucket, rate, 1, rate.burst)).granted;
    }
    // Between the first answer and the last question all came that the rate says; until the last answer, no more.
    const least = (askedAt - answeredAt) / 1000;
    const most = (performance.now() - startedAt) / 1000;
    expect(granted).toBeLessThanOrEqual(1000 + Math.ceil(500 * most));
    expect(granted).toBeGreaterThanOrEqual(1000 + Math.floor(500 * least) - 1);
  });

  test('leaves nothing behind once the bucket is full', async () => {
    const bucket = newBucket();
    const { aheadMs } = await takeLease(client, bucket, { requestsPerSecond: 100, burst: 100 }, 5, 5);
    expect(aheadMs).toBe(50);
    expect(Number(await valkey.command('PTTL', bucket))).toBeLessThanOrEqual(51);
    await expect.poll(() => valkey.command('EXISTS', bucket)).toBe('0');
  });

  test('goes on when Valkey forgets its scripts', async () => {
    const rate = { requestsPerSecond: 0.001, burst: 5 };
    const bucket = newBucket();
    expect((await takeLease(client, bucket, rate, 2, 2)).granted).toBe(2);
    await valkey.command('SCRIPT', 'FLUSH');
    expect((await takeLease(client, bucket, rate, 2, 2)).granted).toBe(2);
    expect((await takeLease(client, bucket, rate, 2, 2)).granted).toBe(0);
  });

  test('what is no bucket is an error, not a grant', async () => {
    const bucket = newBucket();
    await valkey.command('LPUSH', bucket, 'x');
    await expect(takeLease(client, bucket, { requestsPerSecond: 1, burst: 1 }, 1, 1)).rejects.toThrow(
      'WRONGTYPE',
    );
  });
});
