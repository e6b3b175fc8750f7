import { executeMysql } from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ParamSchema } from '../../capabilities/model.ts';
import { callOf, capabilityOf, numbers, textOf } from '../conformance/capability.testing.ts';
import type { TestServer } from '../conformance/dialect.testing.ts';
import { openDriver, type TestedDriver } from '../conformance/tested-driver.testing.ts';
import { driverOf } from '../drivers.ts';
import { dialectOf } from './conformance.fixture.ts';
import { expandLists } from './execute/expand-lists.ts';
import { mysqlServers } from './servers.testing.ts';

const listOf = (type: ParamSchema['type']): ParamSchema => ({ type: 'array', items: { type } });

/** Columns of row 1, each with items that are not its value and one that is. */
const ITEMS: readonly (readonly [column: string, type: ParamSchema['type'], items: readonly unknown[]])[] = [
  ['latin', 'string', ['x', 'é']],
  ['bmp', 'string', ['x', 'É']],
  ['bytes', 'string', ['x', 'é']],
  ['folded', 'string', ['x', 'BOOK']],
  ['plain', 'string', ['BOOK', 'book']],
  ['small', 'integer', [-1, 7]],
  ['least', 'integer', [0, '-9223372036854775808']],
  ['most', 'integer', [0, '9223372036854775807']],
  ['exact', 'number', [1.2, 1.25]],
  ['exact', 'number', [5, 1.25]],
  ['double_', 'number', [1, 0.1]],
  ['day', 'date', ['2024-02-28', '2024-02-29']],
  ['moment', 'datetime', ['2024-02-29T12:00:00Z', '2024-02-29T12:30:00.5+02:00']],
  ['moment_day', 'date', ['2024-02-28', '2024-02-29']],
  ['token', 'uuid', ['a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12', 'A0EEBC99-9c0b-4ef8-bb6d-6bb9bd380a11']],
  ['flag', 'boolean', [false, true]],
  ['mood', 'string', ['glad', 'sad']],
  ['code', 'integer', [0, 7]],
];

