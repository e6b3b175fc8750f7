import { testDatabase } from '@svc/testkit';
import { expect, onTestFinished, test } from 'vitest';
import { createCallerLoads, type CallerLoad } from '../../calls/caller-loads.ts';
import { createConcurrencyLimit } from '../../calls/concurrency-limit.ts';
import { workerCode } from '../../workers/worker-code.testing.ts';
import { openWorkerDatabase } from '../../workers/worker-database.ts';
import type { Query } from '../driver/driver.ts';
import { callOf, capabilityOf, configOf, openPostgres } from './capability.fixture.ts';

const SLOW_MS = 1000;
const WORKERS = 2;
const CONNECTIONS = 4;

test('slow calls of one caller, twice as many as connections, leave one of each worker to another', async () => {
  const config = configOf(await testDatabase(), { maxConnections: CONNECTIONS });
  const verifier = openPostgres(config);
  const database = await openWorkerDatabase({
    code: await workerCode(),
    workers: WORKERS,
    config,
    onChange: () => {},
    onWorkerEnded: ({ detail }) => {
      throw new Error(detail);
    },
  });
  onTestFinished(async () => {
    await Promise.all([verifier.close(), database.close()]);
  });
  const statements = [`select 1 as a from pg_sleep(${SLOW_MS / 1000})`, 'select 1 as a'];
  const { prepared } = await verifier.verify(
    statements.map((sql, n) => capabilityOf(sql, { name: `c${n}`, allowFunctions: ['pg_sleep'] })),
  );
  const [slow, quick] = prepared.map((each) => database.prepare(each));
  if (slow === undefined || quick === undefined) throw new Error('nothing was prepared');
  // Each makes its connections.
  await Promise.all(Array.from({ length: 2 * CONNECTIONS }, () => slow.run(callOf())));

  const loads = createCallerLoads();
  const limit = createConcurrencyLimit(64, 100);
  async function call(query: Query, load: CallerLoad): Promise<number> {
    const startedAt = performance.now();
    const { signal } = new AbortController();
    const release = await limit.acquire(10_000, signal, load);
    if (typeof release === 'string') throw new Error(release);
    await query.run(callOf({}, { signal, share: load }));
    release();
    return performance.now() - startedAt;
  }

  let isOver = false;
  const other = async (): Promise<number> => call(quick, loads.of('other'));
  // It is known to call.
  for (let n = 0; n < 12; n += 1) await other();
  const hogging = Array.from({ length: 2 * CONNECTIONS }, async () => {
    while (!isOver) await call(slow, loads.of('hog'));
  });
  const took: number[] = [];
  const until = performance.now() + 3 * SLOW_MS;
  while (performance.now() < until) took.push(await other());
  isOver = true;
  await Promise.all(hogging);
  // Not one has waited for the end of a slow one, on whichever worker it was.
  expect(took.length).toBeGreaterThan(40);
  expect(Math.max(...took)).toBeLessThan(SLOW_MS / 2);
});
