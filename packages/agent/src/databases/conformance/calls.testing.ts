import { inspect } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ParamSchema } from '../../capabilities/model.ts';
import type { Query } from '../driver/driver.ts';
import { resultTypeOf } from './dialect.testing.ts';
import { callOf, capabilityOf, numbers, textOf } from './capability.testing.ts';
import type { Suite } from './tested-driver.testing.ts';

/** A value that must not come back in an error. */
const MARKER = 'zq7marker';

const SCHEMAS = {
  n: { type: 'integer' },
  s: { type: 'string' },
  list: { type: 'array', items: { type: 'string' } },
} as const satisfies Record<string, ParamSchema>;

/** Texts of any characters but NUL, which some databases cannot hold. */
const text = fc.string({ unit: 'binary', maxLength: 20 }).map((value) => value.replaceAll('\0', ''));
const values = fc.record({
  n: fc.maxSafeInteger(),
  s: text,
  list: fc.array(fc.option(text), { maxLength: 5 }),
});

export function describeCalls({ dialect, open }: Suite): void {
  const { caller } = dialect;

  test('a query that is forgotten leaves its place to another, and those beside it as they are', async () => {
    const { database, prepare } = await open(2);
    const selecting = (n: number): ReturnType<typeof capabilityOf> => capabilityOf(`select ${n} as a`);
    const ran = async (query: Query): Promise<string> => textOf((await query.run(callOf())).rows);
    const [first, second] = [await prepare(selecting(1)), await prepare(selecting(2))];
    expect([await ran(first), await ran(second)]).toEqual(['[{"a":1}]', '[{"a":2}]']);
    database.forget(first);
    const third = await prepare(selecting(3));
    expect([await ran(second), await ran(third)]).toEqual(['[{"a":2}]', '[{"a":3}]']);
  });

  describe('calls', () => {
    test('under way together get each its own rows, whatever becomes of the others', async () => {
      const driver = await open(3);
      const columns = Object.entries(SCHEMAS).map(
        ([name, schema]) => `${dialect.param(name, schema)} as ${name}`,
      );
      const echo = await driver.prepare(
        capabilityOf(`select ${columns.join(', ')}`, {
          params: SCHEMAS,
          result: Object.fromEntries(
            Object.entries(SCHEMAS).map(([name, schema]) => [name, resultTypeOf(schema)]),
          ),
        }),
      );
      const [failure] = dialect.failures;
      if (failure === undefined) throw new Error('the dialect has no statement that fails');
      const failing = await driver.prepare(capabilityOf(failure, { params: { v: { type: 'string' } } }));
      const slow = await driver.prepare(capabilityOf(dialect.slow(20_000)));

      const kind = fc.oneof(
        { weight: 8, arbitrary: values.map((given) => ({ kind: 'echo' as const, given })) },
        { weight: 1, arbitrary: text.map((given) => ({ kind: 'failing' as const, given })) },
        { weight: 1, arbitrary: fc.nat({ max: 15 }).map((ms) => ({ kind: 'aborted' as const, ms })) },
      );
      const batch = fc.array(kind, { minLength: 2, maxLength: 24 });
      await fc.assert(
        fc.asyncProperty(batch, async (calls) => {
          const outcomes = calls.map(async (each): Promise<unknown> => {
            switch (each.kind) {
              case 'echo':
                return JSON.parse(textOf((await echo.run(callOf(each.given))).rows));
              case 'failing':
                return await failing.run(callOf({ v: `${MARKER}${each.given}` })).catch(kindOf);
              case 'aborted':
                return await slow.run(callOf({}, { signal: AbortSignal.timeout(each.ms) })).catch(kindOf);
            }
          });
          const expected = calls.map((each) => {
            switch (each.kind) {
              case 'echo':
                return [each.given];
              case 'failing':
                return 'failed';
              case 'aborted':
                return 'cancelled';
            }
          });
          expect(await Promise.all(outcomes)).toEqual(expected);
        }),
        { numRuns: 25 },
      );
      expect(driver.changes).toEqual([]);
    });

    test.each(dialect.failures)(
      'of $sql fail without a value in the error, and the next succeeds',
      async (sql) => {
        const driver = await open(1);
        const books = await driver.prepare(capabilityOf('select id as a from book where id = 7'));
        const query = await driver.prepare(capabilityOf(sql, { params: { v: { type: 'string' } } }));
        const error: unknown = await query.run(callOf({ v: MARKER })).catch((reason: unknown) => reason);
        expect(error).toMatchObject({ name: 'DatabaseError', kind: 'failed' });
        expect(inspect(error, { depth: Infinity, showHidden: true })).not.toContain(MARKER);
        expect(textOf((await books.run(callOf())).rows)).toBe('[{"a":7}]');
      },
    );

    test.each(dialect.leftovers)('of $leave.sql leave the session as it was', async ({ leave, look }) => {
      const driver = await open(1);
      const looking = await driver.prepare(capabilityOf(look, { result: { a: 'string' } }));
      const leaving = await driver.prepare(capabilityOf(leave));
      const before = textOf((await looking.run(callOf())).rows);
      await leaving.run(callOf());
      expect(textOf((await looking.run(callOf())).rows)).toBe(before);
    });

    test.skipIf(caller === undefined)('let SQL know who calls what, each its own caller', async () => {
      if (caller === undefined) return;
      const driver = await open(2);
      const result = { api_key_name: 'string', capability: 'string', request_id: 'string' } as const;
      const query = await driver.prepare(capabilityOf(caller, { name: 'who_calls', result }));
      const callers = numbers(20).map((n) => ({
        apiKeyName: `${n} o'key\\"é; --`,
        requestId: `request-${n}`,
      }));
      const answers = await Promise.all(
        callers.map(async (each): Promise<unknown> =>
          JSON.parse(textOf((await query.run(callOf({}, each))).rows)),
        ),
      );
      expect(answers).toEqual(
        callers.map(({ apiKeyName, requestId }) => [
          { api_key_name: apiKeyName, capability: 'who_calls', request_id: requestId },
        ]),
      );
    });
  });
}

function kindOf(error: unknown): unknown {
  return Object(error).kind ?? error;
}
