import { randomInt } from 'node:crypto';
import { testDatabase } from '@svc/testkit';
import { expect, test } from 'vitest';
import { READER, schemaSql } from './calls.ts';
import { runBatches } from './run.ts';

// `npm run test:batches` makes 200,000 calls.
test(
  'calls of several keys that share connections, in trouble: each ends as it must',
  { timeout: 180_000 },
  async () => {
    const server = await testDatabase({ sql: schemaSql() });
    await server.execute(`create role ${READER} login password '${READER}'`);
    const seed = randomInt(2 ** 31);
    const report = await runBatches({ calls: 3000, seed, server });
    await server.execute(`drop owned by ${READER}; drop role ${READER}`);
    expect({ seed, wrong: report.wrong }).toEqual({ seed, wrong: [] });
    expect(report.outcomes['answered']).toBeGreaterThan(2400);
    expect(report.transactions?.sharedCalls).toBeGreaterThan(100);
  },
);
