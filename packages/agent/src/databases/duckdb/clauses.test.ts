import { randomInt } from 'node:crypto';
import { copyFile, rename } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TestServer } from '../conformance/dialect.testing.ts';
import { capabilityOfSpec } from '../conformance/clauses/lists.testing.ts';
import { MOVING, walksBesideWrites } from '../conformance/clauses/walks.testing.ts';
import { openDriver, type TestedDriver } from '../conformance/tested-driver.testing.ts';
import { driverOf } from '../drivers.ts';
import { fileServer, hasRunningThreads } from '../engine-process/holders.testing.ts';
import { change } from './change.testing.ts';
import './engine-code.testing.ts';

/** A long attack asks for more. */
const PAGES = Number(process.env['SVC_TEST_PAGES'] ?? 150);

let server: TestServer;
let tested: TestedDriver;
beforeAll(async () => {
  server = await fileServer(
    'duckdb',
    (file) =>
      change(
        file,
        'create table book (id integer)',
        ...MOVING,
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

test('while the file is replaced, each row that stays is seen once, and in its place', async () => {
  const file = String(Reflect.get(server.reader.section, 'file'));
  const { pages, writes, wrong } = await walksBesideWrites(
    tested,
    async (...statements) => {
      // A program that writes keeps all others from the file.
      await copyFile(file, `${file}.new`);
      await change(`${file}.new`, ...statements);
      await rename(`${file}.new`, file);
    },
    { most: PAGES, seed: randomInt(2 ** 31), every: 20 },
  );
  expect(wrong).toEqual([]);
  expect(pages).toBeGreaterThan(100);
  expect(writes).toBeGreaterThan(5);
}, 600_000);
