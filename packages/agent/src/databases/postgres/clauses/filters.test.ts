import { testDatabase, type TestDatabase } from '@svc/testkit';
import fc from 'fast-check';
import { loadModule } from 'libpg-query';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CapabilitySpec } from '../../../config/capability-file.ts';
import { configOf, openPostgres, queryOf, type TestedDatabase } from '../capability.fixture.ts';
import { readAssembled } from '../verify/clauses/read-assembled.ts';
import { ask, capabilityOfSpec } from '../../conformance/clauses/lists.testing.ts';

const SCHEMA = `
  create table item (id int primary key, kind text, size int, tags text[], doc jsonb, tenant text not null);
  insert into item select i, 'kind ' || i % 3, i % 10, array['t' || i % 4], jsonb_build_object('n', i), 'tenant ' || i % 2
  from generate_series(1, 100) i;
  create table other (id int primary key, size int);
  create table secret (id int, owner text);
  create sequence numbers;
  create function leak(text) returns bool language plpgsql cost 0.0001 as $$ begin raise notice '%', $1; return true; end $$;
  create function writes() returns bool language plpgsql as $$ begin insert into other values (1, 1); return true; end $$;
`;

let server: TestDatabase;
let database: TestedDatabase;
beforeAll(async () => {
  await loadModule();
  server = await testDatabase({ sql: [SCHEMA] });
  database = openPostgres(configOf(server));
});
afterAll(() => database.close());

const RESULT: CapabilitySpec['result'] = { id: { type: 'integer' } };

function withFilter(filter: string, rest: Partial<CapabilitySpec> = {}): CapabilitySpec {
  return {
    sql: 'select id from item where {filters}',
    params: { p: { type: 'integer', filter } },
    result: RESULT,
    ...rest,
  };
}

/** `path: message` of each fault. */
async function faultsOf(spec: CapabilitySpec): Promise<readonly string[]> {
  const { faults } = await database.verify([capabilityOfSpec(spec)]);
  return faults.map(({ path, message }) => `${path}: ${message}`);
}

const AT_FILTER = /^capabilities\.list\.params\.p\.filter: /;

describe('attack 1: what is more or less than one condition is refused at its key', () => {
  test.each([
    'size = :p) or (true',
    'size = :p)',
    '(size = :p',
    'size = :p or (true))--',
    'size = :p -- rest',
    'size = :p --',
    '-- size\nsize = :p',
    'size = :p /* rest',
    'size = :p /* rest */',
    'size /**/ = :p',
    "size = :p and kind = '",
    'size = :p and "kind',
    'size = :p and kind = $$x',
    'size = :p and kind = $a$x$b$',
    'size = :p;',
    'size = :p; drop table item',
    'size = :p union select 1',
    'size = :p) union (select 1',
    'size = :p except select 1',
    'size = :p intersect select 1',
    'size = :p group by id',
    'size = :p having true',
    'size = :p order by id',
    'size = :p limit 1',
    'size = :p offset 1',
    'size = :p fetch first 1 row only',
    'size = :p for update',
    'size = :p window w as ()',
    'size = :p as x',
    'size = :p x',
    'size = :p, true',
    'size, :p',
    ':p, size',
    'size = :p and $1 = 1',
    'size = $1',
    'size = :p }',
    '{ size = :p',
    'size = :p {filters}',
    'where size = :p',
    'and size = :p',
    'size = :p and',
    'or size = :p',
    'size = :p or',
    'not',
    '',
    'select size = :p',
    'size = :p into x',
    'size = :p returning id',
    'size = :p\\g',
    'size = :q',
    'size = 1',
    "':p'::text = kind",
    '":p" = size',
    "size = :p and E'\\' = kind",
    'size = :p::',
    'case when size = :p then true',
    'size = :p end',
    'size in (:p',
    'size between :p',
  ])('%s', async (filter) => {
    const faults = await faultsOf(withFilter(filter));
    expect(faults.length).toBeGreaterThan(0);
    for (const fault of faults) expect(fault).toMatch(AT_FILTER);
  });

  test('and of random texts only those that the parser reads as one stand in the statement', () => {
    const words =
      'size = :p ( ) or and not true null , ; -- /* */ \' " $$ union select from where group by as x 1 in between case when then end is { } [ ] :: text'.split(
        ' ',
      );
    const tally = { taken: 0, refused: 0 };
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...words), { minLength: 1, maxLength: 9 }), (texts) => {
        const filter = texts.join(' ');
        const capability = capabilityOfSpec(withFilter(filter));
        const read = readAssembled(capability);
        tally[read.ok ? 'taken' : 'refused'] += 1;
        if (!read.ok) return;
        // In parentheses, before and after others, it changes nothing of what stands around it.
        const around = readAssembled(capabilityOfSpec(withFilter(`(${filter})`)));
        expect(around.ok && around.read.inspected.parameters.length).toBe(
          read.read.inspected.parameters.length,
        );
      }),
      { numRuns: 3000 },
    );
    expect(tally.refused).toBeGreaterThan(1000);
  });
});

