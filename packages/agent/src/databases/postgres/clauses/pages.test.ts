import { testDatabase, type TestDatabase } from '@svc/testkit';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CapabilitySpec } from '../../../config/capability-file.ts';
import { DatabaseError } from '../../driver/errors.ts';
import { configOf, openPostgres, queryOf, type TestedDatabase } from '../capability.fixture.ts';
import { ask, capabilityOfSpec, walk } from '../../conformance/clauses/lists.testing.ts';

const SCHEMA = `
  create type mood as enum ('zealous', 'angry', 'calm');
  create collation blind_to_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
  create table thing (
    id int primary key, small int2, big int8, num numeric, single float4, double float8, flag bool, words text,
    short varchar(20), padded char(6), day date, at_time time, at_zone timetz, at_local timestamp, at_moment timestamptz,
    lasting interval, code uuid, feels mood, folded text collate blind_to_case
  );
  insert into thing
  select i, nullif(i % 5, 0), nullif(i % 4, 0) * 9007199254740993, (array[null, 'NaN', '1.10', '1.1', '-5', '1e30'])[1 + i % 6]::numeric,
    (array[null, 'NaN', '-Infinity', 'Infinity', '0.1', '-0'])[1 + i % 6]::float4,
    (array[null, 'NaN', '-Infinity', 'Infinity', '0.1', '1e-300'])[1 + i % 6]::float8,
    (array[null, true, false])[1 + i % 3], (array[null, '', 'a', 'B', 'ä', '''; --'])[1 + i % 6],
    (array[null, 'x', 'Y'])[1 + i % 3], (array[null, 'p', 'pp '])[1 + i % 3],
    (array[null, '0044-03-15 BC', 'infinity', '-infinity', '2024-02-29'])[1 + i % 5]::date,
    (array[null, '00:00', '23:59:59.999999'])[1 + i % 3]::time, (array[null, '12:00+02', '10:00Z'])[1 + i % 3]::timetz,
    (array[null, '0044-03-15 12:00 BC', 'infinity', '2024-03-31 02:30'])[1 + i % 4]::timestamp,
    (array[null, '0044-03-15 12:00Z BC', '-infinity', '2024-03-31 02:30:00.000001+02'])[1 + i % 4]::timestamptz,
    (array[null, '1 mon', '30 days', '-1 mon 2 days -03:04:05.000006', '100000 hours'])[1 + i % 5]::interval,
    (array[null, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '00000000-0000-0000-0000-000000000000'])[1 + i % 3]::uuid,
    (array[null, 'zealous', 'angry', 'calm'])[1 + i % 4]::mood, (array[null, 'a', 'A', 'b'])[1 + i % 4]
  from generate_series(1, 120) i;
`;
const COLUMNS =
  'small big num single double flag words short padded day at_time at_zone at_local at_moment lasting code feels folded'.split(
    ' ',
  );

let server: TestDatabase;
let database: TestedDatabase;
beforeAll(async () => {
  server = await testDatabase({ sql: [SCHEMA] });
  database = openPostgres(configOf(server));
});
afterAll(() => database.close());

/** Each as its text: what matters is which rows come. */
const FIELDS: CapabilitySpec['result'] = {
  id: { type: 'integer', nullable: false },
  ...Object.fromEntries(COLUMNS.map((name) => [name, { type: 'string' as const }])),
};

function listBy(sort: Readonly<Record<string, string>>, maxRows: number): CapabilitySpec {
  return {
    sql: `select id, ${COLUMNS.join(', ')} from thing`,
    sort,
    paging: 'id',
    result: FIELDS,
    policy: { max_rows: maxRows },
  };
}

async function idsBy(order: string): Promise<readonly number[]> {
  return (await server.query<{ id: number }>(`select id from thing order by ${order}`)).map(({ id }) => id);
}

