import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TestServer } from '../conformance/dialect.testing.ts';
import { capabilityOfSpec } from '../conformance/clauses/lists.testing.ts';
import { openDriver, type TestedDriver } from '../conformance/tested-driver.testing.ts';
import { driverOf } from '../drivers.ts';
import { fileServer, hasRunningThreads } from '../engine-process/holders.testing.ts';
import { change } from './change.testing.ts';
import './engine-code.testing.ts';

let server: TestServer;
let tested: TestedDriver;
beforeAll(async () => {
  server = await fileServer(
    'duckdb',
    (file) =>
      change(
        file,
        'create table book (id integer)',
        'create macro chance() as random()',
        'create view luck as select chance() as number',
      ),
    hasRunningThreads,
  );
  const driver = driverOf('duckdb');
  tested = await openDriver(driver, (...of) => driver.connect(...of), server, 1);
});
afterAll(async () => {
  await tested.close();
  await server.stop();
});

test.each(['chance() < 0.5', 'exists (select 1 from luck where number < 0.5)'])(
  'a filter that reaches a function that may answer differently by %s is refused',
  async (condition) => {
    const capability = capabilityOfSpec({
      sql: 'select id from book where {filters}',
      params: { p: { type: 'integer', filter: `id = :p and ${condition}` } },
      result: { id: { type: 'integer' } },
    });
    const { faults } = await tested.verifier.verify([capability]);
    expect(faults).toMatchObject([
      {
        path: 'capabilities.list.params.p.filter',
        message: 'calls something that may answer differently for the same row: a filter must not',
      },
    ]);
  },
);
