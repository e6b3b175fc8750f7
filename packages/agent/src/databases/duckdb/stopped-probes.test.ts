import { afterAll, beforeAll, expect, test } from 'vitest';
import { callOf, capabilityOf } from '../conformance/capability.testing.ts';
import type { TestServer } from '../conformance/dialect.testing.ts';
import { openDriver, type TestedDriver } from '../conformance/tested-driver.testing.ts';
import { driverOf } from '../drivers.ts';
import { dialect } from './conformance.fixture.ts';

let server: TestServer;
let tested: TestedDriver;
beforeAll(async () => {
  server = await dialect.start();
  const driver = driverOf('duckdb');
  tested = await openDriver(driver, (...of) => driver.connect(...of), server, 1);
});
afterAll(async () => {
  await tested.close();
  await server.stop();
});

/**
 * Each is a probe of its own. Together they take a while for a great number, and each is short enough for DuckDB to heed an
 * interrupt in time, on a busy machine too.
 */
const SLOW = [0, 1, 2, 3, 4].flatMap((more) =>
  'sum avg min max count median var_pop var_samp stddev_pop stddev_samp mode first last product mad kurtosis skewness entropy sem any_value'
    .split(' ')
    .map((name) => `list_${name}(range(:n + ${more}))::varchar`),
);

test('a call that is stopped while its values are looked into ends then, and its process stays', async () => {
  const sql = `select regexp_matches(title, :v)::integer as a, concat(${SLOW.join(', ')}) as b from book`;
  const query = await tested.prepare(
    capabilityOf(sql, { params: { v: { type: 'string' }, n: { type: 'integer' } } }),
  );
  const failing = { v: '(', n: 400_000 };
  await expect(query.run(callOf({ ...failing, n: 1 }))).rejects.toMatchObject({ kind: 'invalid_params' });
  await expect(query.run(callOf(failing, { timeoutMs: 150 }))).rejects.toMatchObject({ kind: 'timeout' });
  expect(tested.database.connections).toMatchObject({ idle: 1, opening: 0 });
});
