import { DuckDBInstance } from '@duckdb/node-api';
import type { ParamSchema } from '../../capabilities/model.ts';
import {
  CALLER_BY_PARAMETERS,
  MISFITS,
  WRITES,
  type Dialect,
  type Statement,
} from '../conformance/dialect.testing.ts';
import { fileServer, hasRunningThreads } from '../engine-process/holders.testing.ts';
import { change } from './change.testing.ts';
import './engine-code.testing.ts';

const SCHEMA = [
  'create table book (id integer primary key, title varchar not null)',
  `insert into book select i, 'book ' || i from range(1, 51) t(i)`,
  `create table other (h hugeint, d decimal(38, 20), f float, b blob, ts timestamp, tz timestamptz, da date, l integer[],
    s struct(a integer, b varchar), j json, u uuid, e enum ('sad', 'glad'))`,
  `insert into other values (170141183460469231731687303715884105727, 123456789012345678.1234567890, 0.1, '\\x00\\xff',
    '2024-02-29 12:30:00.5', '2024-02-29 12:30:00+02', '2024-02-29', [1, null], {'a': 1, 'b': 'x'}, '{"k": [1]}',
    '00000000-0000-0000-0000-000000000001', 'glad')`,
  'create table faulty (id integer, doc varchar, name varchar, d date)',
  `insert into faulty values (1, '{"a":1}', 'one', '2024-02-29'), (2, '{bad', 'two', '2024-02-29')`,
  `create table listed (id integer primary key, half integer not null, name varchar collate nocase not null, tiny tinyint,
    whole bigint, huge hugeint, unsigned ubigint, num decimal(38, 20), single float, part double, flag boolean, words varchar,
    folded varchar collate nocase.noaccent, day date, at_time time, moment timestamp, exact timestamp_ns, zoned timestamptz,
    lasting interval, code uuid)`,
  `insert into listed select i, (i + 1) // 2, concat(['n', 'N'][1 + i % 2], lpad(cast((i + 1) // 2 as varchar), 3, '0')),
    [null, 1, -128, 127][1 + i % 4], [null, 9223372036854775807, -9223372036854775807][1 + i % 3],
    [null, 170141183460469231731687303715884105727, -1][1 + i % 3], [null, 18446744073709551615, 0][1 + i % 3],
    [null, 123456789012345678.12345678901234567890, -0.00000000000000000001][1 + i % 3],
    (['nan', null, '-inf', 'inf', '0.1', '-0'][1 + i % 6])::float, ([null, 'nan', '-inf', 'inf', '0.1', '1e-300'][1 + i % 6])::double,
    [null, true, false][1 + i % 3], [null, '', 'a', 'B', 'ä', '''; --'][1 + i % 6], [null, 'a', 'A', 'ä', 'b'][1 + i % 5],
    ([null, '2024-02-29', 'infinity', '-infinity', '0044-03-15 (BC)'][1 + i % 5])::date,
    ([null, '00:00:00', '23:59:59.999999'][1 + i % 3])::time,
    ([null, '2024-02-29 12:00:00.000001', 'infinity', '0044-03-15 (BC) 01:00:00'][1 + i % 4])::timestamp,
    ([null, '2024-02-29 12:00:00.000000001', '1900-01-01 00:00:00'][1 + i % 3])::timestamp_ns,
    ([null, '2024-02-29 12:00:00+02', '-infinity', '2024-02-29 11:00:00+00'][1 + i % 4])::timestamptz,
    ([null, '1 month', '30 days', '-1 month 2 days 03:04:05.000006'][1 + i % 4])::interval,
    ([null, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '00000000-0000-0000-0000-000000000000'][1 + i % 3])::uuid
    from range(1, 121) t(i)`,
  'create sequence counter',
  `create view passwords as select * from query('select 1 as a')`,
  'create view hiding as select a from passwords',
  `create macro next_one() as nextval('counter')`,
  'create macro settings() as table select value as a from duckdb_settings()',
];

