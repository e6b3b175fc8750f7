import { afterAll, beforeAll, expect, test } from 'vitest';
import { capabilityOf } from '../conformance/capability.testing.ts';
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

function selecting(expression: string): ReturnType<typeof capabilityOf> {
  const sql = `select ${expression} from (select [1, 2, 3, 4] as x, 2 as n) t`;
  const used = expression.includes(':m') ? { m: { type: 'integer' } as const } : {};
  return capabilityOf(sql, { params: used, result: { a: 'string' } });
}

test.each([
  ['x[1:2] as a', '[1, 2]'],
  ['x[1:] as a', '[1, 2, 3, 4]'],
  ['x[:2] as a', '[1, 2]'],
  ['x[:-2] as a', '[1, 2, 3]'],
  ['x[1:4:2] as a', '[1, 3]'],
  ['x[(n):(n)] as a', '[2]'],
  ['x[1 : n] as a', '[1, 2]'],
  ['x[1: :m] as a', '[1, 2, 3]'],
  ['x[:m : 4] as a', '[3, 4]'],
  ['x[:m] as a', '3'],
  ['x[1:\n2] as a', '[1, 2]'],
  ["{'a':1,'b':'x'} as a", "{'a': 1, 'b': x}"],
  ["{'a':[1,2]} as a", "{'a': [1, 2]}"],
  ["{'a': n, 'b': :m::int} as a", "{'a': 2, 'b': 3}"],
  ["{'a':-1}.a::varchar as a", '-1'],
  ["map {'k':1} as a", '{k=1}'],
  ['list_transform(x, lambda e: e + 1) as a', '[2, 3, 4, 5]'],
  ['a:7', '7'],
  ['a: n', '2'],
])('%s is what it is in DuckDB', async (expression, value) => {
  expect(await tested.rowsOf(selecting(expression), { m: 3 })).toBe(JSON.stringify([{ a: value }]));
});

test.each([
  ['x[1:m] as a', 'write `: name` for a column, `: :name` for a parameter'],
  ["{'a':m} as a", 'write `: name` for a column, `: :name` for a parameter'],
  ['list_transform(x, lambda e:m) as a', 'write `: name` for a column, `: :name` for a parameter'],
  ['a:m', 'write `: name` for a column, `: :name` for a parameter'],
  ['x[:m:4] as a', 'write a space before it, as in `[:first : :last]`'],
])('%s may be a parameter or not, and the fault says how to write each', async (expression, advice) => {
  const { faults } = await tested.verifier.verify([selecting(expression)]);
  expect(faults).toMatchObject([{ message: expect.stringContaining(advice) }]);
});