describe('attack 2: operators inside a filter do not reach out of it', () => {
  test.each<[filter: string, condition: string]>([
    ['size = :p or true', 'true'],
    ['true or size = :p', 'true'],
    ['not size = :p', 'not size = 3'],
    ['size between :p and 5', 'size between 3 and 5'],
    ['case when size = :p then true else false end', 'size = 3'],
    ['exists (select from item i where i.id = item.id and i.size = :p)', 'size = 3'],
    ['size in (select s.size from item s where s.size = :p)', 'size = 3'],
    ['(size, id) > (:p, 50)', '(size, id) > (3, 50)'],
    ["doc @> jsonb_build_object('n', :p)", 'doc @> \'{"n": 3}\''],
    ["kind ~ ('^kind [' || :p || ']$')", "kind = 'kind 3'"],
    ['size is distinct from :p', 'size is distinct from 3'],
    ["'{' || size || '}' = '{' || :p || '}' -- ".replace(' -- ', ''), 'size = 3'],
  ])('%s', async (filter, condition) => {
    const spec = withFilter(filter, {
      sql: "select id from item where {filters} and kind <> 'kind 1' and tenant = 'tenant 1'",
      policy: { max_rows: 200 },
    });
    const capability = capabilityOfSpec(spec);
    const query = await queryOf(database, capability);
    const ids = (await ask(query, capability, { p: 3 })).list.map(({ id }) => Number(id));
    const rows = await server.query<{ id: number }>(
      `select id from item where (${condition}) and kind <> 'kind 1' and tenant = 'tenant 1'`,
    );
    expect(new Set(ids)).toEqual(new Set(rows.map(({ id }) => id)));
  });
});

describe('attack 3: the filters stand only where no outer query is seen, and with AND', () => {
  const SIZE = { p: { type: 'integer', filter: 'size = :p' } } as const;
  test.each([
    'select id from item where true or {filters}',
    'select id from item where {filters} or true',
    'select id from item where not {filters}',
    'select id from item where ({filters}) is null',
    'select id from item where {filters} = true',
    'select id from item where {filters}::text = kind',
    'select id from item where size between 1 and 2 and {filters}',
    'select id from item where {filters} and true or false',
    'select i.id from item i join item j on {filters}',
    'select id from item group by id having {filters}',
    "select id from item where '{filters}' = kind",
    'select id from item where true -- {filters}',
    'select id from item where true /* where {filters} */',
    'select id, {filters} as b from item',
    'select id from item where exists (select from item j where {filters})',
    'select id from item where id in (select id from item where {filters})',
    'select i.id from item i, lateral (select id from item where {filters}) j',
    'select (select max(id) from item where {filters}) as id',
    'select id from item where {filters} union all select id from item',
    'select id from item union all select id from item where {filters}',
    'with recursive r as (select id from item where {filters} union all select id from r) select id from r',
    'select id from item where (select {filters})',
    'select id from item where "{filters}"',
    'select id from item where $${filters}$$ = kind',
    'select id from item where case when {filters} then true end',
    'select count(*) filter (where {filters}) as id from item',
    'select sum(id) over (order by {filters}) as id from item',
    'select id from item order by {filters}',
  ])('%s', async (sql) => {
    const faults = await faultsOf({ sql, params: SIZE, result: RESULT });
    expect(faults).toEqual([
      expect.stringMatching(/^capabilities\.list\.sql: must have \{filters\} directly after/),
    ]);
  });

  test.each([
    'select id from item where {filters}',
    'select id from item where {filters} and tenant is not null order by id limit 5',
    'select id from item WHERE\n  {filters}\n  and (true or false)',
    'select id from (select id, size from item where {filters}) i where i.size > 0',
    'select i.id from other o right join (select id from item where {filters}) i on o.id = i.id',
    'with i as (select id from item where {filters} and true) select id from i',
    'select min(id) as id from item where {filters} group by kind having count(*) > 1',
    'with i as (select id from item where {filters}) select id from i union select id from other',
  ])('taken: %s', async (sql) => {
    const capability = capabilityOfSpec({ sql, params: SIZE, result: RESULT, policy: { max_rows: 200 } });
    const query = await queryOf(database, capability);
    for (const p of [undefined, 3]) {
      const ids = (await ask(query, capability, { p })).list.map(({ id }) => Number(id));
      const condition = p === undefined ? '(true)' : '(size = 3)';
      const rows = await server.query<{ id: number }>(sql.replace('{filters}', condition));
      expect(new Set(ids)).toEqual(new Set(rows.map(({ id }) => id)));
    }
  });
});

