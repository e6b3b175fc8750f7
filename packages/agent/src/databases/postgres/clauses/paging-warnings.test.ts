import { testDatabase } from '@svc/testkit';
import { expect, test } from 'vitest';
import type { CapabilitySpec } from '../../../config/capability-file.ts';
import { configOf } from '../capability.fixture.ts';
import { createPool } from '../connect.ts';
import { pagingWarnings } from '../verify/clauses/paging-warnings.ts';
import { capabilityOfSpec } from '../../conformance/clauses/lists.testing.ts';

const SCHEMA = `
  create table item (id int primary key, code text not null unique, kind text not null, size int);
  create table line (item_id int references item, no int, at date not null, primary key (item_id, no));
  create view items as select * from item;
`;

test('`check` warns where the fields of paging are not known to be unique, and where one may be null', async () => {
  const server = await testDatabase({ sql: [SCHEMA] });
  const pool = createPool(configOf(server));
  const warningsOf = async (
    sql: string,
    paging: string | readonly string[],
    sort?: string,
  ): Promise<readonly string[]> => {
    const fields = ['id', 'code', 'kind', 'size', 'item_id', 'no', 'at', 'n'].filter((field) =>
      new RegExp(`\\b${field}\\b`).test(sql),
    );
    const spec: CapabilitySpec = {
      sql,
      paging,
      ...(sort === undefined ? {} : { sort: { chosen: sort } }),
      params: sql.includes('{filters}') ? { p: { type: 'integer', filter: 'id = :p' } } : {},
      result: Object.fromEntries(fields.map((field) => [field, { type: 'string', nullable: false }])),
    };
    return (await pagingWarnings(pool, [capabilityOfSpec(spec)])).map(({ path }) =>
      path.replace('capabilities.list.', ''),
    );
  };
  const unique: readonly (readonly [string, string | readonly string[], string?])[] = [
    ['select id from item', 'id'],
    ['select id, kind from item where {filters}', 'id', 'kind'],
    ['select i.code from item i', 'code'],
    ['select item_id, no, at from line', ['item_id', 'no'], 'at desc'],
    ['select l.item_id, l.no, i.kind from line l join item i on i.id = l.item_id', ['no', 'item_id']],
    ['select kind, count(*) as n from item group by kind', 'kind'],
    ['select i.kind, count(*) as n from item i group by kind', 'kind'],
  ];
  for (const [sql, paging, sort] of unique)
    expect([sql, await warningsOf(sql, paging, sort)]).toEqual([sql, []]);
  const others: readonly (readonly [string, string | readonly string[], readonly string[], string?])[] = [
    ['select kind from item', 'kind', ['paging']],
    // A filter that equals the key is not always there.
    ['select id, kind from item where {filters}', 'kind', ['paging']],
    ['select item_id from line', 'item_id', ['paging']],
    ['select i.id from item i join line l on l.item_id = i.id', 'id', ['paging']],
    // Columns of one name, of two relations.
    [
      'select a.kind, b.kind as code, count(*) as n from item a, item b group by a.kind, b.kind',
      'kind',
      ['paging'],
    ],
    ['select id from items', 'id', ['paging', 'result.id']],
    ['select id from item union all select id from item', 'id', ['paging']],
    ['select id, size from item', 'id', ['result.size'], 'size'],
    [
      'select i.id, l.at from item i left join line l on l.item_id = i.id and l.no = 1',
      'id',
      ['result.at'],
      'at',
    ],
    [
      'select i.id, l.at from line l right join item i on l.item_id = i.id and l.no = 1',
      'id',
      ['paging', 'result.at'],
      'at',
    ],
    [
      'select i.id from item i full join line l on l.item_id = i.id and l.no = 1',
      'id',
      ['paging', 'result.id'],
    ],
    [
      'with i as (select o.id from line l left join item o on false) select i.id from i left join line l on true',
      'id',
      ['paging', 'result.id'],
    ],
    [
      'select i.id, l.at from item i left join line l on l.item_id = i.id and l.no = 1 group by cube (i.id, l.at)',
      'id',
      ['paging', 'result.id', 'result.at'],
      'at',
    ],
  ];
  for (const [sql, paging, expected, sort] of others)
    expect([sql, await warningsOf(sql, paging, sort)]).toEqual([sql, expected]);
  await pool.close();
});
