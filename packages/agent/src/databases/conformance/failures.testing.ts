import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { callOf, capabilityOf, textOf } from './capability.testing.ts';
import type { Suite } from './tested-driver.testing.ts';

const PARAMS = { n: { type: 'integer' }, v: { type: 'string' }, w: { type: 'string' } } as const;
/** Is nowhere refused, and so has to be named nowhere. */
const INNOCENT = '{innocent (';

export function describeFailures({ dialect, open }: Suite): void {
  const failing = (expression: string): ReturnType<typeof capabilityOf> =>
    capabilityOf(`select ${expression} as a from faulty where id = :n and :w <> ''`, {
      params: PARAMS,
      result: { a: 'string' },
    });

  describe('a failed call costs the next one of its query nothing, and', () => {
    test('a value that is refused by itself is told by the name of its parameter alone', async () => {
      const driver = await open(1);
      const told: unknown[] = [];
      for (const [expression, refused, taken] of dialect.refusals) {
        const query = await driver.prepare(failing(expression));
        const callWith = (v: string): ReturnType<typeof query.run> =>
          query.run(callOf({ n: 1, v, w: INNOCENT }));
        const rows = textOf((await callWith(taken)).rows);
        for (let round = 0; round < 2; round += 1) {
          const error: unknown = await callWith(refused).catch((reason: unknown) => reason);
          const { kind, advice } = Object(error);
          const isQuoted = inspect(error, { depth: Infinity, showHidden: true }).includes('zq7');
          const again = textOf((await callWith(taken)).rows);
          told.push([expression, refused, kind, String(advice).split(': ')[0], isQuoted, again === rows]);
        }
      }
      expect(told).toEqual(
        dialect.refusals.flatMap(([expression, refused]) => {
          const one = [expression, refused, 'invalid_params', 'v', false, true];
          return [one, one];
        }),
      );
    });

    test('what is wrong with the data is not told of a value', async () => {
      const driver = await open(1);
      const told: unknown[] = [];
      for (const [expression, v] of dialect.dataFaults) {
        const query = await driver.prepare(failing(expression));
        const callFor = (n: number): ReturnType<typeof query.run> => query.run(callOf({ n, v, w: INNOCENT }));
        const rows = textOf((await callFor(1)).rows);
        for (let round = 0; round < 2; round += 1) {
          const error: unknown = await callFor(2).catch((reason: unknown) => reason);
          const { kind, advice } = Object(error);
          told.push([expression, kind, advice, textOf((await callFor(1)).rows) === rows]);
        }
      }
      expect(told).toEqual(
        dialect.dataFaults.flatMap(([expression]) => {
          const one = [expression, 'failed', undefined, true];
          return [one, one];
        }),
      );
    });

    test('a null that must not be, a row that is too long and a result that is too large are its own', async () => {
      const driver = await open(1);
      const query = await driver.prepare(
        capabilityOf('select nullif(id, 2) as a, title from book where id >= :n and id < :m order by id', {
          params: { n: { type: 'integer' }, m: { type: 'integer' } },
          result: { a: 'integer', title: 'string' },
          notNull: ['a'],
          limits: { maxRows: 2, maxBytes: 60, onLimit: 'error' },
        }),
      );
      const between = (n: number, m: number): ReturnType<typeof query.run> => query.run(callOf({ n, m }));
      for (let round = 0; round < 2; round += 1) {
        await expect(between(2, 3)).rejects.toMatchObject({ kind: 'failed' });
        expect(textOf((await between(1, 2)).rows)).toBe('[{"a":1,"title":"book 1"}]');
        await expect(between(3, 50)).rejects.toMatchObject({ kind: 'too_large' });
        expect(textOf((await between(3, 4)).rows)).toBe('[{"a":3,"title":"book 3"}]');
      }
    });

    test('one that is stopped leaves its query as it was', async () => {
      const driver = await open(1);
      const query = await driver.prepare(capabilityOf(dialect.slow(150)));
      for (const timeoutMs of [10, 40]) {
        await expect(query.run(callOf({}, { timeoutMs }))).rejects.toMatchObject({ kind: 'timeout' });
        const signal = AbortSignal.timeout(timeoutMs);
        await expect(query.run(callOf({}, { signal }))).rejects.toMatchObject({ kind: 'cancelled' });
      }
      expect(textOf((await query.run(callOf())).rows)).toBe('[{"a":1}]');
    });
  });
}