describe('attack 4: a filter only reads, and gives the same answer for the same row', () => {
  test.each([
    "nextval('numbers') = :p",
    'size = :p and pg_sleep(1) is null',
    "1 = 2 and nextval('numbers') = :p",
    'max(size) = :p',
    'row_number() over () = :p',
    'generate_series(1, :p) = 1',
    'size = (with w as (insert into other values (1, 1) returning id) select id from w) + :p',
    'size = (select id from other where id = :p for update)',
    'writes() and size = :p',
    'random() < :p',
    'size = :p and clock_timestamp() is not null',
    "set_config('a.b', 'c', false) = :p::text",
    'exists (select max(item.size) from other where id = :p)',
  ])('%s', async (filter) => {
    const faults = await faultsOf(withFilter(filter));
    expect(faults.length).toBeGreaterThan(0);
    for (const fault of faults) expect(fault).toMatch(AT_FILTER);
    expect(await server.query('select * from other')).toEqual([]);
  });
});

test('a filter that answers differently is refused also where the rest of the statement does', async () => {
  const sql = 'select id, random() as luck from item where {filters}';
  const policy = { allow_functions: ['leak'] };
  const faults = await faultsOf(withFilter('leak(kind) and size = :p', { sql, policy }));
  expect(faults).toEqual([
    'capabilities.list.params.p.filter: calls something that may answer differently for the same row: a filter must not',
  ]);
  expect(await faultsOf(withFilter('upper(kind) = kind or size = :p', { sql, policy }))).toEqual([]);
});

describe('attack 5: what one filter cannot know is a fault there', () => {
  test('an ambiguous column, a column that is not there, a type that does not fit', async () => {
    const spec: CapabilitySpec = {
      sql: 'select i.id from item i join other o on o.id = i.id where {filters}',
      params: {
        p: { type: 'integer', filter: 'size = :p' },
        missing: { type: 'integer', filter: 'weight = :missing' },
        typed: { type: 'date', filter: 'i.size = :typed' },
        fine: { type: 'integer', filter: 'i.size = :fine' },
      },
      result: RESULT,
    };
    const paths = (await faultsOf(spec)).map((fault) => fault.split(': ')[0]);
    expect(paths).toEqual(['p', 'missing', 'typed'].map((name) => `capabilities.list.params.${name}.filter`));
  });

  test('the alias of another filter is none of this one', async () => {
    const faults = await faultsOf({
      sql: 'select id from item where {filters}',
      params: {
        q: { type: 'integer', filter: 'exists (select from other o where o.id = :q)' },
        p: { type: 'integer', filter: 'o.size = :p' },
      },
      result: RESULT,
    });
    expect(faults).toEqual([expect.stringMatching(AT_FILTER)]);
  });

  test('one parameter of two types is told', async () => {
    const faults = await faultsOf({
      sql: 'select id from item where {filters}',
      params: {
        p: { type: 'integer', filter: 'size = :p' },
        q: { type: 'string', filter: 'kind = :q and added_on = :p' },
      },
      result: RESULT,
    });
    expect(faults).toEqual([expect.stringContaining('capabilities.list.params.q.filter: ')]);
  });
});

