import { describe, expect, test } from 'vitest';
import { RESULT_TYPES } from '../../capabilities/model.ts';
import { capabilityOf, callOf, textOf } from './capability.testing.ts';
import type { Suite } from './tested-driver.testing.ts';

export function describeResults({ dialect, shared }: Suite): void {
  describe('results', () => {
    test('each column leaves as its declared type', async () => {
      const driver = shared();
      expect(new Set(dialect.columns.map(([type]) => type))).toEqual(new Set(RESULT_TYPES));
      const left = await Promise.all(
        dialect.columns.map(async ([type, expression]) => {
          const rows = await driver.rowsOf(
            capabilityOf(`select ${expression} as a`, { result: { a: type } }),
          );
          return [type, expression, rows];
        }),
      );
      const expected = dialect.columns.map(([type, expression, json]) => [
        type,
        expression,
        `[{"a":${json}}]`,
      ]);
      expect(left).toEqual(expected);
    });

    test('integers keep all their digits', async () => {
      const driver = shared();
      const sql = 'select 9223372036854775807 as a, -9007199254740993 as b';
      const capability = capabilityOf(sql, { result: { a: 'integer', b: 'integer' } });
      expect(await driver.rowsOf(capability)).toBe('[{"a":9223372036854775807,"b":-9007199254740993}]');
    });

    test('null leaves as null', async () => {
      const driver = shared();
      const capability = capabilityOf('select nullif(id, 1) as a from book where id < 3 order by id');
      expect(await driver.rowsOf(capability)).toBe('[{"a":null},{"a":2}]');
    });

    test('null in a field that is not nullable fails the call', async () => {
      const driver = shared();
      const sql = 'select nullif(id, :n) as a from book where id < 3 order by id';
      const query = await driver.prepare(
        capabilityOf(sql, { params: { n: { type: 'integer' } }, notNull: ['a'] }),
      );
      expect(textOf((await query.run(callOf({ n: 7 }))).rows)).toBe('[{"a":1},{"a":2}]');
      await expect(query.run(callOf({ n: 2 }))).rejects.toMatchObject({ kind: 'failed' });
    });

    test('only the listed fields leave, in the order of the list', async () => {
      const driver = shared();
      const capability = capabilityOf('select 1 as b, 2 as hidden, 3 as a, 4 as other', {
        result: { a: 'integer', b: 'integer' },
      });
      expect(await driver.rowsOf(capability)).toBe('[{"a":3,"b":1}]');
    });

    test('a field may have any name', async () => {
      const driver = shared();
      const names = ['Select', 'a"b', "it's", 'back`tick', 'a b', 'é', 'value', 'rows', 'count', 'q'];
      const columns = names.map((name, index) => `${index} as ${dialect.quoted(name)}`);
      const capability = capabilityOf(`select ${columns.join(', ')}`, {
        result: Object.fromEntries(names.map((name) => [name, 'integer' as const])),
      });
      const expected = Object.fromEntries(names.map((name, index) => [name, index]));
      expect(await driver.rowsOf(capability)).toBe(JSON.stringify([expected]));
    });

    test('rows leave in the order of the SQL, and are counted', async () => {
      const driver = shared();
      const query = await driver.prepare(
        capabilityOf('select id, title from book order by id desc', {
          result: { title: 'string', id: 'integer' },
        }),
      );
      const { rows, count, truncated } = await query.run(callOf());
      const ids = Array.from({ length: 50 }, (_, index) => 50 - index);
      expect(textOf(rows)).toBe(JSON.stringify(ids.map((id) => ({ title: `book ${id}`, id }))));
      expect({ count, truncated }).toEqual({ count: 50, truncated: false });
    });

    test('no rows are an empty array', async () => {
      const driver = shared();
      const query = await driver.prepare(capabilityOf('select id as a from book where id > 1000'));
      const { rows, count, truncated } = await query.run(callOf());
      expect([textOf(rows), count, truncated]).toEqual(['[]', 0, false]);
    });
  });
}
