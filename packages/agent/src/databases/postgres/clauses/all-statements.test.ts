import { testDatabase, type TestDatabase } from '@svc/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CapabilitySpec } from '../../../config/capability-file.ts';
import type { Capability, Param } from '../../../capabilities/model.ts';
import { filtersOf, plainCapability } from '../../clauses/compose.ts';
import { configOf, openPostgres, type TestedDatabase } from '../capability.fixture.ts';
import { choose } from '../../clauses/choose.ts';
import { assembledQuery } from '../execute/assembled-queries.ts';
import type { PreparedQuery } from '../execute/prepared-query.ts';
import { capabilityOfSpec } from '../../conformance/clauses/lists.testing.ts';

const SCHEMA = `
  create table customer (id int primary key, name text not null, region text, vip bool not null);
  create table invoice (id int primary key, customer_id int not null references customer, status text not null,
    issued_on date not null, paid_at timestamptz, total numeric(10, 2) not null, tags text[], doc jsonb);
  create table guarded (id int primary key, owner text not null);
  alter table guarded enable row level security;
  create policy mine on guarded using (owner = current_setting('svc.api_key_name', true));
  create view open_invoice as select * from invoice where paid_at is null;
  create function is_large(numeric) returns bool language sql immutable as 'select $1 > 100';
  create function who() returns text language sql stable as 'select current_setting(''svc.api_key_name'', true)';
  insert into customer select i, 'c' || i, case when i % 3 > 0 then 'r' || i % 5 end, i % 9 = 0 from generate_series(1, 300) i;
  insert into invoice select i, 1 + i % 300, 's' || i % 4, date '2024-01-01' + i % 365, case when i % 2 = 0 then now() end,
    i % 997, array['t' || i % 3], jsonb_build_object('n', i) from generate_series(1, 20000) i;
  insert into guarded select i, 'k' || i % 2 from generate_series(1, 200) i;
  analyze;
`;

const INTEGER = { type: 'integer' } as const;
const TEXT = { type: 'string' } as const;
const ID = { id: { type: 'integer', nullable: false } } as const;

/** What planning, judging and typing could make of them differs: relations, functions, types, lists, joins, views, policies. */
const TEN: readonly CapabilitySpec[] = [
  {
    sql: 'select id, status from invoice where {filters}',
    params: {
      customer: { ...INTEGER, filter: 'customer_id = :customer' },
      from: { type: 'date', filter: 'issued_on >= :from' },
      to: { type: 'date', filter: 'issued_on < :to' },
      unpaid: { type: 'boolean', filter: '(paid_at is null) = :unpaid' },
    },
    sort: { newest: 'id desc', by_status: 'status, id' },
    result: { ...ID, status: TEXT },
  },
  {
    sql: 'select i.id, c.name from invoice i join customer c on c.id = i.customer_id where {filters} and i.total > 0',
    params: {
      region: { ...TEXT, filter: 'c.region = :region' },
      name: { ...TEXT, filter: "c.name ilike '%' || :name || '%'" },
      ids: { type: 'array', items: INTEGER, filter: 'i.id in (:ids)' },
    },
    result: { ...ID, name: TEXT },
  },
  {
    sql: 'with i as (select id, total from invoice where {filters}) select id, total from i',
    params: {
      least: { type: 'number', filter: 'total >= :least' },
      vip: {
        type: 'boolean',
        filter: 'exists (select from customer c where c.id = invoice.customer_id and c.vip = :vip)',
      },
    },
    sort: { largest: 'total desc', first: 'id' },
    result: { ...ID, total: { type: 'number' } },
  },
  {
    sql: 'select customer_id as id, count(*) as n from invoice where {filters} group by customer_id',
    params: {
      status: { ...TEXT, filter: 'status = :status' },
      day: { type: 'date', filter: 'issued_on = :day' },
      tag: { ...TEXT, filter: ':tag = any (tags)' },
    },
    sort: { most: 'n desc, id' },
    result: { ...ID, n: INTEGER },
  },
  {
    sql: 'select id, total from open_invoice where {filters}',
    params: {
      status: { ...TEXT, filter: 'status = :status' },
      large: { type: 'boolean', filter: 'is_large(total) = :large' },
    },
    result: { ...ID, total: { type: 'number' } },
  },
  {
    sql: 'select id, total from invoice where {filters}',
    params: {
      mine: { ...TEXT, filter: 'status = :mine or who() = :mine' },
      customer: { ...INTEGER, filter: 'customer_id = :customer' },
      large: { type: 'boolean', filter: 'is_large(total) = :large' },
    },
    sort: { largest: 'total desc, id' },
    result: { ...ID, total: { type: 'number' } },
  },
  {
    sql: 'select id from invoice where {filters}',
    params: {
      owned: { ...TEXT, filter: 'id in (select g.id from guarded g where g.owner = :owned)' },
      n: { ...INTEGER, filter: "(doc ->> 'n')::int = :n" },
    },
    result: ID,
  },
  {
    sql: 'select id from (select id, customer_id from invoice where {filters}) i where customer_id > :above',
    params: {
      above: { ...INTEGER, required: true },
      status: { ...TEXT, filter: 'status = :status' },
      tenant: { ...INTEGER, required: true, filter: 'customer_id % 7 = :tenant' },
    },
    sort: { first: 'id', last: 'id desc' },
    result: ID,
  },
  {
    sql: 'select id, doc from invoice where {filters}',
    params: {
      has: { type: 'object', filter: 'doc @> :has' },
      between: { type: 'date', filter: 'issued_on between :between and :between + 30' },
      not_status: { ...TEXT, filter: 'not status = :not_status' },
    },
    result: { ...ID, doc: { type: 'object' } },
  },
  {
    sql: 'select id, issued_on from invoice where {filters} and status <> :other',
    params: {
      other: TEXT,
      same: { ...TEXT, filter: 'status = coalesce(:same, :other)' },
      before: { type: 'date', filter: 'issued_on < :before' },
      weekday: { ...INTEGER, filter: 'extract(dow from issued_on) = :weekday' },
      sum: { type: 'number', filter: 'total + id > :sum' },
    },
    sort: { oldest: 'issued_on, id', newest: 'issued_on desc, id' },
    result: { ...ID, issued_on: { type: 'date' } },
  },
];

