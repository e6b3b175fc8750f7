import { testDatabase, type TestDatabase } from '@svc/testkit';
import { beforeAll, expect, test } from 'vitest';
import { fieldFor } from '../../../proposals/from-catalog/column-types.ts';
import type { CatalogTable } from '../../driver/catalog.ts';
import { catalogSource } from '../catalog-source.ts';

let database: TestDatabase;
let tables: ReadonlyMap<string, CatalogTable>;

beforeAll(async () => {
  database = await testDatabase();
  await database.execute(`
    create domain amount as numeric(6);
    create domain labels as jsonb check (jsonb_typeof(value) = 'array');
    create table product (id bigint primary key, tags jsonb not null, old json, labels labels,
      list jsonb check (jsonb_typeof(list) = 'array'), dims json check (json_typeof(dims) = 'object'),
      late jsonb, either jsonb check (jsonb_typeof(either) = 'array' or id = 1),
      amount amount not null, pages numeric(6) not null, price numeric not null, weight float8 not null,
      made date not null, sold timestamp not null, paid timestamptz not null, name text not null, open bool not null);
    alter table product add constraint late check (jsonb_typeof(late) = 'array') not valid;
    create table parent (id int not null, name text not null);
    create table child () inherits (parent);
    create materialized view empty_view as select id from product with no data;
    create materialized view full_view as select id from product;
    create view over_empty as select id from empty_view;
    create view over_view as select id from over_empty;
    create view over_full as select id from full_view;
    create foreign data wrapper nothing;
    create server elsewhere foreign data wrapper nothing;
    create foreign table far (id int) server elsewhere;
    create view over_far as select id from far;
    create table parted (id int not null) partition by range (id);
    create table part_1 partition of parted for values from (0) to (9);
    create foreign table part_2 partition of parted for values from (9) to (99) server elsewhere;
    create view over_parted as select id from parted;
    create table mother (id int);
    create foreign table daughter () inherits (mother) server elsewhere`);
  const found = catalogSource.target(database.url, {});
  if (!found.ok) throw new Error(found.problem);
  const catalog = await catalogSource.read(found.target, 30_000);
  tables = new Map(catalog.tables.map((table) => [table.name, table]));
});

test('a field has a type that gives every value, and may be null where the column holds what no such value is', () => {
  const fields = tables.get('product')?.columns.map((column) => {
    const { type, nullable } = fieldFor(column.name, column);
    return [column.name, type, nullable];
  });
  expect(fields).toEqual([
    ['id', 'integer', false],
    ['tags', 'string', undefined],
    ['old', 'string', undefined],
    ['labels', 'array', undefined],
    ['list', 'array', undefined],
    ['dims', 'object', undefined],
    ['late', 'string', undefined],
    ['either', 'string', undefined],
    ['amount', 'integer', undefined],
    ['pages', 'integer', undefined],
    ['price', 'number', undefined],
    ['weight', 'number', undefined],
    ['made', 'date', undefined],
    ['sold', 'datetime', undefined],
    ['paid', 'datetime', undefined],
    ['name', 'string', false],
    ['open', 'boolean', false],
  ]);
});

test('a parent promises nothing for its children', () => {
  expect(tables.get('parent')?.columns.map(({ nullable }) => nullable)).toEqual([true, true]);
  expect(tables.get('parted')?.columns.map(({ nullable }) => nullable)).toEqual([false]);
});

test('what the database cannot give is told with its reason', () => {
  const refresh = 'it has no rows until this is run: REFRESH MATERIALIZED VIEW public.empty_view';
  const foreign = (name: string): string =>
    `it reads the foreign table public.${name}, and the server of that table may do more than read`;
  const unreadable = [...tables.values()].flatMap(({ name, unreadable: reason }) =>
    reason === undefined ? [] : [[name, reason]],
  );
  expect(Object.fromEntries(unreadable)).toEqual({
    empty_view: refresh,
    over_empty: refresh,
    over_view: refresh,
    far: foreign('far'),
    over_far: foreign('far'),
    parted: foreign('part_2'),
    over_parted: foreign('part_2'),
    mother: foreign('daughter'),
    daughter: foreign('daughter'),
  });
});
