import { executeMysql } from '@svc/testkit';
import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ParamSchema } from '../../capabilities/model.ts';
import { callOf, capabilityOf, textOf } from '../conformance/capability.testing.ts';
import type { TestServer } from '../conformance/dialect.testing.ts';
import { openDriver, type TestedDriver } from '../conformance/tested-driver.testing.ts';
import { driverOf } from '../drivers.ts';
import { dialectOf } from './conformance.fixture.ts';
import { mysqlServers } from './servers.testing.ts';

const TEXT: ParamSchema = { type: 'string' };
const INTEGER: ParamSchema = { type: 'integer' };

/** Conditions on a row with the id 1, with values that a server reads as others with a mere warning, and one that it reads. */
const MISREAD: readonly (readonly [condition: string, refused: readonly string[], taken: string])[] = [
  ['id = cast(:v as signed)', ['abc', '', '1abc', '99999999999999999999'], '1'],
  ['id = cast(trim(:v) as unsigned)', ['abc', '1abc'], '1'],
  ['id = convert(:v, signed)', ['abc', '1abc'], '1'],
  ['id = cast(:v as decimal(5, 2))', ['abc', '99999'], '1.00'],
  ['id = cast(:v as double)', ['1x'], '1'],
  ['id = cast(:v as double) or id = 1', ['1x'], '1'],
  ['id = coalesce(cast(:v as signed), id)', ['abc'], '1'],
  ['day = cast(:v as date)', ['zq7', '2024-02-29zq7'], '2024-02-29'],
  ['(cast(:v as date) is null or day = cast(:v as date))', ['zq7', '2024-02-30'], '2024-02-29'],
  ['moment >= cast(:v as datetime)', ['zq7'], '2024-02-29 10:30:00'],
  ['moment >= timestamp(:v)', ['zq7'], '2024-02-29'],
  ['time(moment) = cast(:v as time)', ['zq7'], '10:30:00'],
  ["day = str_to_date(:v, '%d.%m.%Y')", ['zq7', '29.2.2024zq7'], '29.2.2024'],
  ["date_format(:v, '%Y') = '2024'", ['zq7', '2024-02-30'], '2024-02-29'],
  ["date_format(:v, '%Y') = 2024", ['zq7'], '2024-02-29'],
  ['year(:v) = year(day)', ['zq7', '2024-02-30'], '2024-01-01'],
  ['extract(month from :v) = 2', ['zq7'], '2024-02-29'],
  ['datediff(day, :v) = 0', ['zq7', '2024-02-30'], '2024-02-29'],
  ['timestampdiff(day, day, :v) = 1', ['zq7', '2024-02-30'], '2024-03-01'],
  ['date_add(:v, interval 1 day) > day', ['zq7'], '2024-02-29'],
  ["addtime('10:00:00', :v) = '11:00:00'", ['zq7'], '01:00:00'],
];
/** MariaDB warns of none of these, and finds no rows. */
const MISREAD_BY_MYSQL: typeof MISREAD = [
  ['day = cast(:v as date)', ['2024-02-30'], '2024-02-29'],
  ['moment >= cast(:v as datetime)', ['2024-02-30'], '2024-02-29 10:30:00'],
  ['moment >= timestamp(:v)', ['2024-02-30 10:00:00'], '2024-02-29'],
  ["hex(inet6_aton(:v)) = '7F000001'", ['zq7'], '127.0.0.1'],
];