describe('attack 6: pages by each type are the whole list', () => {
  test.each(COLUMNS)('%s', async (column) => {
    const capability = capabilityOfSpec(listBy({ asc: `${column} asc`, desc: `${column} desc` }, 16));
    const query = await queryOf(database, capability);
    for (const direction of ['asc', 'desc']) {
      const walked = await walk(query, capability, { sort: direction });
      expect(walked.map(({ id }) => id)).toEqual(await idsBy(`${column} ${direction}, id ${direction}`));
    }
  });

  test('by random orders of several fields, with nulls where they are told to be', async () => {
    const term = fc.record({
      column: fc.constantFrom(...COLUMNS),
      direction: fc.constantFrom('asc', 'desc'),
      nulls: fc.constantFrom('', ' nulls first', ' nulls last'),
    });
    const terms = fc.uniqueArray(term, { minLength: 1, maxLength: 4, selector: ({ column }) => column });
    await fc.assert(
      fc.asyncProperty(terms, fc.integer({ min: 5, max: 30 }), async (chosen, maxRows) => {
        const written = chosen
          .map(({ column, direction, nulls }) => `${column} ${direction}${nulls}`)
          .join(', ');
        const capability = capabilityOfSpec(listBy({ chosen: written }, maxRows));
        const query = await queryOf(database, capability);
        const walked = await walk(query, capability);
        expect(walked.map(({ id }) => id)).toEqual(await idsBy(`${written}, id ${chosen.at(-1)?.direction}`));
      }),
      { numRuns: 20 },
    );
  });

  test('whatever the settings of a session are', async () => {
    const role = `${server.name}_settings`;
    await server.execute(`create role ${role} login password 'r'; grant select on thing to ${role};
      alter role ${role} set datestyle = 'SQL, DMY'; alter role ${role} set intervalstyle = 'sql_standard';
      alter role ${role} set timezone = 'Asia/Kathmandu'; alter role ${role} set extra_float_digits = -2`);
    const other = openPostgres(configOf({ ...server, user: role, password: 'r' }));
    const sort = { days: 'day', moments: 'at_moment desc', lasting: 'lasting', doubles: 'double desc' };
    const capability = capabilityOfSpec(listBy(sort, 7));
    const [here, there] = [await queryOf(database, capability), await queryOf(other, capability)];
    for (const [name, terms] of Object.entries(sort)) {
      const rows: unknown[] = [];
      let cursor: string | undefined;
      // Each page over the other account.
      for (let page = 0; ; page += 1) {
        const query = page % 2 === 0 ? here : there;
        const answer = await ask(query, capability, { sort: name, ...(cursor && { cursor }) });
        rows.push(...answer.list.map(({ id }) => id));
        ({ cursor } = answer);
        if (!answer.truncated) break;
      }
      expect(rows).toEqual(await idsBy(`${terms}, id ${terms.endsWith('desc') ? 'desc' : 'asc'}`));
    }
    await other.close();
    await server.execute(`drop owned by ${role}; drop role ${role}`);
  });

  test('while another connection writes, each row that stays is seen once', async () => {
    await server.execute(`create table moving (id int primary key, size int not null);
      insert into moving select i * 2, i % 20 from generate_series(1, 400) i`);
    const capability = capabilityOfSpec({
      sql: 'select id, size from moving',
      sort: { by_size: 'size desc' },
      paging: 'id',
      result: { id: { type: 'integer', nullable: false }, size: { type: 'integer', nullable: false } },
      policy: { max_rows: 9 },
    });
    const query = await queryOf(database, capability);
    const seen: number[] = [];
    let cursor: string | undefined;
    for (let page = 0; ; page += 1) {
      const answer = await ask(query, capability, cursor === undefined ? {} : { cursor });
      seen.push(...answer.list.map(({ id }) => Number(id)).filter((id) => id % 2 === 0));
      await server.execute(
        `insert into moving values (${page * 2 + 1}, ${page % 20}); delete from moving where id = ${page * 2 - 5} and id % 2 = 1`,
      );
      ({ cursor } = answer);
      if (!answer.truncated) break;
    }
    expect(seen.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 400 }, (_, at) => (at + 1) * 2));
  });

  test('of groups, of a UNION, and after WITH queries', async () => {
    for (const [sql, order] of [
      ['select id % 40 as id, max(words) as words from thing group by id % 40', 'id desc'],
      ['select id, words from thing where id < 50 union all select -id, words from thing', 'id desc'],
      ['with t as (select id, words from thing) select id, words from t', 'id desc'],
      [
        'with t(id, words) as materialized (select id, words from thing), u as (table t) (select * from u)',
        'id desc',
      ],
    ] as const) {
      const capability = capabilityOfSpec({
        sql,
        sort: { last: 'id desc' },
        paging: ['id'],
        result: { id: { type: 'integer', nullable: false }, words: { type: 'string' } },
        policy: { max_rows: 11 },
      });
      const query = await queryOf(database, capability);
      const rows = await server.query<{ id: number }>(`select id from (${sql}) q order by ${order}`);
      expect((await walk(query, capability)).map(({ id }) => id)).toEqual(rows.map(({ id }) => id));
    }
  });

  test('cut by max_bytes, too', async () => {
    const spec = listBy({ chosen: 'words' }, 1000);
    const capability = capabilityOfSpec({ ...spec, policy: { max_rows: 1000, max_bytes: 3000 } });
    const query = await queryOf(database, capability);
    expect((await walk(query, capability)).map(({ id }) => id)).toEqual(await idsBy('words, id'));
  });
});

