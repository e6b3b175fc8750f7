import { describe, expect, test } from 'vitest';
import type { ParamSchema } from '../../capabilities/model.ts';
import { capabilityOf, numbers } from './capability.testing.ts';
import type { Suite } from './tested-driver.testing.ts';

const INTEGERS: ParamSchema = { type: 'array', items: { type: 'integer' } };
const TEXTS: ParamSchema = { type: 'array', items: { type: 'string' } };
const AT = { path: 'capabilities.sample.params.v', position: { line: 100, column: 3 } };
const ALL = numbers(50);

/** `x` is null for the first book. */
const LISTS: readonly (readonly [
  condition: string,
  schema: ParamSchema,
  value: unknown,
  ids: readonly number[],
])[] = [
  ['id in (:v)', INTEGERS, [3, 1, 3, 999], [1, 3]],
  ['id IN(:v)', INTEGERS, [2], [2]],
  ['id in ( :v ) and id > 1', INTEGERS, [1, 2], [2]],
  ['not id in (:v)', INTEGERS, numbers(48), [49, 50]],
  ['id not in (:v)', INTEGERS, numbers(48), [49, 50]],
  ['id in (:v)', INTEGERS, numbers(200), ALL],
  ['id in (:v)', INTEGERS, [], []],
  ['id not in (:v)', INTEGERS, [], ALL],
  ['nullif(id, 1) in (:v)', INTEGERS, [], []],
  ['nullif(id, 1) not in (:v)', INTEGERS, [], ALL],
  ['nullif(id, 1) not in (:v)', INTEGERS, [2], numbers(50).slice(2)],
  ['id in (:v)', INTEGERS, null, []],
  ['id not in (:v)', INTEGERS, null, []],
  ['id not in (:v)', INTEGERS, [1, null], []],
  ['id in (:v)', INTEGERS, [1, null], [1]],
  ['id in (:v)', INTEGERS, [Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, 7], [7]],
  ['id in (:v)', { type: 'array', items: { type: 'number' } }, [2, 2.5], [2]],
  ['title in (:v)', TEXTS, ['book 2', 'book 3', "it's", 'a"b\\c\n,é😀', '', 'NULL'], [2, 3]],
  ['title not in (:v)', TEXTS, ['x'], ALL],
  ['lower(title) in (:v)', TEXTS, ['book 50'], [50]],
  ['(:v is null or id in (:v))', INTEGERS, null, ALL],
  ['(:v is null or id in (:v))', INTEGERS, [4], [4]],
  ['exists (select 1 from book x where x.id in (:v) and x.id = book.id)', INTEGERS, [5, 6], [5, 6]],
];

/** Where no list of values can stand. */
const MISPLACED: readonly (readonly [condition: string, schema: ParamSchema])[] = [
  ['id = :v', INTEGERS],
  ['id <> :v', INTEGERS],
  [':v = id', INTEGERS],
  ['id + :v > 1', INTEGERS],
  ['title like :v', TEXTS],
  ['title = lower(:v)', TEXTS],
  ['id between :v and 5', INTEGERS],
  ['id in (:v, 1)', INTEGERS],
  ['id in (1, :v)', INTEGERS],
  ['(id, id) in (:v)', INTEGERS],
  ['id = coalesce(:v, 1)', INTEGERS],
  ['title = :v', { type: 'object' }],
  ['title in (:v)', { type: 'object' }],
];

export function describePlaces({ dialect, shared }: Suite): void {
  describe('the place of a parameter', () => {
    test.each(LISTS)('%s, %j: %j', async (condition, schema, value, ids) => {
      const capability = capabilityOf(`select id as a from book where ${condition} order by id`, {
        params: { v: schema },
      });
      const rows: unknown = JSON.parse(await shared().rowsOf(capability, { v: value }));
      expect(rows).toEqual(ids.map((a) => ({ a })));
    });

    test.each(MISPLACED)('%s is refused for %j, by the parameter', async (condition, schema) => {
      const { faults } = await shared().verifier.verify([
        capabilityOf(`select id as a from book where ${condition}`, { params: { v: schema } }),
      ]);
      expect(faults).toMatchObject([
        { ...AT, message: expect.stringMatching(/^is an? (?:array|object)|^is declared/) },
      ]);
    });

    test('the forms that messages name are taken', async () => {
      for (const [condition, schema, value] of dialect.listForms) {
        const capability = capabilityOf(`select id as a from book where ${condition} order by id`, {
          params: { v: schema },
        });
        expect([condition, await shared().rowsOf(capability, { v: value })]).toEqual([
          condition,
          '[{"a":2}]',
        ]);
      }
    });

    test('a LIMIT of null does not limit, and an OFFSET of null is 0', async () => {
      const limited = capabilityOf('select id as a from book order by id limit :n offset :o', {
        params: { n: { type: 'integer' }, o: { type: 'integer' } },
      });
      const idsOf = async (values: Readonly<Record<string, number | null>>): Promise<unknown> => {
        const rows: readonly { readonly a: number }[] = JSON.parse(await shared().rowsOf(limited, values));
        return rows.map(({ a }) => a);
      };
      expect(await idsOf({})).toEqual(ALL);
      expect(await idsOf({ n: 2, o: null })).toEqual([1, 2]);
      expect(await idsOf({ n: null, o: 48 })).toEqual([49, 50]);
      expect(await idsOf({ n: 0, o: 0 })).toEqual([]);
    });

    test('what counts rows is an integer that is not negative', async () => {
      const counting = (schema: ParamSchema): ReturnType<typeof capabilityOf> =>
        capabilityOf('select id as a from book order by id limit :v', { params: { v: schema } });
      const { verifier } = shared();
      const { capabilities } = await verifier.verify([counting({ type: 'integer', maximum: 9 })]);
      expect(capabilities[0]?.params[0]?.schema).toEqual({ type: 'integer', minimum: 0, maximum: 9 });
      for (const schema of [{ type: 'string' }, { type: 'integer', default: -1 }] as const) {
        expect((await verifier.verify([counting(schema)])).faults).toMatchObject([AT]);
      }
    });

    test.each(dialect.misplaced)('%s is refused for %j', async (condition, schema, message) => {
      const { faults } = await shared().verifier.verify([
        capabilityOf(`select id as a from book where ${condition}`, { params: { v: schema } }),
      ]);
      expect(faults).toMatchObject([{ ...AT, message: expect.stringContaining(message) }]);
    });
  });
}
