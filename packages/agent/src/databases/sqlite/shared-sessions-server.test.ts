import fc from 'fast-check';
import { beforeEach, expect, test } from 'vitest';
import { callOf, capabilityOf, numbers, textOf } from '../conformance/capability.testing.ts';
import type { Query } from '../driver/driver.ts';
import { openScene, type Scene } from './scene.testing.ts';

const COUNTING = `with recursive n (i) as (select 1 union all select i + 1 from n where i < :n)
  select max(i) as a from n`;
/** Takes seconds. */
const LONG = 30_000_000;

let scene: Scene;
let counting: Query;
beforeEach(async () => {
  scene = await openScene();
  counting = await scene.driver.prepare(capabilityOf(COUNTING, { params: { n: { type: 'integer' } } }));
  // By then it is known to be short.
  for (const n of numbers(20)) await count(n);
});

async function count(n: number, signal: AbortSignal = new AbortController().signal): Promise<string> {
  return textOf((await counting.run(callOf({ n }, { signal, timeoutMs: 60_000 }))).rows);
}

test('short calls go to one process together, and the others are not started for them', async () => {
  await Promise.all(numbers(10).map((n) => expect(count(n)).resolves.toBe(`[{"a":${n}}]`)));
  expect(scene.driver.database.connections).toMatchObject({ idle: 1, busy: 0, opening: 0 });
});

test('one that is not short this time costs those that are with it nothing', async () => {
  const long = count(LONG).catch((reason: unknown) => reason);
  const short = await Promise.all(numbers(40).map((n) => count(n)));
  expect(short).toEqual(numbers(40).map((n) => `[{"a":${n}}]`));
  expect(await long).toBe(`[{"a":${LONG}}]`);
});

test('whatever is cancelled among them, each gets its own rows', async () => {
  const call = fc.record({ n: fc.integer({ min: 1, max: 500 }), cancelMs: fc.option(fc.nat({ max: 3 })) });
  await fc.assert(
    fc.asyncProperty(fc.array(call, { minLength: 5, maxLength: 60 }), async (calls) => {
      const outcomes = calls.map(async ({ n, cancelMs }) => {
        const signal = cancelMs === null ? undefined : AbortSignal.timeout(cancelMs);
        return count(n, signal).catch((reason: unknown) => Reflect.get(Object(reason), 'kind'));
      });
      for (const [index, outcome] of (await Promise.all(outcomes)).entries()) {
        const each = calls[index];
        const rows = `[{"a":${each?.n}}]`;
        expect(each?.cancelMs === null ? [rows] : [rows, 'cancelled']).toContain(outcome);
      }
    }),
    { numRuns: 40 },
  );
  expect(scene.driver.changes).toEqual([]);
});

test.runIf(process.platform === 'linux')(
  'one that takes all memory costs those that are with it nothing',
  async () => {
    const sql = 'select length(hex(zeroblob(:n))) as a';
    const query = await scene.driver.prepare(capabilityOf(sql, { params: { n: { type: 'integer' } } }));
    for (const n of numbers(20)) await query.run(callOf({ n }));
    const greedy = query.run(callOf({ n: 400_000_000 }, { timeoutMs: 60_000 }));
    const short = numbers(20).map((n) => count(n));
    await expect(greedy).rejects.toMatchObject({
      kind: 'failed',
      message: expect.stringContaining('memory'),
    });
    expect(await Promise.all(short)).toEqual(numbers(20).map((n) => `[{"a":${n}}]`));
  },
);