test('attack 7: where the field is not unique, each walk that would lose rows fails, and no other', async () => {
  await server.execute(`create table doubled (id int not null, size int not null);
    insert into doubled select i / 2, i % 3 from generate_series(1, 60) i`);
  const tally = { lost: 0, whole: 0 };
  for (const maxRows of [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 20, 30, 58, 59, 60, 61]) {
    const capability = capabilityOfSpec({
      sql: 'select id from doubled',
      paging: 'id',
      result: { id: { type: 'integer', nullable: false } },
      policy: { max_rows: maxRows },
    });
    const query = await queryOf(database, capability);
    const rows = (await server.query<{ id: number }>('select id from doubled order by id')).map(
      ({ id }) => id,
    );
    // A walk that leaves each border between two different values loses nothing.
    const breaks = (): boolean => {
      for (let at = 0; at + maxRows < rows.length;) {
        const last = rows[at + maxRows - 1];
        if (rows[at + maxRows] === last) return true;
        at += maxRows;
      }
      return false;
    };
    const walked = await walk(query, capability).catch((error: unknown) => error);
    if (breaks()) {
      tally.lost += 1;
      expect(walked).toMatchObject({ kind: 'tied', message: 'id' });
    } else {
      tally.whole += 1;
      expect(walked).toEqual(rows.map((id) => ({ id })));
    }
  }
  expect(Math.min(tally.lost, tally.whole)).toBeGreaterThan(2);
});

