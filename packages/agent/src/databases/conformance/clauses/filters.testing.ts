import { describe, expect, test } from 'vitest';
import type { CapabilitySpec } from '../../../config/capability-file.ts';
import type { Suite } from '../tested-driver.testing.ts';
import { ask, capabilityOfSpec } from './lists.testing.ts';

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
  'id in (select id from book tablesample system (50) where id = :p)',
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

export function describeFilters({ dialect, shared }: Suite): void {
  async function faultsOf(spec: CapabilitySpec): Promise<readonly string[]> {
    const { faults } = await shared().verifier.verify([capabilityOfSpec(spec)]);
    return faults.map(({ path, message }) => `${path}: ${message}`);
  }

  function filtered(filter: string, rest: Partial<CapabilitySpec> = {}): CapabilitySpec {
    const params = { p: { type: 'integer', filter } } as const;
    return { sql: 'select id from book where {filters}', params, result: BOOK, ...rest };
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
}
