import { beforeEach, expect, test } from 'vitest';
import type { ParamSchema } from '../../capabilities/model.ts';
import { callOf, capabilityOf } from '../conformance/capability.testing.ts';
import { openScene, type Scene } from './scene.testing.ts';

let scene: Scene;
beforeEach(async () => {
  scene = await openScene();
  scene.execute(`create table item (id integer primary key, code text, folded text collate nocase, big integer,
      price real, exact numeric, day date, moment datetime, flag boolean, any_ blob);
    create index by_code on item (code);
    create index by_folded on item (folded);
    create index by_big on item (big);
    create index by_day on item (day);
    insert into item values (1, '7', 'Book', 9223372036854775807, 0.1, 2.5, '2024-02-29', '2024-02-29 10:30:00', 1, 7),
      (2, 'abc', 'x', -9223372036854775808, 2, 3, '2024-03-01', '2024-03-01 00:00:00', 0, '7')`);
});

async function rowsOf(condition: string, schema: ParamSchema, v: unknown): Promise<string> {
  const capability = capabilityOf(`select id as a from item where ${condition}`, { params: { v: schema } });
  return scene.driver.rowsOf(capability, { v });
}

test.each<[column: string, type: ParamSchema['type'], items: readonly unknown[]]>([
  ['code', 'string', ['x', '7']],
  ['folded', 'string', ['y', 'BOOK']],
  ['big', 'integer', [1, '9223372036854775807']],
  ['price', 'number', [1, 0.1]],
  ['exact', 'number', [1, 2.5]],
  ['day', 'date', ['2024-02-28', '2024-02-29']],
  ['moment', 'datetime', ['2024-02-29T10:30:01Z', '2024-02-29T12:30:00+02:00']],
  ['flag', 'boolean', [true]],
  ['any_', 'integer', [1, 7]],
])('%s takes a list of %s', async (column, type, items) => {
  const list: ParamSchema = { type: 'array', items: { type } };
  expect(await rowsOf(`${column} in (:v)`, list, items)).toBe('[{"a":1}]');
  expect(await rowsOf(`${column} not in (:v)`, list, items)).toBe('[{"a":2}]');
});

test('an index finds the rows of a list', async () => {
  for (const [column, type] of [
    ['id', 'integer'],
    ['code', 'string'],
    ['folded', 'string'],
    ['big', 'integer'],
    ['day', 'date'],
  ] as const) {
    const { prepared } = await scene.driver.verifier.verify([
      capabilityOf(`select price as a from item where ${column} in (:v)`, {
        params: { v: { type: 'array', items: { type } } },
      }),
    ]);
    const [query] = prepared;
    if (query === undefined) throw new Error(`${column} is refused`);
    expect((await scene.driver.verifier.plan(query)).join('\n')).toMatch(
      /SEARCH item USING (?:INDEX|INTEGER PRIMARY KEY)/,
    );
  }
});

test('a LIMIT or OFFSET that is computed from parameters is never negative, and null means no LIMIT or OFFSET', async () => {
  const capability = capabilityOf(
    'select id as a from book order by id limit :n * 2 offset (:page - 1) * 10',
    {
      params: { n: { type: 'integer' }, page: { type: 'integer' } },
    },
  );
  const query = await scene.driver.prepare(capability);
  const idsOf = async (values: Readonly<Record<string, number>>): Promise<number> => {
    const { count } = await query.run(callOf(values));
    return count;
  };
  expect(await idsOf({ n: 2, page: 1 })).toBe(4);
  expect(await idsOf({ page: 5 })).toBe(10);
  expect(await idsOf({})).toBe(50);
  for (const values of [
    { n: -1, page: 1 },
    { n: 1, page: 0 },
  ]) {
    await expect(query.run(callOf(values))).rejects.toMatchObject({ kind: 'invalid_params' });
  }
});

test.each<[condition: string, schema: ParamSchema, value: unknown, rows: string]>([
  ['big = :v', { type: 'string' }, '9223372036854775807', '[{"a":1}]'],
  ['big > :v', { type: 'string', pattern: '^[0-9]+$' }, '5', '[{"a":1}]'],
  ['exact = :v', { type: 'integer' }, 3, '[{"a":2}]'],
  ['price = :v', { type: 'integer' }, 2, '[{"a":2}]'],
  ['flag = :v', { type: 'boolean' }, true, '[{"a":1}]'],
  ['moment >= :v', { type: 'date' }, '2024-03-01', '[{"a":2}]'],
  ['cast(code as integer) = :v', { type: 'integer' }, 7, '[{"a":1}]'],
])('%s takes %j', async (condition, schema, value, rows) => {
  expect(await rowsOf(condition, schema, value)).toBe(rows);
});

test.each<[condition: string, type: ParamSchema['type'], advice: string]>([
  ['price > :v', 'string', 'declare it integer or number'],
  ['flag = :v', 'string', 'declare it boolean'],
  ['code < :v', 'integer', 'declare it string, or cast'],
  ['cast(code as integer) > :v', 'string', 'declare it integer or number'],
  ["code || 'x' = :v", 'integer', 'declare it string, or cast'],
])('%s is refused for %s', async (condition, type, advice) => {
  const problems = await scene.problems(
    capabilityOf(`select id as a from item where ${condition}`, { params: { v: { type } } }),
  );
  expect(problems).toEqual([expect.stringContaining(advice)]);
});

test('a list of integers is not compared with texts, which it would never equal', async () => {
  const v: ParamSchema = { type: 'array', items: { type: 'integer' } };
  const problems = await scene.problems(
    capabilityOf('select id as a from item where code in (:v)', { params: { v } }),
  );
  expect(problems).toEqual([expect.stringContaining('declare it string')]);
});
