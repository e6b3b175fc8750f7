import { expect, test } from 'vitest';
import type { Capability } from '../capabilities/model.ts';
import type { Fault } from '../capabilities/fault.ts';
import { verifier as duckdb } from './duckdb/verifier.ts';
import { verifier as mysql } from './mysql/verifier.ts';
import { capabilityOf } from './postgres/capability.fixture.ts';
import { verifier as postgres } from './postgres/verifier.ts';
import { verifier as sqlite } from './sqlite/verifier.ts';

type Warn = (capabilities: readonly Capability[]) => Promise<readonly Fault[]>;

const onPostgres: Warn = async (capabilities) => postgres.findWarnings(capabilities);
const onDuckdb: Warn = async (capabilities) => duckdb.findWarnings(capabilities);
const ENGINES: readonly (readonly [name: string, findWarnings: Warn])[] = [
  ['postgres', onPostgres],
  ['mysql', async (capabilities) => mysql.findWarnings(capabilities)],
  ['sqlite', async (capabilities) => sqlite.findWarnings(capabilities)],
  ['duckdb', onDuckdb],
];

async function warned(findWarnings: Warn, sql: string): Promise<readonly string[]> {
  const params = Object.fromEntries(
    [...sql.matchAll(/(?<!:):(\w+)/g)].map(([, name = '']) => [name, { type: 'string' as const }]),
  );
  const warnings = await findWarnings([capabilityOf(sql, { name: 'emps', params })]);
  return warnings.map(({ path, message }) => {
    const name = path.replace('capabilities.emps.params.', '');
    expect(message).toMatch(/^is a value, not a column, so as a key of [A-Z ]+ it [a-z ]+: /);
    expect(message).toContain(`case when :${name} = 'name' then name end`);
    return `${/of ([A-Z ]+) it/.exec(message)?.[1]} ${name}`;
  });
}

const EVERYWHERE: readonly (readonly [sql: string, warned: readonly string[]])[] = [
  ['select id from emp order by :sort', ['ORDER BY sort']],
  ['select id from emp order by (:sort) desc', ['ORDER BY sort']],
  ['select id from emp order by :a, id desc, :b', ['ORDER BY a', 'ORDER BY b']],
  ['select id from emp order by id, cast(:sort as char) asc limit 5', ['ORDER BY sort']],
  ["select id from emp order by lower(coalesce(:sort, 'id'))", ['ORDER BY sort']],
  ["select id from emp order by case when :sort = 'id' then 1 else 2 end", ['ORDER BY sort']],
  ['select count(*) as n from emp group by :p having count(*) > 1', ['GROUP BY p']],
  [
    'select id, row_number() over (partition by :p order by :o) as n from emp',
    ['PARTITION BY p', 'ORDER BY o'],
  ],
  ['select id from (select id from emp order by :sort) x order by id', ['ORDER BY sort']],
  ["select id from emp order by case when :sort = 'name' then name end", []],
  ['select id from emp where name = :name order by id limit 5', []],
  ['select id from emp order by id = :first desc, name', []],
  ['select id from emp order by (select max(id) from emp where name = :name), id', []],
  ["select id from emp where name = 'order by :sort'", []],
];

test.each(ENGINES.flatMap(([engine, find]) => EVERYWHERE.map((row) => [engine, find, ...row] as const)))(
  '%s: a value as a key is warned of',
  async (_, findWarnings, sql, expected) => {
    expect((await warned(findWarnings, sql)).toSorted()).toEqual(expected.toSorted());
  },
);

test.each([
  ['select distinct on (:p) id from emp', ['DISTINCT ON p']],
  ['select id from emp order by :sort::text', ['ORDER BY sort']],
  ['select id from emp order by :sort::text collate "C" nulls first', ['ORDER BY sort']],
  ['select string_agg(name, :sep order by :sort) as names from emp', ['ORDER BY sort']],
  ['select count(*) as n from emp group by rollup (:p)', ['GROUP BY p']],
  ['select id, sum(id) over w as n from emp window w as (order by :sort)', ['ORDER BY sort']],
  ['select distinct on (name) id from emp where id = :id::int order by name', []],
  ['select id from emp order by random() * :n::int', []],
  ['select id from emp order by name <-> :q', []],
])('on PostgreSQL: %s', async (sql, expected) => {
  expect(await warned(onPostgres, sql)).toEqual(expected);
});

test.each([
  ['select distinct on (:p) id from emp', ['DISTINCT ON p']],
  ['select id from emp order by :sort::text nulls last', ['ORDER BY sort']],
  ["select string_agg(name, ',' order by :sort) as names from emp", ['ORDER BY sort']],
])('on DuckDB: %s', async (sql, expected) => {
  expect(await warned(onDuckdb, sql)).toEqual(expected);
});
