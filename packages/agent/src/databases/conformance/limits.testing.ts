import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CapabilityLimits } from '../../capabilities/model.ts';
import type { Query } from '../driver/driver.ts';
import { callOf, capabilityOf, numbers, textOf } from './capability.testing.ts';
import type { Suite, TestedDriver } from './tested-driver.testing.ts';

const MOST = 6;
const texts = numbers(MOST).map((n) => `t${n}`);
/** As many rows as `count` says, each with the text of its parameter. */
const ROWS = `select case id ${texts.map((name, index) => `when ${index + 1} then :${name}`).join(' ')} end as a
  from book where id <= :count order by id`;

type Rows = (lengths: readonly number[]) => ReturnType<Query['run']>;

/** A query whose rows hold texts of the given lengths. */
async function rowsQuery(driver: TestedDriver, limits: Partial<CapabilityLimits>): Promise<Rows> {
  const query = await driver.prepare(
    capabilityOf(ROWS, {
      params: {
        ...Object.fromEntries(texts.map((name) => [name, { type: 'string' as const }])),
        count: { type: 'integer' },
      },
      result: { a: 'string' },
      limits,
    }),
  );
  return (lengths) =>
    query.run(
      callOf({
        count: lengths.length,
        ...Object.fromEntries(lengths.map((length, index) => [`t${index + 1}`, 'x'.repeat(length)])),
      }),
    );
}

function jsonOf(lengths: readonly number[]): string {
  return JSON.stringify(lengths.map((length) => ({ a: 'x'.repeat(length) })));
}

export function describeLimits({ open, shared }: Suite): void {
  describe('max_rows and max_bytes', () => {
    test('exactly as many rows and bytes as allowed are the whole result', async () => {
      const driver = shared();
      const maxBytes = jsonOf([5, 5, 5]).length;
      for (const onLimit of ['truncate', 'error'] as const) {
        const run = await rowsQuery(driver, { maxRows: 3, maxBytes, onLimit });
        const { rows, count, truncated } = await run([5, 5, 5]);
        expect([textOf(rows), count, truncated]).toEqual([jsonOf([5, 5, 5]), 3, false]);
      }
    });

    test.each([
      ['a row more', { maxRows: 2 }],
      ['a byte more', { maxBytes: jsonOf([5, 5, 5]).length - 1 }],
    ])('%s is cut off under truncate, and an error under error', async (_title, limits) => {
      const driver = shared();
      const cut = await (await rowsQuery(driver, { ...limits, onLimit: 'truncate' }))([5, 5, 5]);
      expect([textOf(cut.rows), cut.count, cut.truncated]).toEqual([jsonOf([5, 5]), 2, true]);
      const refusing = await rowsQuery(driver, { ...limits, onLimit: 'error' });
      await expect(refusing([5, 5, 5])).rejects.toMatchObject({ kind: 'too_large' });
    });

    test('a row that alone is longer than max_bytes is an error, under both', async () => {
      const driver = shared();
      for (const onLimit of ['truncate', 'error'] as const) {
        const run = await rowsQuery(driver, { maxBytes: 100, onLimit });
        await expect(run([500])).rejects.toMatchObject({ kind: 'too_large' });
        await expect(run([1, 2_000_000])).rejects.toMatchObject({ kind: 'too_large' });
        expect((await run([1])).count).toBe(1);
      }
    });

    test('bytes are those of UTF-8', async () => {
      const driver = shared();
      const rows = JSON.stringify([{ a: 'éé€😀' }]);
      const options = { params: { v: { type: 'string' } }, result: { a: 'string' } } as const;
      const sql = 'select case id when 1 then :v end as a from book where id = 1';
      const maxBytes = Buffer.byteLength(rows);
      const exact = await driver.prepare(capabilityOf(sql, { ...options, limits: { maxBytes } }));
      expect(textOf((await exact.run(callOf({ v: 'éé€😀' }))).rows)).toBe(rows);
      const tight = await driver.prepare(
        capabilityOf(sql, { ...options, limits: { maxBytes: maxBytes - 1 } }),
      );
      await expect(tight.run(callOf({ v: 'éé€😀' }))).rejects.toMatchObject({ kind: 'too_large' });
    });

    test('whatever was asked before, a result is all rows or the longest beginning that fits', async () => {
      const driver = await open(1);
      const limits = { maxRows: MOST - 1, maxBytes: 200 };
      const run = await rowsQuery(driver, limits);
      const lengths = fc.array(fc.oneof(fc.nat({ max: 60 }), fc.nat({ max: 250 })), { maxLength: MOST });
      await fc.assert(
        fc.asyncProperty(lengths, async (all) => {
          const fitting = all.findIndex(
            (_, at) => at >= limits.maxRows || jsonOf(all.slice(0, at + 1)).length > limits.maxBytes,
          );
          const given = fitting < 0 ? all : all.slice(0, fitting);
          const next = all[fitting];
          const isTooLong =
            fitting < limits.maxRows && next !== undefined && jsonOf([next]).length > limits.maxBytes;
          const result = run(all);
          if (isTooLong) {
            await expect(result).rejects.toMatchObject({ kind: 'too_large' });
            return;
          }
          const { rows, count, truncated } = await result;
          expect([textOf(rows), count, truncated]).toEqual([jsonOf(given), given.length, fitting >= 0]);
        }),
        {
          numRuns: 150,
          examples: [
            // A long row between short ones, one that would fit alone, and one that max_rows leaves out.
            [[10, 250, 10]],
            [[60, 180, 10]],
            [[1, 1, 1, 1, 1, 250]],
          ],
        },
      );
    });
  });
}
