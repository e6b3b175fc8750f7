import fc from 'fast-check';
import { loadModule, parseSync } from 'libpg-query';
import { beforeAll, describe, expect, test } from 'vitest';
import type { ParamSchema } from '../../../../capabilities/model.ts';
import { capabilityOf } from '../../capability.fixture.ts';
import { readStatement } from './read-statement.ts';
import { fingerprint } from './tree.ts';

beforeAll(loadModule);

const integer: ParamSchema = { type: 'integer' };

function rewritten(sql: string, params: Readonly<Record<string, ParamSchema>>): string {
  const read = readStatement(capabilityOf(sql, { params }));
  if (!read.ok) throw new Error(read.faults.map(({ message }) => message).join('; '));
  return read.read.rewritten.text.replaceAll(/ +/g, ' ');
}

function faultsOf(sql: string, params: Readonly<Record<string, ParamSchema>> = {}): string {
  const read = readStatement(capabilityOf(sql, { params }));
  return read.ok ? '' : read.faults.map(({ path, message }) => `${path} ${message}`).join('\n');
}

describe('what is a parameter', () => {
  test.each([
    ['a cast behind it', 'select :n::int', 'select ($1::pg_catalog.int8) ::int'],
    ['no space before it', 'select 1 as x where 1=:n', 'select 1 as x where 1= ($1::pg_catalog.int8) '],
    [
      'an assignment',
      'select make_interval(days:=:n)',
      'select make_interval(days:= ($1::pg_catalog.int8) )',
    ],
    ['twice the same', 'select :n, :n', 'select ($1::pg_catalog.int8) , ($1::pg_catalog.int8) '],
    ['a keyword in front', 'select 1 limit :n', 'select 1 limit ($1::pg_catalog.int8) '],
    ['behind text of several bytes', "select 'äöü€😀', :n", "select 'äöü€😀', ($1::pg_catalog.int8) "],
    [
      'in an array constructor',
      'select array[[:n], [:n]]',
      'select array[[ ($1::pg_catalog.int8) ], [ ($1::pg_catalog.int8) ]]',
    ],
    ['in parentheses in a subscript', 'select a[(:n)] from t', 'select a[( ($1::pg_catalog.int8) )] from t'],
    [
      'after a comment that a carriage return ends',
      'select 1 -- no\r, :n',
      'select 1 -- no\r, ($1::pg_catalog.int8) ',
    ],
    [
      'after a nested comment',
      'select /* a /* :x */ :y */ :n',
      'select /* a /* :x */ :y */ ($1::pg_catalog.int8) ',
    ],
    [
      'a minus in front, which no text replacement may turn into a comment',
      'select 1 -:n',
      'select 1 - ($1::pg_catalog.int8) ',
    ],
  ])('%s', (_what, sql, expected) => {
    expect(rewritten(sql, { n: integer })).toBe(expected);
  });

  test('each declared type has its own', () => {
    const types = ['integer', 'number', 'string', 'boolean', 'date', 'datetime', 'uuid', 'object'] as const;
    const params = Object.fromEntries(types.map((type) => [type, { type }]));
    const sql = `select ${types.map((type) => `:${type}`).join(',')}, :list`;
    expect(rewritten(sql, { ...params, list: { type: 'array', items: { type: 'uuid' } } })).toBe(
      'select ($1::pg_catalog.int8) , ($2::pg_catalog.numeric) , ($3::pg_catalog.text) , ($4::pg_catalog.bool) , ($5::pg_catalog.date) , ($6::pg_catalog.timestamptz) , ($7::pg_catalog.uuid) , ($8::pg_catalog.jsonb) , ($9::pg_catalog.uuid[]) ',
    );
  });
});

test.each([
  "select ':n'",
  String.raw`select E'\':n'`,
  "select U&'\\0041:n'",
  'select $t$ :n $t$, $$:n$$',
  'select 1 -- :n',
  'select 1 /* :n */',
  'select 1 as "a:n"',
  "select '1'::int",
  'select a[1:2], a[:], a[1 : n] from t',
  'select a[1:n(2)], a[:n (a)], a[1:t.n] from t',
])('nothing is a parameter in %s', (sql) => {
  expect(rewritten(sql, {})).toBe(sql.replace(/ -- :n$| \/\* :n \*\/$/, ''));
});

