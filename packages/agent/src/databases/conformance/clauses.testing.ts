import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CapabilitySpec } from '../../config/capability-file.ts';
import { DatabaseError } from '../driver/errors.ts';
import { ask, capabilityOfSpec, walk } from './lists.testing.ts';
import type { Suite, TestedDriver } from './tested-driver.testing.ts';

const BOOK: CapabilitySpec['result'] = { id: { type: 'integer', nullable: false } };
const AT_FILTER = /^capabilities\.list\.params\.p\.filter: /;

/** More or less than one condition, wherever it stands. */
const NO_CONDITIONS = [
  'id = :p) or (true',
  'id = :p)',
  '(id = :p',
  'id = :p or (true))--',
  'id = :p -- rest',
  '-- id\nid = :p',
  'id = :p /* rest',
  'id /**/ = :p',
  "id = :p and title = '",
  'id = :p and `title',
  'id = :p;',
  'id = :p; drop table book',
  'id = :p union select 1',
  'id = :p) union (select 1',
  'id = :p group by id',
  'id = :p having true',
  'id = :p order by id',
  'id = :p limit 1',
  'id = :p as x',
  'id = :p x',
  'id = :p, true',
  'id, :p',
  ':p, id',
  'id = ?',
  'id = $1',
  'id = :p }',
  '{ id = :p',
  'where id = :p',
  'and id = :p',
  'id = :p and',
  'or id = :p',
  'id = :p or',
  'not',
  '',
  'select id = :p',
  'select id from book where id = :p',
  'id = :p into x',
  'id = :q',
  'id = 1',
  "title = ':p'",
  'case when id = :p then true',
  'id = :p end',
  'id in (:p',
  'id between :p',
  'id = :p for update',
  'count(*) = :p',
  'nosuch = :p',
  'row_number() over () = :p',
];

/** Places of which the rest of the statement could make something else than one more condition. */
const NO_PLACES = [
  'select id from book where id = 1 or {filters}',
  'select id from book where {filters} or id = 1',
  'select id from book where {filters} and id = 1 or id = 2',
  'select id from book where {filters} and sample or id = 1',
  'select id from book where {filters} and lock or id = 1',
  'select id from book where {filters} and id > procedure or id = 1',
  'select id from book where not {filters}',
  'select id from book where ({filters})',
  'select id from book where id between 1 and {filters}',
  'select id from book where id = 1 and {filters}',
  'select id from book where id in (select id from book where {filters})',
  'select id from book where exists (select 1 from book b where {filters})',
  'select (select max(id) from book where {filters}) as id from book',
  'select id, (select 1 from book where {filters}) from book',
  'select b.id from book b join book c on {filters}',
  'select b.id from book b join book c on (select true from book where {filters})',
  'select id from book group by id having {filters}',
  'select id from book union select id from book where {filters}',
  'select id from book where {filters} union all select 0',
  "select id from book where title = '{filters}'",
  'select id from book where true -- {filters}',
  'select {filters} as id from book',
  'select id from book order by {filters}',
  'select id from (select id from book where {filters} union select 0) q',
];