describe.each(mysqlServers().map((address) => [address.name, address] as const))('%s', (_name, address) => {
  const driver = driverOf(address.kind);
  let server: TestServer;
  let tested: TestedDriver;
  beforeAll(async () => {
    server = await dialectOf(address).start();
    tested = await openDriver(driver, (...of) => driver.connect(...of), server, 1);
    await executeMysql(
      address,
      `create table item (id int primary key, code varchar(10), folded varchar(10) collate utf8mb4_general_ci, day date,
        moment datetime, mood enum('2', '1'), doc json, lat varchar(10) character set latin1);
      insert into item values (1, '1', '1', '2024-02-29', '2024-02-29 10:30:00', '1', '{"n":1}', '?'),
        (2, '1abc', '1abc', null, null, '2', '{"n":"1abc"}', 'x')`,
      String(Reflect.get(server.reader.section, 'name')),
    );
  });
  afterAll(async () => {
    await tested.close();
    await server.stop();
  });

  const selecting = (condition: string, v: ParamSchema): ReturnType<typeof capabilityOf> =>
    capabilityOf(`select id as a from item where ${condition} order by id`, {
      params: condition.includes(':w') ? { v, w: TEXT } : { v },
    });

  test('a value that is read as another is refused by the name of its parameter, at each call', async () => {
    const told: unknown[] = [];
    const cases = address.kind === 'mysql' ? [...MISREAD, ...MISREAD_BY_MYSQL] : MISREAD;
    for (const [condition, refused, taken] of cases) {
      const query = await tested.prepare(selecting(`(${condition}) and :w <> ''`, TEXT));
      const callWith = (v: string): ReturnType<typeof query.run> => query.run(callOf({ v, w: 'innocent' }));
      for (const value of [...refused, ...refused]) {
        const error: unknown = await callWith(value).catch((reason: unknown) => reason);
        const { kind, advice } = Object(error);
        const isQuoted = inspect(error, { depth: Infinity, showHidden: true }).includes('zq7');
        told.push([condition, value, kind, String(advice).split(': ')[0], isQuoted]);
        told.push([condition, JSON.parse(textOf((await callWith(taken)).rows))[0]]);
      }
    }
    expect(told).toEqual(
      cases.flatMap(([condition, refused]) =>
        [...refused, ...refused].flatMap((value) => [
          [condition, value, 'invalid_params', 'v', false],
          [condition, { a: 1 }],
        ]),
      ),
    );
  });

  test('what the data has in it, and what the SQL asks about first, is answered as the server does', async () => {
    const cases: readonly (readonly [condition: string, v: string, rows: string])[] = [
      ['cast(code as signed) = 1 and cast(:v as signed) = 7', '7', '[{"a":1},{"a":2}]'],
      ["id = if(:v regexp '^[0-9]+$', cast(:v as signed), 2)", 'abc', '[{"a":2}]'],
      ["id = case when :v regexp '^[0-9]+$' then cast(:v as signed) else 2 end", 'abc', '[{"a":2}]'],
      ["day = coalesce(str_to_date(:v, '%d.%m.%Y'), str_to_date(:v, '%Y-%m-%d'))", '2024-02-29', '[{"a":1}]'],
      ['code = cast(:v as char(1))', '1xyz', '[{"a":1}]'],
      ['not json_valid(:v)', '{abc', '[{"a":1},{"a":2}]'],
      ["json_value(:v, '$.a') = 'x'", '{"a":"x"}', '[{"a":1},{"a":2}]'],
      ["time_format(:v, '%H') = '10'", '10:30:00', '[{"a":1},{"a":2}]'],
    ];
    for (const [condition, v, rows] of cases)
      expect([condition, await tested.rowsOf(selecting(condition, TEXT), { v })]).toEqual([condition, rows]);
  });

  test.runIf(address.kind === 'mariadb')(
    'a text that is no JSON, or that a character set lacks, is refused',
    async () => {
      for (const [condition, v] of [
        ["json_extract(:v, '$.a') is null", '{abc'],
        ["json_extract('{}', :v) is null", '$['],
        ['lat = convert(:v using latin1)', 'я'],
      ] as const) {
        const query = await tested.prepare(selecting(condition, TEXT));
        await expect(query.run(callOf({ v }))).rejects.toMatchObject({
          kind: 'invalid_params',
          advice: expect.stringMatching(/^v: /),
        });
      }
    },
  );

  test.each<
    [condition: string, schema: ParamSchema, advice: string, form: string, taken: ParamSchema, v: unknown]
  >([
    ['id = trim(:v)', TEXT, 'cast(x as char)', 'cast(id as char) = trim(:v)', TEXT, '1'],
    ['id in (lower(:v), 5)', TEXT, 'cast(x as char)', 'cast(id as char) in (lower(:v), 5)', TEXT, '1'],
    ['id = (select concat(:v))', TEXT, 'declare it integer', 'id = (select concat(:v))', INTEGER, 1],
    ['concat(:v) between id and 3', TEXT, 'declare it integer', 'concat(:v) between id and 3', INTEGER, 1],
    ['nullif(id, :v) is null', TEXT, 'declare it integer', 'nullif(id, :v) is null', INTEGER, 1],
    ['field(id, :v, 7) = 1', TEXT, 'declare it integer', 'field(id, :v, 7) = 1', INTEGER, 1],
    ['left(code, lower(:v)) = code', TEXT, 'declare it integer', 'left(code, :v) = code', INTEGER, 1],
    ['lower(:v) * 1 = id', TEXT, 'declare it integer', ':v * 1 = id', INTEGER, 1],
    ['id = length(code) - length(code) + lower(:v)', TEXT, 'declare it integer', 'id = 0 + :v', INTEGER, 1],
    ["concat(code, '') = :v", INTEGER, 'declare it string', "concat(code, '') = :v", TEXT, '1'],
    [
      'lower(folded) >= :v',
      INTEGER,
      'cast(x as signed)',
      'cast(lower(folded) as signed) < :v + id',
      INTEGER,
      1,
    ],
    ['code = :v + 0', INTEGER, 'cast(x as signed)', 'id = 1 and cast(code as signed) = :v + 0', INTEGER, 1],
    ['mood = :v', INTEGER, 'declare it string', 'mood = :v', TEXT, '1'],
    ['mood = :v', INTEGER, 'x + 0', 'mood + 0 = :v', INTEGER, 2],
  ])('%s is refused for %j: %s', async (condition, schema, advice, form, taken, v) => {
    const { faults } = await tested.verifier.verify([selecting(condition, schema)]);
    expect(faults).toMatchObject([
      {
        path: 'capabilities.sample.params.v',
        position: { line: 100, column: 3 },
        message: expect.stringContaining(advice),
      },
    ]);
    expect(await tested.rowsOf(selecting(`${form} and id = 1`, taken), { v })).toBe('[{"a":1}]');
  });

  test('numbers that come of texts and documents are still compared as numbers', async () => {
    const n = { type: 'integer' } as const;
    for (const [condition, v] of [
      ["date_format(day, '%Y%m') = :v", 202_402],
      ["json_value(doc, '$.n') = :v and id = 1", 1],
      ["(:v = '' or id = :v)", 1],
      ['code = concat(:v)', 1],
      ['greatest(id, :v) = 1', 1],
    ] as const)
      expect([condition, await tested.rowsOf(selecting(condition, n), { v })]).toEqual([
        condition,
        '[{"a":1}]',
      ]);
    const year = selecting('year(day) = left(:v, 4)', { type: 'string', pattern: '^[0-9]{4}-[0-9]{2}$' });
    expect(await tested.rowsOf(year, { v: '2024-02' })).toBe('[{"a":1}]');
  });
});