describe('what is refused', () => {
  test.each([
    [
      'select a[1:n] from t',
      /subscript could also be the end of a slice: write \(:n\) .* or a space behind the colon/,
    ],
    ['select a[:n] from t', /write \(:n\)/],
    ['select array[a[:n]] from t', /write \(:n\)/],
    ['select $1, :n', /uses \$1: write parameters as :name/],
    ['select :n, :other', /uses :other, which is not declared/],
    ['select :n, :N', /uses :N, which is not declared/],
    ['select :n, :"n"', /uses :"n", which is not declared/],
    ['select 1', /params\.n is not used/],
    ["select '%:n%'", /params\.n is not used: .* quoted text.* write '%' \|\| :n \|\| '%'/],
    ['select $$:n$$', /params\.n is not used: .* quoted text/],
    ["select ':n2', ':nn'", /params\.n is not used: write/],
    ['select 1 -- where id = :n', /params\.n is not used: :n in a comment/],
    ["select :n, 'open", /check its quotes/],
    ['select :n \0', /NUL/],
    ['select :n, \ud800', /surrogates/],
    [' -- nothing', /is empty/],
    ['select :n from', /is not valid SQL/],
    ['select 1 :n', /is not valid SQL/],
    ['select :n from (select 1)) q, (select 2', /is not valid SQL/],
    ['select :n; select 2', /must be one SELECT/],
    ['select upper:n', /has :n where its value would become the argument.* write .*f\(:n\)/],
    ['select upper :n', /become the argument/],
    ['select upper/**/:n', /become the argument/],
    ['select upper -- f\n:n', /become the argument/],
    ['select count:n', /become the argument/],
    ['select "f":n', /become the argument/],
    ['select pg_catalog.upper:n', /become the argument/],
    ['select pg_sleep:n', /become the argument/],
    ['select coalesce:n', /become the argument/],
    ['select date :n', /become the argument.* as in :n::date/],
    ['select 1::numeric:n', /become the argument/],
    ['select 1 where 1 in :n', /become the argument.* in \(:n\)/],
    ['select 1 where 1 = any :n', /become the argument/],
    ['select 1 from generate_series:n', /become the argument/],
    ['select 1 from t tablesample system:n', /become the argument/],
    ['select 1 group by rollup:n', /become the argument/],
    ['values:n', /become the argument/],
    ["select json_object('a':n)", /is not valid SQL/],
    ['select interval :n', /is not valid SQL/],
    ['select :n into t', /remove INTO/],
    ['select :n from t for update', /FOR UPDATE/],
    ['select 1 from (select :n from t for share) s', /FOR SHARE/],
    ['with x as (delete from t returning *) select :n from x', /does not only read/],
    ['insert into t values (:n)', /must be one SELECT/],
    ['explain select :n', /must be one SELECT/],
    ["select query_to_xml('delete from t', true, true, :n)", /calls query_to_xml/],
    ["select set_config('transaction_read_only', 'off', :n)", /calls set_config/],
    ['select pg_catalog.pg_advisory_lock(:n)', /calls pg_advisory_lock/],
  ])('%s', (sql, reason) => {
    expect(faultsOf(sql, { n: integer })).toMatch(reason);
  });

  test('the parameter that would become an argument is named', () => {
    expect(faultsOf('select :n, upper(:n), upper:m', { n: integer, m: integer })).toMatch(/has :m where/);
  });

  test('all faults of parameters are told at once', () => {
    expect(faultsOf('select :x, :y, $3', { n: integer, m: integer }).split('\n')).toHaveLength(5);
  });
});