let server: TestDatabase;
let database: TestedDatabase;
beforeAll(async () => {
  server = await testDatabase({ sql: [SCHEMA] });
  database = openPostgres(configOf(server));
});
afterAll(() => database.close());

function subsets(params: readonly Param[]): readonly (readonly Param[])[] {
  return Array.from({ length: 2 ** params.length }, (_, set) =>
    params.filter((_param, at) => ((set >> at) & 1) === 1),
  );
}

/** As its author would have written this one statement. */
function asWritten(capability: Capability, chosen: readonly Param[], order: string | undefined): Capability {
  const plain = plainCapability(capability, chosen);
  const terms = capability.clauses?.orders.find(({ name }) => name === order)?.terms;
  if (terms === undefined) return plain;
  const orderBy = terms.map(({ field, isDescending }) => `svc_q."${field}" ${isDescending ? 'desc' : 'asc'}`);
  const isAfterWith = /^with (.*?\)) (select .*)$/s.exec(plain.sql);
  const [head, main] = isAfterWith ? [`with ${isAfterWith[1]} `, isAfterWith[2]] : ['', plain.sql];
  return { ...plain, sql: `${head}select * from (\n${main}\n) svc_q order by ${orderBy.join(', ')}` };
}

test.each(TEN.map((spec) => [spec.sql, spec] as const))(
  'all statements of %s, verified in full, are as none, each and all have told',
  async (_sql, spec) => {
    const capability = capabilityOfSpec({ ...spec, policy: { max_rows: 50 } });
    const { prepared, faults } = await database.verify([capability]);
    expect(faults).toEqual([]);
    const [assembled] = prepared;
    if (assembled?.assembled === undefined) throw new Error('nothing was assembled');
    const orders = capability.clauses?.orders.map(({ name }) => name) ?? [];
    const reasons = new Set<string>();
    let statements = 0;
    for (const chosen of subsets(filtersOf(capability))) {
      if (filtersOf(capability).some((param) => param.required && !chosen.includes(param))) continue;
      for (const order of orders.length > 0 ? orders : [undefined]) {
        const written = asWritten(capability, chosen, order);
        const alone = await database.verify([written]);
        expect(alone.faults).toEqual([]);
        const [query] = alone.prepared;
        const values = Object.fromEntries([
          ...chosen.map(({ name }) => [name, 1] as const),
          ...(order === undefined ? [] : [['sort', order] as const]),
        ]);
        const made = assembledQuery(
          assembled,
          assembled.assembled,
          choose(assembled.capability, assembled.assembled, values),
        );
        expect(boundAlike(made)).toEqual(boundAlike(query));
        expect(selectOf(made)).toBe(selectOf(query));
        reasons.add(query?.transaction?.form === 'own' ? query.transaction.reason : 'shared');
        statements += 1;
      }
    }
    expect(statements).toBeGreaterThan(3);
    // It shares only if each of them may.
    const { transaction } = assembled;
    if (transaction?.form === 'own') expect(reasons).toContain(transaction.reason);
    else expect(reasons).toEqual(new Set(['shared']));
  },
);

/** The author's part of a statement, without what makes the answer of it. */
function selectOf(query: PreparedQuery | undefined): string | undefined {
  const text = query?.own.whole ?? '';
  return /with q as \(\n(.*)\n\) select/s.exec(text)?.[1]?.replaceAll(/\s+/g, ' ');
}

/** What each parameter is bound as. */
function boundAlike(query: PreparedQuery | undefined): readonly unknown[] {
  return (query?.params ?? []).map(({ param, casts, type }) => [param.name, casts, type?.sql]);
}