describe.each(mysqlServers().map((address) => [address.name, address] as const))('%s', (_name, address) => {
  const driver = driverOf(address.kind);
  let server: TestServer;
  let tested: TestedDriver;
  beforeAll(async () => {
    server = await dialectOf(address).start();
    tested = await openDriver(driver, (...of) => driver.connect(...of), server, 1);
    await execute(`create table item (id int primary key, latin varchar(20) character set latin1,
      bmp varchar(20) character set utf8mb3, bytes varbinary(20), folded varchar(20) collate utf8mb4_general_ci,
      plain varchar(20) collate utf8mb4_bin, small tinyint, least bigint, most bigint unsigned, exact decimal(5, 2),
      double_ double, day date, moment datetime(6), moment_day datetime, token char(36), flag tinyint(1),
      mood enum('sad', 'glad'), code varchar(10), key(latin), key(bmp), key(folded), key(plain), key(most), key(day), key(token));
      insert into item values (1, 'é', 'é', 'é', 'book', 'book', 7, -9223372036854775808, 9223372036854775807, 1.25,
        0.1, '2024-02-29', '2024-02-29 10:30:00.5', '2024-02-29', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 1, 'sad', '7');
      insert into item (id, code) values (2, 'abc'), (3, '7abc');
      insert into item (id, latin, bmp, folded, plain, most, day, token)
        select id + 10, concat('n', id), concat('n', id), concat('n', id), concat('n', id), id, date_add('2000-01-01', interval id day), id from book;
      insert into item (id, latin, bmp, folded, plain, most, day, token)
        select 1000 + x.id * 50 + y.id, concat('m', x.id, y.id), concat('m', x.id, y.id), concat('m', x.id, y.id),
          concat('m', x.id, y.id), x.id * 50 + y.id, date_add('2010-01-01', interval x.id * 50 + y.id day), x.id * 50 + y.id
        from book x, book y;
      analyze table item`);
  });
  afterAll(async () => {
    await tested.close();
    await server.stop();
  });

  const execute = (sql: string): ReturnType<typeof executeMysql> =>
    executeMysql(address, sql, String(Reflect.get(server.reader.section, 'name')));

  test.each(ITEMS)('%s takes a list of %s', async (column, type, items) => {
    const capability = capabilityOf(`select id as a from item where ${column} in (:v)`, {
      params: { v: listOf(type) },
    });
    const query = await tested.prepare(capability);
    const rowsOf = async (v: readonly unknown[]): Promise<string> =>
      textOf((await query.run(callOf({ v }))).rows);
    expect(await rowsOf(items)).toBe('[{"a":1}]');
    expect(await rowsOf(items.slice(0, -1))).toBe('[]');
  });

  test('an index finds the rows of a list, also of the longest one', async () => {
    for (const [column, type] of [
      ['latin', 'string'],
      ['bmp', 'string'],
      ['folded', 'string'],
      ['plain', 'string'],
      ['most', 'integer'],
      ['day', 'date'],
      ['token', 'uuid'],
    ] as const) {
      for (const length of [1, 3, 1000]) {
        const items = numbers(length).map((n) =>
          type === 'integer' ? `${n}` : type === 'date' ? "'2001-01-01'" : `'n${n}'`,
        );
        const list = expandLists(
          {
            text: '\0',
            params: [
              {
                name: 'v',
                required: true,
                schema: listOf(type),
                position: { line: 1, column: 1 },
                isList: true,
              },
            ],
          },
          [items],
        );
        const values = list.values.map(String);
        const sql = `select id from item where ${column} in (${values.join(', ')})`;
        const [plan] = await execute(
          address.kind === 'mysql' ? `explain format=traditional ${sql}` : `explain ${sql}`,
        );
        expect([column, length, Reflect.get(plan ?? {}, 'key')]).toEqual([column, length, column]);
      }
    }
  });

  test('a list has at most 1000 items, and callers are told so', async () => {
    const verify = async (schema: ParamSchema): Promise<unknown> => {
      const { capabilities } = await tested.verifier.verify([
        capabilityOf('select id as a from item where id in (:v)', { params: { v: schema } }),
      ]);
      return capabilities[0]?.params[0]?.schema.maxItems;
    };
    expect(await verify(listOf('integer'))).toBe(1000);
    expect(await verify({ ...listOf('integer'), maxItems: 20 })).toBe(20);
    expect(await verify({ ...listOf('integer'), maxItems: 5000 })).toBe(1000);
  });

  test('lists of all lengths are few statements to the server', () => {
    const query = {
      text: 'x in (\0)',
      params: [
        {
          name: 'v',
          required: true,
          schema: listOf('integer'),
          position: { line: 1, column: 1 },
          isList: true as const,
        },
      ],
    };
    const texts = new Set(numbers(1000).map((length) => expandLists(query, [numbers(length)]).text));
    expect(texts.size).toBe(11);
  });

  test('a place is judged by what it is compared with, in whatever SELECT it stands', async () => {
    const text: ParamSchema = { type: 'string' };
    const refused = [
      'select id as a from item i where i.small = :v',
      'select id as a from item where exists (select 1 from book where book.id = item.id and item.small = :v)',
      'with x as (select small as s from item) select s as a from x where s >= :v',
      'select count(*) as a from item group by day having count(*) > :v',
      'select id as a from item where id = 1 union all select id from item where exact = :v',
      'select a from (select id as a from item where double_ between :v and 5) q',
      'select b.id as a from book b join item i on i.id = b.id and i.small = :v',
      'select id as a from item where day = :v',
      'select id as a from item where moment < :v',
      'select id as a from item order by id limit :v',
      'select repeat(latin, :v) = latin as a from item',
      'select id + interval :v day is null as a from item',
    ];
    for (const sql of refused) {
      const { faults } = await tested.verifier.verify([capabilityOf(sql, { params: { v: text } })]);
      expect([sql, faults]).toMatchObject([
        sql,
        [{ path: 'capabilities.sample.params.v', position: { line: 100, column: 3 } }],
      ]);
    }
    const taken: readonly (readonly [sql: string, schema: ParamSchema, value: unknown, rows: string])[] = [
      ['select id as a from item where exact = :v', { type: 'integer' }, 1, '[]'],
      ['select id as a from item where moment_day = :v', { type: 'date' }, '2024-02-29', '[{"a":1}]'],
      ['select id as a from item where day = :v', { type: 'datetime' }, '2024-02-29T00:00:00Z', '[{"a":1}]'],
      ['select id as a from item where code = :v', { type: 'integer' }, 7, '[{"a":1}]'],
      ['select id as a from item where code = :v', { type: 'integer' }, 0, '[]'],
      ['select id as a from item where flag = :v', { type: 'boolean' }, true, '[{"a":1}]'],
      [
        'select id as a from item where small = :v',
        { type: 'string', pattern: '^[0-9]+$' },
        '7',
        '[{"a":1}]',
      ],
      ['select id as a from item where mood = :v', text, 'sad', '[{"a":1}]'],
      ['select id as a from item where bytes = :v', text, 'é', '[{"a":1}]'],
      ['select id as a from item where small = cast(:v as signed)', text, '7', '[{"a":1}]'],
    ];
    for (const [sql, schema, v, rows] of taken) {
      expect([sql, await tested.rowsOf(capabilityOf(sql, { params: { v: schema } }), { v })]).toEqual([
        sql,
        rows,
      ]);
    }
  });
});
