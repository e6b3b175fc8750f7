import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CapabilitySpec } from '../../../config/capability-file.ts';
import { DatabaseError } from '../../driver/errors.ts';
import type { Suite, TestedDriver } from '../tested-driver.testing.ts';
import { ask, capabilityOfSpec, walk } from './lists.testing.ts';

const BOOK: CapabilitySpec['result'] = { id: { type: 'integer', nullable: false } };

export function describePages({ dialect, shared }: Suite): void {
  const { columns, unkept, choosesNulls } = dialect.lists;

  async function faultsOf(spec: CapabilitySpec): Promise<readonly string[]> {
    const { faults } = await shared().verifier.verify([capabilityOfSpec(spec)]);
    return faults.map(({ path, message }) => `${path}: ${message}`);
  }

  /** The ids of `listed` in that order, as a plain statement gives them. */
  async function idsBy(driver: TestedDriver, order: string): Promise<readonly number[]> {
    const spec = { sql: `select id from listed order by ${order}`, result: BOOK, policy: { max_rows: 1000 } };
    const capability = capabilityOfSpec(spec);
    const { list } = await ask(await driver.prepare(capability), capability);
    return list.map(({ id }) => Number(id));
  }

  function listBy(sort: Readonly<Record<string, string>>, maxRows: number): CapabilitySpec {
    const texts = columns.map((name) => [name, { type: 'string' as const }] as const);
    return {
      sql: `select id, ${columns.join(', ')} from listed`,
      sort,
      paging: 'id',
      result: { ...BOOK, ...Object.fromEntries(texts) },
      policy: { max_rows: maxRows },
    };
  }

  describe('orders and pages', () => {
    test('by each column, both ways, are the whole list', async () => {
      const driver = shared();
      for (const column of columns) {
        const capability = capabilityOfSpec(listBy({ asc: `${column} asc`, desc: `${column} desc` }, 16));
        const query = await driver.prepare(capability);
        for (const direction of ['asc', 'desc']) {
          const walked = await walk(query, capability, { sort: direction });
          const expected = await idsBy(driver, `${column} ${direction}, id ${direction}`);
          expect([column, direction, walked.map(({ id }) => id)]).toEqual([column, direction, expected]);
        }
      }
    });

    test('by random orders of several fields', async () => {
      const driver = shared();
      const term = fc.record({
        column: fc.constantFrom(...columns),
        direction: fc.constantFrom('asc', 'desc'),
        nulls: choosesNulls ? fc.constantFrom('', ' nulls first', ' nulls last') : fc.constant(''),
      });
      const terms = fc.uniqueArray(term, { minLength: 1, maxLength: 4, selector: ({ column }) => column });
      await fc.assert(
        fc.asyncProperty(terms, fc.integer({ min: 5, max: 30 }), async (chosen, maxRows) => {
          const written = chosen
            .map(({ column, direction, nulls }) => `${column} ${direction}${nulls}`)
            .join(', ');
          const capability = capabilityOfSpec(listBy({ chosen: written }, maxRows));
          const walked = await walk(await driver.prepare(capability), capability);
          expect(walked.map(({ id }) => id)).toEqual(
            await idsBy(driver, `${written}, id ${chosen.at(-1)?.direction}`),
          );
        }),
        { numRuns: 25 },
      );
    });

    test('of groups, of a UNION, after WITH queries, and cut by max_bytes', async () => {
      const driver = shared();
      for (const sql of [
        'select half as id, max(id) as most from listed group by half',
        'select id, half as most from listed where id < 50 union all select -id, half from listed',
        'with t as (select id, half from listed) select id, half as most from t',
        'with t (id, half) as (select id, half from listed), u as (select * from t) select id, half as most from u',
      ]) {
        const spec: CapabilitySpec = {
          sql,
          sort: { last: 'id desc' },
          paging: ['id'],
          result: { ...BOOK, most: { type: 'integer' } },
        };
        const whole = capabilityOfSpec({ ...spec, policy: { max_rows: 1000 } });
        const { list } = await ask(await driver.prepare(whole), whole);
        expect(list.length).toBeGreaterThan(50);
        for (const policy of [{ max_rows: 11 }, { max_rows: 1000, max_bytes: 1024 }]) {
          const capability = capabilityOfSpec({ ...spec, policy });
          expect(await walk(await driver.prepare(capability), capability)).toEqual(list);
        }
      }
    });

    test('where the field is not unique, each walk that would lose rows fails, and no other', async () => {
      const driver = shared();
      const tally = { failed: 0, whole: 0 };
      for (const field of ['half', 'name'] as const) {
        const spec: CapabilitySpec = {
          sql: 'select half, name from listed',
          paging: field,
          result: {
            half: { type: 'integer', nullable: false },
            name: { type: 'string', nullable: false },
          },
        };
        const whole = capabilityOfSpec({ ...spec, policy: { max_rows: 1000 } });
        const { list } = await ask(await driver.prepare(whole), whole);
        const halves = list.map(({ half }) => half);
        for (const maxRows of [1, 2, 3, 4, 5, 7, 30, 60, 61, 119, 120]) {
          const capability = capabilityOfSpec({ ...spec, policy: { max_rows: maxRows } });
          const query = await driver.prepare(capability);
          const borders = Array.from(
            { length: Math.ceil(halves.length / maxRows) - 1 },
            (_, at) => (at + 1) * maxRows,
          );
          const loses = borders.some((at) => halves[at] === halves[at - 1]);
          const walked = await walk(query, capability).catch((error: unknown) => error);
          tally[loses ? 'failed' : 'whole'] += 1;
          if (loses) expect(walked).toMatchObject({ kind: 'tied', message: field });
          else expect(walked).toHaveLength(halves.length);
        }
      }
      expect(Math.min(tally.failed, tally.whole)).toBeGreaterThan(4);
    });

    test('a cursor that was altered is refused, or gives rows of the list', async () => {
      const spec = listBy({ by: columns.slice(0, 3).join(', ') }, 10);
      const capability = capabilityOfSpec(spec);
      const query = await shared().prepare(capability);
      const { cursor = '' } = await ask(query, capability);
      const read: unknown[] = JSON.parse(Buffer.from(cursor, 'base64url').toString());
      const digest = read.pop();
      const value = fc.oneof(
        fc.string(),
        fc.constantFrom(null, '', '1', 'i1', 't', 'r1e5', '2024-02-30', "'; drop table book; --", 1, {}, [
          'a',
        ]),
        fc.string({ unit: 'binary' }),
      );
      const altered = fc.oneof(
        fc.array(value, { maxLength: 5 }).map((values) => JSON.stringify([...values, digest])),
        fc
          .tuple(
            ...read.map((own) =>
              fc.oneof({ weight: 1, arbitrary: value }, { weight: 6, arbitrary: fc.constant(own) }),
            ),
          )
          .map((values) => JSON.stringify([...values, digest])),
        fc.string(),
        fc.json(),
      );
      const tally = { refused: 0, answered: 0 };
      await fc.assert(
        fc.asyncProperty(altered, async (text) => {
          const changed = Buffer.from(text).toString('base64url');
          try {
            const { list } = await ask(query, capability, { cursor: changed === '' ? 'A' : changed });
            tally.answered += 1;
            for (const { id } of list) expect(Number(id) >= 1 && Number(id) <= 120).toBe(true);
          } catch (error) {
            if (!(error instanceof DatabaseError)) throw error;
            tally.refused += 1;
            expect(error).toMatchObject({
              kind: 'invalid_params',
              advice: expect.stringMatching(/^cursor: /),
            });
          }
        }),
        { numRuns: 300 },
      );
      expect(tally.refused).toBeGreaterThan(50);
      expect(tally.answered).toBeGreaterThan(5);
    });

    test('a cursor of another order or of other arguments is refused', async () => {
      const params = { least: { type: 'integer', filter: 'id >= :least' } } as const;
      const spec = listBy({ one: `${columns[0]}`, other: `${columns[0]} desc` }, 10);
      const capability = capabilityOfSpec({ ...spec, sql: `${spec.sql} where {filters}`, params });
      const query = await shared().prepare(capability);
      const { cursor } = await ask(query, capability, { least: 1 });
      const refusal = { kind: 'invalid_params', advice: 'cursor: does not belong to this call' };
      for (const given of [{ least: 2 }, {}, { least: 1, sort: 'other' }])
        await expect(ask(query, capability, { ...given, cursor })).rejects.toMatchObject(refusal);
      expect((await ask(query, capability, { least: 1, cursor })).list).toHaveLength(10);
    });

    test('a type that no cursor keeps is refused, but may be ordered by', async () => {
      for (const expression of unkept) {
        const spec: CapabilitySpec = {
          sql: `select id, ${expression} as thing from other, book`,
          sort: { by: 'thing' },
          paging: 'id',
          result: { ...BOOK, thing: { type: 'string' } },
        };
        expect(await faultsOf(spec)).toEqual([
          expect.stringMatching(/^capabilities\.list\.sort\.by: names `thing`, whose type no cursor keeps/),
        ]);
        const { paging: _paging, ...unpaged } = spec;
        expect(await faultsOf(unpaged)).toEqual([]);
      }
    });

    test.each(['order by id', 'limit 5', 'limit 5 offset 5'])(
      'an outermost %s beside sort',
      async (clause) => {
        for (const sql of [`select id from book ${clause}`, `(select id from book ${clause})`]) {
          const faults = await faultsOf({ sql, result: BOOK, sort: { first: 'id' } });
          // Some databases take no parentheses around a whole statement.
          expect(faults.join()).toMatch(/^capabilities\.list\.sql: /);
        }
        expect(
          await faultsOf({ sql: `select id from book ${clause}`, result: BOOK, sort: { first: 'id' } }),
        ).toEqual([expect.stringContaining('beside `sort` or `paging`')]);
      },
    );

    test.runIf(!choosesNulls)('nulls cannot be placed', async () => {
      const faults = await faultsOf({ ...listBy({ by: `${columns[0]} nulls last` }, 10) });
      expect(faults).toEqual([
        expect.stringMatching(/sort\.by: has `nulls last`, which this database does not take/),
      ]);
    });
  });
}