describe('attack 9: a filter that must stand cannot fall away', () => {
  test.each([{ required: true }, { from: 'principal.claims.tenant' }, { default: 'tenant 1' }])(
    'with %o',
    async (standing) => {
      const spec: CapabilitySpec = {
        sql: 'select id, tenant from item where {filters}',
        params: {
          tenant: { type: 'string', filter: 'tenant = :tenant', ...standing },
          size: { type: 'integer', filter: 'size = :size' },
        },
        result: { id: { type: 'integer' }, tenant: { type: 'string' } },
        policy: { max_rows: 200 },
      };
      const capability = capabilityOfSpec(spec);
      const query = await queryOf(database, capability);
      for (const tenant of [null, '', 'tenant 1'])
        for (const size of [undefined, 3]) {
          const values = { tenant, size: size ?? null };
          const { list } = await ask(query, capability, values);
          const asked = tenant ?? (standing.default === undefined ? null : 'tenant 1');
          for (const row of list) expect(row['tenant']).toBe(asked);
          const expected = asked === 'tenant 1' ? (size === undefined ? 50 : 10) : 0;
          expect(list).toHaveLength(expected);
        }
    },
  );
});

test('attack 10: many sets in turn give the right rows, and a connection keeps at most 32 of their statements', async () => {
  const one = openPostgres(configOf(server, { maxConnections: 1 }));
  const names = ['a', 'b', 'c', 'd', 'e', 'f'];
  const spec: CapabilitySpec = {
    sql: 'select id from item where {filters} order by id',
    params: Object.fromEntries(
      names.map((name, at) => [name, { type: 'integer' as const, filter: `size <> :${name} + ${at}` }]),
    ),
    result: RESULT,
    policy: { max_rows: 200 },
  };
  const capability = capabilityOfSpec(spec);
  const query = await queryOf(one, capability);
  for (let round = 0; round < 2; round += 1) {
    for (let set = 0; set < 64; set += 1) {
      const given = Object.fromEntries(names.flatMap((name, at) => ((set >> at) & 1 ? [[name, 1]] : [])));
      const { list } = await ask(query, capability, given);
      const sizes = new Set(names.flatMap((_, at) => ((set >> at) & 1 ? [1 + at] : [])));
      expect(list.length).toBe(100 - 10 * sizes.size);
    }
  }
  const look = capabilityOfSpec(
    {
      sql: "select count(*) as id from pg_prepared_statements where name like 'svc.list.%'",
      result: RESULT,
    },
    'look',
  );
  const [row] = (await ask(await queryOf(one, look), look)).list;
  expect(row?.['id']).toBe(32);
  await one.close();
});

test('attack 11: a leaky filter sees no row that row-level security hides', async () => {
  const own = await testDatabase({ sql: [SCHEMA] });
  const role = `${own.name}_reader`;
  await own.execute(`create role ${role} login password 'reader'; grant select on secret to ${role};
    grant execute on function leak(text) to ${role};
    insert into secret values (1, '${role}'), (2, 'other');
    alter table secret enable row level security; create policy mine on secret using (owner = current_user)`);
  const reader = openPostgres(configOf({ ...own, user: role, password: 'reader' }));
  const capability = capabilityOfSpec({
    sql: 'select id from secret where {filters}',
    params: { p: { type: 'string', filter: 'leak(owner) and owner <> :p' } },
    result: RESULT,
    policy: { allow_functions: ['leak'] },
  });
  const { faults } = await reader.verify([capability]);
  // Leak is volatile: a filter must not be.
  expect(faults.map(({ path }) => path)).toEqual(['capabilities.list.params.p.filter']);
  await own.execute('alter function leak(text) stable');
  const query = await queryOf(reader, capability);
  expect((await ask(query, capability, { p: 'x' })).list).toEqual([{ id: 1 }]);
  await reader.close();
  await own.execute(`drop owned by ${role}; drop role ${role}`);
});

test('a list, and a filter that uses another parameter, which is null where it is absent', async () => {
  const capability = capabilityOfSpec({
    sql: 'select id from item where {filters}',
    params: {
      ids: { type: 'array', items: { type: 'integer' }, filter: 'id in (:ids)' },
      least: { type: 'integer', filter: 'size >= :least and size <= coalesce(:most, 4)' },
      most: { type: 'integer' },
    },
    result: RESULT,
    policy: { max_rows: 200 },
  });
  const query = await queryOf(database, capability);
  const ids = async (given: Readonly<Record<string, unknown>>): Promise<readonly number[]> =>
    (await ask(query, capability, given)).list.map(({ id }) => Number(id)).toSorted((a, b) => a - b);
  expect(await ids({ ids: [3, 5, 1000] })).toEqual([3, 5]);
  expect(await ids({ ids: [] })).toEqual([]);
  expect(await ids({ ids: [2, 3, 4, 5, 6, 7], least: 4 })).toEqual([4]);
  expect(await ids({ ids: [2, 3, 4, 5, 6, 7], least: 4, most: 6 })).toEqual([4, 5, 6]);
});
