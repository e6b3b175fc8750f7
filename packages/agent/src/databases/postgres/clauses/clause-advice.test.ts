import { testDatabase } from '@svc/testkit';
import { describe, expect, test } from 'vitest';
import type { CapabilitySpec } from '../../../config/capability-file.ts';
import type { ClauseAdvice, VerifierDatabase } from '../../driver/driver.ts';
import { configOf } from '../capability.fixture.ts';
import { verifier } from '../verifier.ts';
import { capabilityOfSpec } from '../../conformance/clauses/lists.testing.ts';

const SCHEMA = `
  create table item (id int primary key, kind text, price numeric, made date not null);
  insert into item select i, 'kind ' || i, i % 100, date '2020-01-01' + i % 1000 from generate_series(1, 12000) i;
  create index on item (kind);
  create index on item (price desc, id desc);
  create table label (kind text primary key, title text);
  create table few (id int primary key, kind text);
  insert into few select i, 'kind ' || i from generate_series(1, 9000) i;
  analyze;
`;

async function adviceOn(
  asked: Pick<VerifierDatabase, 'findClauseAdvice'>,
  spec: Partial<CapabilitySpec>,
): Promise<readonly string[]> {
  const capability = capabilityOfSpec({
    sql: 'select id, kind, price, made from item',
    result: {
      id: { type: 'integer', nullable: false },
      kind: { type: 'string' },
      price: { type: 'number' },
      made: { type: 'date', nullable: false },
    },
    ...spec,
  });
  const advice = (await asked.findClauseAdvice?.([capability])) ?? [];
  return advice.map((one) => `${one.kind} ${subjectOf(one)}`.trim());
}

function subjectOf(advice: ClauseAdvice): string {
  return advice.kind === 'optional_filter' ? advice.param : advice.order;
}

describe('an optional filter', { tags: ['command:lint'] }, () => {
  const params = { x: { type: 'string' }, y: { type: 'string' } } as const;
  const found = (sql: string, more: CapabilitySpec['params'] = {}): Promise<readonly string[]> => {
    const used = Object.entries(params).filter(([name]) => sql.includes(`:${name}`));
    return adviceOn(verifier, { sql, params: { ...Object.fromEntries(used), ...more } });
  };

  test.each([
    ['select id from item where :x is null or kind = :x', 'x'],
    ['select id from item where (kind = :x or :x::text is null) and price > 1', 'x'],
    [
      'select id from item where price > 1 and (:y is null or kind like :y) and (:x is null or kind = :x)',
      'y x',
    ],
    ['select id from (select id from item where (:x is null or kind = :x)) i order by id', 'x'],
    ['with i as (select id from item where (:x is null or kind = :x)) select id from i order by id', 'x'],
  ])('%s', async (sql, names) => {
    expect(await found(sql)).toEqual(names.split(' ').map((name) => `optional_filter ${name}`));
  });

  test.each([
    'select id from item where kind = :x',
    // The other condition does not ask for the parameter.
    'select id from item where :x is null or price > 1',
    'select id from item where :x is not null or kind = :x',
    'select id from item where kind is null or kind = :x',
    // A filter cannot stand there.
    'select (:x is null or kind = :x) as a from item',
    'select id from item where not (:x is null or kind = :x)',
    'select id from item i where exists (select from label l where (:x is null or l.title = :x))',
  ])('is none: %s', async (sql) => {
    expect(await found(sql)).toEqual([]);
  });

  test('is none where its parameter always has a value, or is a filter already', async () => {
    const sql = 'select id from item where (:x is null or kind = :x)';
    expect(await found(sql, { x: { type: 'string', required: true } })).toEqual([]);
    expect(await found(sql, { x: { type: 'string', default: 'a' } })).toEqual([]);
    const filter = { type: 'string', filter: 'kind = :p' } as const;
    expect(await found('select id from item where {filters}', { p: filter })).toEqual([]);
  });
});

describe('a sort', { tags: ['command:lint'] }, () => {
  const ORDERS = {
    key: 'id',
    indexed: 'price desc',
    later: 'made, kind',
    kind: 'kind',
    turned: 'kind desc',
    last: 'kind desc nulls last',
  };
  const NULLABLE = ['nullable_sort kind', 'nullable_sort last'];

  test('whose nulls come last is named if it has pages, even without a database', async () => {
    expect(await adviceOn(verifier, { sort: ORDERS, paging: 'id' })).toEqual(NULLABLE);
    expect(await adviceOn(verifier, { sort: ORDERS })).toEqual([]);
  });

  test('is slow as its plan says', async () => {
    const server = await testDatabase({ sql: [SCHEMA] });
    const database = verifier.open(configOf(server));
    const UNINDEXED = ['unindexed_sort later', 'unindexed_sort last'];
    expect(await adviceOn(database, { sort: ORDERS })).toEqual(UNINDEXED);
    expect(await adviceOn(database, { sort: ORDERS, paging: 'id' })).toEqual([
      'unindexed_sort later',
      'nullable_sort kind',
      'unindexed_sort last',
      'nullable_sort last',
    ]);
    const joined = 'select i.id, i.kind, i.price, i.made from item i left join label l on l.kind = i.kind';
    expect(await adviceOn(database, { sql: joined, sort: ORDERS })).toEqual(UNINDEXED);
    const few = await adviceOn(database, {
      sql: 'select id, kind from few where {filters}',
      params: { p: { type: 'integer', filter: 'id = :p' } },
      result: { id: { type: 'integer', nullable: false }, kind: { type: 'string' } },
      sort: { key: 'id', kind: 'kind' },
      paging: 'id',
    });
    expect(few).toEqual([]);
    // One that always stands leaves few rows.
    const required = { type: 'integer', required: true, filter: 'id < :p and id > :p - 100' } as const;
    const where = 'select id, kind, price, made from item where {filters}';
    expect(await adviceOn(database, { sql: where, params: { p: required }, sort: ORDERS })).toEqual([]);
    const { required: _required, ...optional } = required;
    expect(await adviceOn(database, { sql: where, params: { p: optional }, sort: ORDERS })).toEqual(
      UNINDEXED,
    );
    await database.close();
  });
});