describe('attack 8: a cursor that was altered is refused, or gives rows of the list', () => {
  const spec: CapabilitySpec = {
    sql: 'select id, words, day from thing where {filters}',
    params: { least: { type: 'integer', filter: 'id >= :least' } },
    sort: { by_day: 'day desc, words', by_words: 'words' },
    paging: 'id',
    result: { id: { type: 'integer', nullable: false }, words: { type: 'string' }, day: { type: 'date' } },
    policy: { max_rows: 10 },
  };

  test('of another order, other arguments, another capability, or a file with other terms', async () => {
    const capability = capabilityOfSpec(spec);
    const query = await queryOf(database, capability);
    const { cursor } = await ask(query, capability, { least: 1 });
    const refusal = { kind: 'invalid_params', advice: 'cursor: does not belong to this call' };
    await expect(ask(query, capability, { least: 1, cursor, sort: 'by_words' })).rejects.toMatchObject(
      refusal,
    );
    await expect(ask(query, capability, { least: 2, cursor })).rejects.toMatchObject(refusal);
    await expect(ask(query, capability, { cursor })).rejects.toMatchObject(refusal);
    const renamed = capabilityOfSpec(spec, 'other');
    await expect(ask(await queryOf(database, renamed), renamed, { least: 1, cursor })).rejects.toMatchObject(
      refusal,
    );
    const changed = capabilityOfSpec({ ...spec, sort: { by_day: 'day, words' } });
    await expect(ask(await queryOf(database, changed), changed, { least: 1, cursor })).rejects.toMatchObject(
      refusal,
    );
    // The same file after a restart.
    const again = openPostgres(configOf(server));
    expect((await ask(await queryOf(again, capability), capability, { least: 1, cursor })).list).toHaveLength(
      10,
    );
    await again.close();
  });

  test('with random changes', async () => {
    const capability = capabilityOfSpec(spec);
    const query = await queryOf(database, capability);
    const { cursor = '' } = await ask(query, capability);
    const read: unknown[] = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    const digest = read.pop();
    const rows = new Set((await server.query<{ id: number }>('select id from thing')).map(({ id }) => id));
    const value = fc.oneof(
      fc.string(),
      fc.constantFrom(null, '', '1', '2024-02-30', '-infinity', "'; drop table thing; --", 1, {}, ['a']),
      fc.string({ unit: 'binary' }),
    );
    const altered = fc.oneof(
      fc.array(value, { maxLength: 5 }).map((values) => JSON.stringify([...values, digest])),
      fc.tuple(value, value, value).map((values) => JSON.stringify([...values, digest])),
      fc.string(),
      fc.json(),
      fc
        .tuple(fc.nat(cursor.length - 1), fc.constantFrom('A', '_', '-', '9'))
        .map(([at, char]) =>
          Buffer.from(cursor.slice(0, at) + char + cursor.slice(at + 1), 'base64url').toString(),
        ),
    );
    const tally = { refused: 0, answered: 0 };
    await fc.assert(
      fc.asyncProperty(altered, async (text) => {
        const changed = Buffer.from(text).toString('base64url');
        try {
          const { list } = await ask(query, capability, { cursor: changed === '' ? 'A' : changed });
          tally.answered += 1;
          for (const { id } of list) expect(rows.has(Number(id))).toBe(true);
        } catch (error) {
          if (!(error instanceof DatabaseError)) throw error;
          tally.refused += 1;
          expect(error).toMatchObject({ kind: 'invalid_params', advice: expect.stringMatching(/^cursor: /) });
        }
      }),
      { numRuns: 600 },
    );
    expect(await server.query('select count(*)::int as n from thing')).toEqual([{ n: 120 }]);
    expect(tally.refused).toBeGreaterThan(100);
  });
});

describe('faults of orders', () => {
  const base: CapabilitySpec = {
    sql: 'select id, words, code from thing',
    result: { id: { type: 'integer', nullable: false }, words: { type: 'string' }, code: { type: 'string' } },
  };
  test.each(['order by id', 'limit 5', 'offset 5', 'fetch first 5 rows only'])(
    'an outermost %s beside sort',
    async (clause) => {
      const spec = { ...base, sql: `${base.sql} ${clause}`, sort: { first: 'id' } };
      const { faults } = await database.verify([capabilityOfSpec(spec)]);
      expect(faults).toMatchObject([
        { path: 'capabilities.list.sql', message: expect.stringContaining('beside `sort` or `paging`') },
      ]);
    },
  );

  test('a type that no cursor keeps', async () => {
    const spec: CapabilitySpec = {
      sql: "select id, inet '10.0.0.1' as address from thing",
      sort: { by_address: 'address' },
      paging: 'id',
      result: { id: { type: 'integer', nullable: false }, address: { type: 'string' } },
    };
    const { faults } = await database.verify([capabilityOfSpec(spec)]);
    expect(faults).toMatchObject([{ path: 'capabilities.list.sort.by_address' }]);
    const { paging: _paging, ...unpaged } = spec;
    expect((await database.verify([capabilityOfSpec(unpaged)])).faults).toEqual([]);
  });
});