test.each([
  'select upper(:n)',
  'select upper (:n)',
  'select upper((:n))',
  'select all:n',
  'select distinct:n',
  'select 1 as x,:n',
  'select case when:n>0 then:n else:n end',
  'select 1 where 1 in(:n,:n)',
  'select 1 where 1=any(array[:n])',
  'select 1 where not:n=1 and:n between:n and:n or:n is null',
  'select:n::int::text',
  'select (:n)::text, -:n, - -:n',
  'select (array[1,2])[(:n)], (array[:n])[1]',
  'select row(:n), (:n,:n)',
  'select make_interval(days=>:n), make_interval(days:=:n)',
  'select 1 operator(pg_catalog.+) :n',
  'select 1 order by:n limit:n offset:n',
  'select 1 offset:n rows fetch first:n rows only',
  'select sum(1) over(order by 1 rows between:n preceding and:n following)',
  'select substring(a from:n for:n) from t',
  "select 'a' like:n escape:n",
  'select now() at time zone:n',
  'select a[(:n):(:n)] from t',
  'values(:n),(:n)',
])('a value stands by itself in %s', (sql) => {
  expect(faultsOf(sql, { n: integer })).toBe('');
});

test.each([
  'values (1)',
  'table t',
  'with x as (select 1) select * from x',
  'select 1; -- done',
  '(select 1) union select 2;;',
])('%s is one reading statement', (sql) => {
  expect(faultsOf(sql)).toBe('');
});

/** Source text and what the parameters in it must become, side by side. */
const piece = fc.oneof(
  fc.constantFrom('p', 'q', 'limit_').map((name) => [`:${name}`, `$${name}$`]),
  fc
    .constantFrom(
      "':p'",
      String.raw`E'\':p'`,
      '$$:p$$',
      '$t$ :p $t$',
      "'é:p'",
      '1 /* :p */',
      '2 -- :p\n',
      '3 -- :p\r',
      '":p"',
      "'1'::int",
      'a[1:2]',
    )
    .map((text) => [text, text]),
);

test('parameters are found among everything that looks like one', () => {
  fc.assert(
    fc.property(
      fc.array(piece, { minLength: 1, maxLength: 8 }),
      fc.constantFrom(',', ' , ', '||', '\n+\n'),
      (pieces, between) => {
        const names = [
          ...new Set(
            pieces.flatMap(([source, expected]) => (source === expected ? [] : [source?.slice(1) ?? ''])),
          ),
        ];
        const params = Object.fromEntries(names.map((name) => [name, { type: 'string' } as const]));
        const join = (part: 0 | 1): string =>
          `select ${pieces.map((texts) => texts[part]).join(between)} from t`;
        const read = readStatement(capabilityOf(join(0), { params }));
        const expected = join(1).replaceAll(
          /\$(p|q|limit_)\$/g,
          (_, name: string) => `($${names.indexOf(name) + 1}::pg_catalog.text)`,
        );
        expect(read.ok && fingerprint(read.read.inspected.tree)).toBe(selectTreeOf(expected));
      },
    ),
  );
});

function selectTreeOf(sql: string): string {
  return fingerprint(parseSync(sql).stmts?.[0]?.stmt)
    .replace(/^\{"SelectStmt":/, '')
    .replace(/\}$/, '');
}

const fragments = fc.constantFrom(
  'select ',
  ':p',
  ':',
  'p',
  ' ',
  '[',
  ']',
  '(',
  ')',
  ',',
  "'",
  '"',
  '$',
  '$1',
  '$$',
  '--',
  '/*',
  '*/',
  '\n',
  '\r',
  '::',
  ':=',
  ';',
  'E',
  'U&',
  'int',
  '1',
  'é',
  '\\',
  'array',
  'upper',
  '"f"',
  'in',
  'values',
  'from t',
);

test('whatever the text, it is refused or its parameters are where the parser sees them', () => {
  fc.assert(
    fc.property(fc.array(fragments, { maxLength: 14 }), (parts) => {
      const sql = `select ${parts.join('')}`;
      const read = readStatement(
        capabilityOf(sql, { params: sql.includes(':p') ? { p: { type: 'integer' } } : {} }),
      );
      if (!read.ok) return;
      const { text, places } = read.read.rewritten;
      const bytes = Buffer.from(text, 'utf8');
      expect(read.read.inspected.parameters).toHaveLength(places.length);
      for (const place of places)
        expect(bytes.toString('utf8', place.offset, place.offset + 21)).toBe('$1::pg_catalog.int8) ');
    }),
    { numRuns: 2000 },
  );
});