export function describeClauses({ dialect, shared }: Suite): void {
  const { columns, unkept, choosesNulls } = dialect.lists;

  async function faultsOf(spec: CapabilitySpec): Promise<readonly string[]> {
    const { faults } = await shared().verifier.verify([capabilityOfSpec(spec)]);
    return faults.map(({ path, message }) => `${path}: ${message}`);
  }

  function filtered(filter: string, rest: Partial<CapabilitySpec> = {}): CapabilitySpec {
    const params = { p: { type: 'integer', filter } } as const;
    return { sql: 'select id from book where {filters}', params, result: BOOK, ...rest };
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

  describe('filters', () => {
    test.each(NO_CONDITIONS)('what is no condition is refused at its key: %s', async (filter) => {
      const faults = await faultsOf(filtered(filter));
      expect(faults.length).toBeGreaterThan(0);
      for (const fault of faults) expect(fault).toMatch(AT_FILTER);
    });

    test('what may answer differently for the same row is refused at its key', async () => {
      const { changing } = dialect.lists;
      expect(changing.length).toBeGreaterThan(1);
      for (const expression of changing) {
        for (const filter of [
          `id = :p and ${expression} is not null`,
          `id in (select :p from book where ${expression} is not null)`,
        ]) {
          expect(await faultsOf(filtered(filter))).toEqual([
            expect.stringMatching(
              /^capabilities\.list\.params\.p\.filter: calls \S+, which may answer differently for the same row: a filter must not$/,
            ),
          ]);
        }
      }
    });

    test.each(NO_PLACES)('where they could be something else they are refused: %s', async (sql) => {
      const faults = await faultsOf(filtered('1 = :p', { sql }));
      expect(faults.join()).toMatch(/^capabilities\.list\.sql: must have \{filters\} directly after `where`/);
    });

    test.each([
      'select id from book where {filters}',
      'select id from book where {filters} and id < 20 and id between 1 and 100',
      'select id from (select id from book where {filters}) q where id > 0 or id < 0',
      'select q.id from book b join (select id from book where {filters} and id > 0) q on q.id = b.id',
      'with q as (select id from book where {filters} group by id) select id from q union all select 1000 from q',
      'with r as (select 1 as x) select id from book, r where {filters} order by id limit 500',
    ])('with none, each and both set the rows are those of the conditions: %s', async (sql) => {
      const driver = shared();
      const params = {
        least: { type: 'integer', filter: 'id >= :least' },
        either: { type: 'integer', filter: 'id = :either or id = :either + 1' },
      } as const;
      const capability = capabilityOfSpec({ sql, params, result: BOOK });
      const query = await driver.prepare(capability);
      for (const given of [{}, { least: 10 }, { either: 9 }, { least: 10, either: 9 }]) {
        const conditions = [
          ...('least' in given ? ['(id >= 10)'] : []),
          ...('either' in given ? ['(id = 9 or id = 9 + 1)'] : []),
        ];
        const plain = capabilityOfSpec({
          sql: sql.replace('{filters}', conditions.length === 0 ? '(1 = 1)' : conditions.join(' and ')),
          result: BOOK,
        });
        const expected = await ask(await driver.prepare(plain), plain);
        expect((await ask(query, capability, given)).list).toEqual(expected.list);
        expect(expected.count).toBeGreaterThan(0);
      }
    });

    test('lists, texts and the same parameter in several places', async () => {
      const driver = shared();
      const params = {
        ids: { type: 'array', items: { type: 'integer' }, filter: 'id in (:ids)' },
        title: { type: 'string', filter: "(title = :title or title = concat(:title, '')) and id > :more" },
        more: { type: 'integer', filter: 'id > :more' },
      } as const;
      const sql = 'select id from book where {filters} and id < 40';
      const capability = capabilityOfSpec({
        sql,
        params,
        result: BOOK,
        sort: { by: 'id desc' },
        paging: 'id',
      });
      const query = await driver.prepare(capability);
      const idsOf = async (given: Readonly<Record<string, unknown>>): Promise<readonly unknown[]> =>
        (await ask(query, capability, given)).list.map(({ id }) => id);
      expect(await idsOf({ ids: [1, 5, 45] })).toEqual([5, 1]);
      expect(await idsOf({ ids: [] })).toEqual([]);
      expect(await idsOf({ ids: [1, 5, 9], more: 4 })).toEqual([9, 5]);
      expect(await idsOf({ title: 'book 7', more: 4 })).toEqual([7]);
      // A parameter of another filter is null where it is absent.
      expect(await idsOf({ title: 'book 7' })).toEqual([]);
      expect(await idsOf({ more: 37 })).toEqual([39, 38]);
    });

    test('a filter that always stands stands without a value, too', async () => {
      const params = {
        p: { type: 'integer', required: true, filter: 'id = :p' },
        q: { type: 'integer', filter: 'id > :q' },
      } as const;
      const capability = capabilityOfSpec(filtered('', { params }));
      const query = await shared().prepare(capability);
      expect((await ask(query, capability, { p: 3 })).list).toEqual([{ id: 3 }]);
      expect((await ask(query, capability, {})).list).toEqual([]);
    });

    test('forty sets of filters in turn and at once give the rows of each', async () => {
      const names = ['a', 'b', 'c', 'd', 'e', 'f'] as const;
      const params = Object.fromEntries(
        names.map((name, at) => [
          name,
          { type: 'integer' as const, filter: `id >= :${name} or id = ${at - 100}` },
        ]),
      );
      const capability = capabilityOfSpec({ ...filtered(''), params, policy: { max_rows: 1 }, paging: 'id' });
      const query = await shared().prepare(capability);
      const sets = Array.from({ length: 40 }, (_, set) =>
        Object.fromEntries(names.flatMap((name, at) => ((set & (1 << at)) === 0 ? [] : [[name, set + at]]))),
      );
      for (let round = 0; round < 3; round += 1) {
        const answers = await Promise.all(sets.map((given) => ask(query, capability, given)));
        const expected = sets.map((given) => Math.max(1, ...Object.values(given)));
        expect(answers.map(({ list }) => list[0]?.['id'])).toEqual(expected);
      }
    });
  });

  describe('every statement', () => {
    const shapes = [
      'select id, title from book where {filters}',
      'select id, title from book where {filters} and id < 40',
      'select b.id, b.title from book b join (select id from book where {filters}) q on q.id = b.id',
      'with q as (select id, title from book where {filters}) select id, title from q where id > 2',
      'select max(id) as id, min(title) as title from book where {filters} group by title',
      'select id, title from (select * from book where {filters} and id < 45) q where id > 1 or id < 0',
      'select distinct id, title from book where {filters}',
      "select id, concat(title, '!') as title from book where {filters}",
      'select id, case when id > 9 then title end as title from book where {filters}',
      "select id, title from book where {filters} and title not like '%11'",
    ];
    const filters = {
      least: 'id >= :least',
      among: 'id in (:among)',
      part: "title like concat('%', :part, '%')",
      either: 'id = :either or id = :either + 1',
    } as const;
    const types = {
      least: { type: 'integer' },
      among: { type: 'array', items: { type: 'integer' } },
      part: { type: 'string' },
      either: { type: 'integer' },
    } as const;
    const values = { least: 5, among: [4, 5, 6, 7, 8, 30], part: '7', either: 6 };
    const names = ['least', 'among', 'part', 'either'] as const;

    test.each(shapes)('verified alone has no fault, and gives the same rows: %s', async (sql) => {
      const driver = shared();
      const result = { ...BOOK, title: { type: 'string' } } as const;
      const orders = { last: 'id desc', title: 'title, id' };
      const params = Object.fromEntries(
        names.map((name) => [name, { ...types[name], filter: filters[name] }]),
      );
      const capability = capabilityOfSpec({ sql, params, sort: orders, paging: 'id', result });
      const query = await driver.prepare(capability);
      let rows = 0;
      for (let set = 0; set < 2 ** names.length; set += 1) {
        const chosen = names.filter((_name, at) => (set & (1 << at)) !== 0);
        const condition = chosen.map((name) => `(${filters[name]})`).join(' and ') || '(1 = 1)';
        for (const [sort, terms] of Object.entries(orders)) {
          const [, head = '', main = sql] = /^(with .*?\) )(select .*)$/.exec(sql) ?? [];
          const order = terms
            .split(', ')
            .map((term) => `svc_q.${term}`)
            .join(', ');
          const written = `${head}select * from (${main}) svc_q order by ${order}`;
          const alone = capabilityOfSpec({
            sql: written.replace('{filters}', () => condition),
            params: Object.fromEntries(chosen.map((name) => [name, types[name]])),
            result,
          });
          const given = Object.fromEntries(chosen.map((name) => [name, values[name]]));
          const expected = await ask(await driver.prepare(alone), alone, given);
          expect((await ask(query, capability, { ...given, sort })).list).toEqual(expected.list);
          rows += expected.count;
        }
      }
      expect(rows).toBeGreaterThan(100);
    });
  });

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