/** The default of `threads`. */
const THREADS = 2;

/** DuckDB has nothing that waits: it counts, as far as this machine counts in that time when it is idle, or longer. */
function slow(ms: number): Statement {
  return { sql: counting(Math.ceil(rowsPerMs * ms)) };
}

function counting(rows: number): string {
  return `select (count(*) + 1)::integer as a from range(${rows}) t(i), range(1000) u(j) where (i * j) % 7 = 8`;
}

async function measure(): Promise<number> {
  const rows = 20_000;
  const connection = await (await DuckDBInstance.create(':memory:', { threads: String(THREADS) })).connect();
  const before = process.cpuUsage();
  await connection.run(counting(rows));
  const { user, system } = process.cpuUsage(before);
  connection.closeSync();
  // Of the processor's time, since that which passes depends on what else runs at the moment.
  return (rows * THREADS * 1000) / (user + system);
}

const rowsPerMs = await measure();

function param(name: string, { type }: ParamSchema): string {
  const types: Readonly<Record<string, string>> = {
    integer: 'hugeint',
    number: 'double',
    boolean: 'boolean',
    date: 'date',
    datetime: 'timestamp',
    array: 'json',
    object: 'json',
  };
  return `:${name}::${types[type] ?? 'varchar'}`;
}

export const dialect: Dialect = {
  requiresReadonlyAccount: false,
  start: () => fileServer('duckdb', (file) => change(file, ...SCHEMA), hasRunningThreads),
  quoted: (name) => `"${name.replaceAll('"', '""')}"`,
  hasUnsignedIntegers: true,
  param,
  slow,
  columns: [
    ['integer', '7', '7'],
    ['integer', '(select h from other)', '170141183460469231731687303715884105727'],
    ['integer', '7::utinyint', '7'],
    ['integer', '7::decimal(5, 0)', '7'],
    ['number', '7', '7'],
    ['number', '(select d from other)', '123456789012345678.12345678900000000000'],
    ['number', '(select f from other)', '0.1'],
    ['number', '0.1::double', '0.1'],
    ['number', "'nan'::double", 'null'],
    ['number', "'-infinity'::float", 'null'],
    ['string', String.raw`'a"b\c' || chr(10) || 'é😀'`, String.raw`"a\"b\\c\né😀"`],
    ['string', '(select b from other)', String.raw`"\\x00ff"`],
    ['string', '(select e from other)', '"glad"'],
    ['string', '(select u from other)', '"00000000-0000-0000-0000-000000000001"'],
    ['string', '42', '"42"'],
    ['boolean', '1 = 1', 'true'],
    ['boolean', '1 = 2', 'false'],
    ['date', '(select da from other)', '"2024-02-29"'],
    ['date', "'infinity'::date", 'null'],
    ['datetime', '(select ts from other)', '"2024-02-29T12:30:00.5+00:00"'],
    ['datetime', '(select tz from other)', '"2024-02-29T10:30:00+00:00"'],
    ['datetime', "'-infinity'::timestamp", 'null'],
    ['datetime', "'2024-02-29 12:30:00.123456789'::timestamp_ns", '"2024-02-29T12:30:00.123456789+00:00"'],
    ['datetime', "'2024-02-29 12:30:00.1234567'::timestamp_ns", '"2024-02-29T12:30:00.1234567+00:00"'],
    ['datetime', "'1677-09-22 00:12:44.000000001'::timestamp_ns", '"1677-09-22T00:12:44.000000001+00:00"'],
    ['datetime', "'infinity'::timestamp_ns", 'null'],
    ['datetime', "'2024-02-29 12:30:01'::timestamp_s", '"2024-02-29T12:30:01+00:00"'],
    ['datetime', "'2024-02-29 12:30:00.123'::timestamp_ms", '"2024-02-29T12:30:00.123+00:00"'],
    ['string', "'2024-02-29 12:30:00.123456789'::timestamp_ns", '"2024-02-29 12:30:00.123456789"'],
    ['array', "['2024-02-29 12:30:00.123456789'::timestamp_ns]", '["2024-02-29 12:30:00.123456789"]'],
    [
      'object',
      "{'a': '2024-02-29 12:30:00.123456789'::timestamp_ns}",
      '{"a":"2024-02-29 12:30:00.123456789"}',
    ],
    ['array', '(select l from other)', '[1,null]'],
    ['array', "['nan'::double, 1.5]", '[null,1.5]'],
    ['array', '(select j from other)', 'null'],
    ['object', '(select s from other)', '{"a":1,"b":"x"}'],
    ['object', '(select j from other)', '{"k": [1]}'],
    ['object', "{'a': 'NaN', 'b': 'nan'::double}", '{"a":"NaN","b":null}'],
    ['object', "map {'k': 1}", '{"k":1}'],
  ],
  misfits: MISFITS,
  writes: [
    ...WRITES,
    'update book set id = 1 returning id as a',
    "copy (select 1 as a) to 'x.csv'",
    "export database 'x'",
    "import database 'x'",
    "attach 'x.duckdb' as x",
    'detach library',
    'use main',
    'install httpfs',
    'load httpfs',
    'call duckdb_settings()',
    'create temp table x as select 1 as a',
    'create table x as select 1 as a',
    'create secret x (type s3)',
    'set threads = 1',
    'reset threads',
    'set variable x = 1',
    'pragma version',
    'pragma database_list',
    'begin',
    'checkpoint',
    'vacuum',
    'analyze',
    'prepare x as select 1',
    'execute x',
    'explain select 1 as a',
    'describe book',
    'show tables',
    'summarize book',
    'select * from (describe book)',
    'pivot book on id using count(*)',
    'select a from (unpivot book on id into name n value a)',
    "select a from query('select 1 as a')",
    "select id as a from query_table('book')",
    "select a from json_execute_serialized_sql(json_serialize_sql('select 1 as a'))",
    'select value as a from duckdb_settings()',
    "select name as a from pragma_table_info('book')",
    'select * from duckdb_tables()',
    'select table_name as a from information_schema.tables',
    'select * from sqlite_master',
    "select content as a from read_text('/etc/passwd')",
    "select content as a from read_blob('/etc/passwd')",
    "select a from read_csv('/etc/passwd')",
    "select a from read_csv('x.csv')",
    'select a from read_csv(:v)',
    "select a from 'x.csv'",
    'select a from "/etc/passwd"',
    'with "x.csv" as (select 1 as a) select a from "x.csv"',
    "select * from glob('/*')",
    "select * from sniff_csv('x.csv')",
    "select * from read_csv('https://example.com/x.csv')",
    "select nextval('counter') as a",
    "select currval('counter') as a",
    'select next_one() as a',
    'select a from settings()',
    'select a from passwords',
    'select a from hiding',
    "select write_log('x') as a",
    'select * from enable_logging()',
    'select sleep_ms(1) as a',
    'select pg_sleep(1) as a',
    "select current_setting('threads') as a",
    "select getenv('HOME') as a",
    "select getvariable('x') as a",
    'select setseed(0.5) as a',
    'select current_query() as a',
    'select id as a from other.main.book',
    'select $1 as a',
    'select $$x$$ as a',
  ],
  allowedWrites: [],
  failures: [{ sql: 'select (title || :v)::integer as a from book' }],
  refusals: [
    ['regexp_matches(name, :v)', '(zq7', 'o'],
    ["regexp_replace(name, :v, 'x')", '(zq7', 'o'],
    ['(name ~ :v)', '(zq7', 'o'],
    ['(name similar to :v)', '(zq7', 'o.*'],
    ["(doc::json ->> ('$.' || :v))", 'a[', 'a'],
    ['json_extract(doc, :v)', '$[', '$.a'],
    ['json_type(:v)', '{zq7', '{}'],
    ["(:v::json -> 'a')", '{zq7', '{}'],
    ["json_extract_string(:v, '$')", '{zq7', '{}'],
    ["(name like 'a' escape :v)", 'xx', 'x'],
    ["(name like :v escape '#')", 'on#', 'one'],
    ["strptime(:v, '%Y')", 'zq7', '2024'],
    ['date_trunc(:v, d)', 'zq7', 'day'],
    ['date_part(:v, d)', 'zq7', 'day'],
    ["timezone(:v, timestamptz '2024-01-01 00:00:00+00')", 'zq7', 'UTC'],
    ["(timestamptz '2024-01-01 00:00:00+00' at time zone :v)", 'zq7', 'UTC'],
    [':v::date', 'zq7', '2024-02-29'],
    ['cast(:v as date)', 'zq7', '2024-02-29'],
    ['(d >= :v)', 'zq7', '2024-02-29'],
    ['(id = :v)', 'zq7', '1'],
    ['d + :v::interval', 'zq7', '1 day'],
    ['unhex(:v)', 'zq7', '00'],
    ['from_base64(:v)', 'zq7', 'AAAA'],
  ],
  dataFaults: [
    ["(doc::json ->> '$.a') || :v", '{zq7'],
    ['json_extract(doc, :v)', '$.a'],
    ['case id when 2 then name::date::varchar else :v end', 'zq7'],
    ["case id when 2 then strptime(name, '%Y')::varchar else :v end", 'zq7'],
    ['case id when 2 then 9223372036854775807 + id else 1 end || :v', '1'],
    ["case id when 2 then regexp_matches('a', doc || '(') else false end || :v", '('],
  ],
  refusedValue: {
    sql: "select regexp_matches('a', :v)::integer as a",
    schema: { type: 'string' },
    value: '(zq7marker',
  },
  risky: ['select id as a from book limit :n', 'from book select id as a limit 5 offset :n'],
  listForms: [
    ['id in (:v)', { type: 'array', items: { type: 'integer' } }, [2]],
    ['list_contains(:v, id)', { type: 'array', items: { type: 'integer' } }, [2]],
    ['id = any(:v)', { type: 'array', items: { type: 'integer' } }, [2]],
    ['title in (select unnest(:v))', { type: 'array', items: { type: 'string' } }, ['book 2']],
    [
      `id in (select unnest(from_json(:v, '["INTEGER"]')))`,
      { type: 'array', items: { type: 'integer' } },
      [2],
    ],
    ["title = json_extract_string(:v, '$.key')", { type: 'object' }, { key: 'book 2' }],
    ['id = :v', { type: 'integer' }, 2],
    ["lpad('', :v, 'x') = 'xx' and id = 2", { type: 'integer' }, 2],
  ],
  misplaced: [
    ['id in (select :v)', { type: 'array', items: { type: 'integer' } }, 'write x in (:v)'],
    ['id = :v', { type: 'date' }, 'DuckDB takes INTEGER here'],
    ['title = :v', { type: 'boolean' }, 'DuckDB takes VARCHAR here'],
    ["lpad(title, :v, '0') = title", { type: 'boolean' }, 'which DuckDB does not take here'],
    ["time '10:00' = :v", { type: 'date' }, 'DuckDB takes TIME here'],
  ],
  lists: {
    columns:
      'tiny whole huge unsigned num single part flag words folded day at_time moment exact zoned lasting code'.split(
        ' ',
      ),
    unkept: ['l', 's', 'j', 'e', 'b'],
    choosesNulls: true,
    changing: ['random()', '"RANDOM" ()', 'gen_random_uuid()', 'uuidv7()'],
  },
  leftovers: [],
  caller: CALLER_BY_PARAMETERS,
};
