import {
  CALLER_BY_PARAMETERS,
  MISPLACED,
  WRITES,
  type Dialect,
  type Statement,
} from '../conformance/dialect.testing.ts';
import { fileServer, holdersOf, isRunning } from '../engine-process/holders.testing.ts';
import { loadSqlite, type SqliteDatabase } from './engine/node-sqlite.ts';

const SCHEMA = `
  create table book (id integer primary key, title text not null);
  insert into book with recursive n (i) as (select 1 union all select i + 1 from n where i < 50)
    select i, 'book ' || i from n;
  create table other (i integer, r real, t text, b blob);
  insert into other values (9223372036854775807, 0.1, '2024-02-29 12:30:00.50', x'00ff');
  create table faulty (id integer primary key, doc text, name text);
  insert into faulty values (1, '{"a":1}', 'one'), (2, '{bad', 'two');
  create view attaching as select load_extension('x') as a;
  create view hiding as select a from attaching;
  create view settings as select seq as a from pragma_database_list;
  create virtual table words using fts5 (word);
  create table listed (id integer primary key, half integer not null, name text not null collate nocase, whole integer,
    num numeric, part real, words text, folded text collate nocase, trimmed text collate rtrim, day date, anything);
  insert into listed with recursive n (i) as (select 1 union all select i + 1 from n where i < 120)
    select i, (i + 1) / 2, case i % 2 when 0 then 'n' else 'N' end || printf('%03d', (i + 1) / 2),
      case i % 5 when 0 then null when 1 then 9223372036854775807 when 2 then -9223372036854775808 else i % 5 end,
      case i % 6 when 0 then null when 1 then 1 when 2 then 1.5 when 3 then '1e30' when 4 then 9007199254740993 else 'text' end,
      case i % 6 when 0 then null when 1 then 9e999 when 2 then -9e999 when 3 then 0.1 when 4 then -0.0 else 1e-300 end,
      case i % 6 when 0 then null when 1 then '' when 2 then 'a' when 3 then 'B' when 4 then 'ä' else '''; --' end,
      case i % 4 when 0 then null when 1 then 'a' when 2 then 'A' else 'b' end,
      case i % 4 when 0 then null when 1 then 'a' when 2 then 'a  ' else 'a b' end,
      case i % 4 when 0 then null when 1 then '2024-02-29' when 2 then '-0044-03-15' else 20240229 end,
      case i % 7 when 0 then null when 1 then 1 when 2 then '1' when 3 then 1.0 when 4 then 'x' when 5 then 2.5 else -1 end
    from n;`;

/** Opens a file for writing, as the programs do that own it. */
export function openForWriting(file: string): SqliteDatabase {
  return new (loadSqlite().DatabaseSync)(file, {
    readOnly: false,
    allowExtension: false,
    enableForeignKeyConstraints: false,
    enableDoubleQuotedStringLiterals: false,
    timeout: 10_000,
  });
}

function fill(file: string): void {
  const database = openForWriting(file);
  database.exec(SCHEMA);
  database.close();
}

/** SQLite has nothing that waits: it counts, as far as this machine counts in that time. */
function slow(ms: number): Statement {
  const count = Math.ceil(stepsPerMs() * ms);
  return {
    sql: `with recursive n (i) as (select 1 union all select i + 1 from n where i < ${count})
      select max(1) as a from n`,
  };
}

let measured: number | undefined;

function stepsPerMs(): number {
  if (measured !== undefined) return measured;
  const steps = 400_000;
  const database = openForWriting(':memory:');
  const started = performance.now();
  database
    .prepare(`with recursive n (i) as (select 1 union all select i + 1 from n where i < ${steps})
    select max(1) as a from n`)
    .all();
  measured = steps / (performance.now() - started);
  database.close();
  return measured;
}

/** SQLite has it from 3.50 on, which is newer than that of Node.js 22.16. */
const [major = 0, minor = 0] = (process.versions['sqlite'] ?? '').split('.').map(Number);
const hasUnistr = major > 3 || minor >= 50;

export const dialect: Dialect = {
  requiresReadonlyAccount: false,
  start: () =>
    fileServer('sqlite', fill, isRunning, async (file) => holdersOf(file).filter(isRunning).length),
  quoted: (name) => `"${name.replaceAll('"', '""')}"`,
  hasUnsignedIntegers: false,
  param: (name) => `:${name}`,
  slow,
  columns: [
    ['integer', '7', '7'],
    ['integer', '(select i from other)', '9223372036854775807'],
    ['number', '7', '7'],
    ['number', '(select r from other)', '0.1'],
    ['number', '1e300', '1e+300'],
    ['number', '9e999', 'null'],
    ['number', '-9e999', 'null'],
    ['string', String.raw`'a"b\c' || char(10) || 'é😀'`, String.raw`"a\"b\\c\né😀"`],
    ['string', '(select b from other)', String.raw`"\\x00ff"`],
    ['string', '42', '"42"'],
    ['string', '2.0', '"2.0"'],
    ['boolean', '1 = 1', 'true'],
    ['boolean', '0', 'false'],
    ['date', "'2024-02-29'", '"2024-02-29"'],
    ['datetime', '(select t from other)', '"2024-02-29T12:30:00.5+00:00"'],
    ['datetime', "'2024-02-29T12:30Z'", '"2024-02-29T12:30:00+00:00"'],
    ['datetime', "'2024-02-29T12:30:01+02:00'", '"2024-02-29T10:30:01+00:00"'],
    ['array', "json_array('a', null, 'b c')", '["a",null,"b c"]'],
    ['array', "json_object('a', 1)", 'null'],
    ['object', "json_object('b', 1)", '{"b":1}'],
    ['object', "'no JSON'", 'null'],
  ],
  // A value has its own type in each row: see the tests of values.
  misfits: [],
  writes: [
    ...WRITES,
    'update book set id = 1 returning id as a',
    "replace into book values (1, 'x')",
    'begin',
    'begin immediate',
    'savepoint s',
    'create table x (a)',
    'create temp table x as select 1 as a',
    'drop table book',
    'reindex',
    'analyze',
    'vacuum',
    "vacuum into '/tmp/x.db'",
    "attach '/tmp/x.db' as x",
    'detach main',
    'pragma journal_mode = delete',
    'explain select 1 as a',
    "select name as a from pragma_table_info('book')",
    'select pageno as a from dbstat',
    'select word as a from words',
    "select load_extension('x') as a",
    'select "load_extension"(\'x\') as a',
    "select load_extension/**/('x') as a",
    "select writefile('/tmp/x', 'x') as a",
    "select readfile('/etc/passwd') as a",
    "select fts3_tokenizer('simple') as a",
    'select a from attaching',
    'select a from hiding',
    'select a from settings',
    'select changes() as a',
    'values (1)',
  ],
  allowedWrites: [],
  failures: [{ sql: "select json_extract('{}', title || :v) as a from book" }],
  refusals: [
    ['json_type(:v)', '{zq7', '{}'],
    ['json_extract(doc, :v)', 'zq7', '$.a'],
    ["doc ->> (:v || '')", '$zq7', '$.a'],
    ["(:v -> '$') || name", '{zq7', '{}'],
    ["json_extract(doc, '$' || :v)", 'zq7', '.a'],
    ["json_set(doc, '$.b', json(:v))", '{zq7', '1'],
    ['(select value from json_each(:v))', '{zq7', '[1]'],
    ["(name like 'a' escape :v)", 'xx', 'x'],
    ['(name like :v)', '%_'.repeat(30_000), '%'],
    ...(hasUnistr ? [['unistr(:v)', String.raw`\u12`, 'x'] as const] : []),
    ['(select count(*) from (select id from book limit cast(:v as integer)))', '-1', '1'],
    ['upper(json_type(:v) || json_type(doc))', '{zq7', '{}'],
  ],
  dataFaults: [
    ["(doc ->> '$.a') || :v", '{zq7'],
    ["json_extract(doc, '$.a') || json_quote(:v)", '{zq7'],
    ["json_extract(doc, '$.' || :v)", 'a'],
    ["case when json_valid(:v) then json_type(:v) else doc ->> '$.a' end", '{zq7'],
    ['case id when 2 then abs(-9223372036854775807 - 1) else :v end', 'x'],
  ],
  refusedValue: {
    sql: 'select json_type(:v) as a',
    schema: { type: 'string' },
    value: '{zq7marker',
  },
  risky: ['select id as a from book limit :n', 'select id as a from book limit 5 offset :n'],
  listForms: [
    ['id in (:v)', { type: 'array', items: { type: 'integer' } }, [2]],
    ['id in (select value from json_each(:v))', { type: 'array', items: { type: 'integer' } }, [2]],
    ["title = json_extract(:v, '$.key')", { type: 'object' }, { key: 'book 2' }],
    ['id = :v', { type: 'integer' }, 2],
    ['title = :v', { type: 'string' }, 'book 2'],
    ['cast(substr(title, 6) as integer) = :v', { type: 'integer' }, 2],
    ['id = :v', { type: 'string' }, '2'],
  ],
  misplaced: [
    ...MISPLACED,
    ['id < :v', { type: 'string' }, 'declare it integer'],
    ['book.id between 1 and :v', { type: 'string' }, 'declare it integer'],
    ['id in (:v)', { type: 'array', items: { type: 'date' } }, 'declare it integer'],
    ['id = :v', { type: 'date' }, 'declare it integer'],
    ['iif(:v, id, 2) = 2', { type: 'string' }, 'declare it boolean'],
    ['substr(title, :v) = title', { type: 'string' }, 'declare it integer'],
    ['substr(title, 6) = :v', { type: 'integer' }, 'declare it string'],
    ["strftime('%Y', 'now') = :v", { type: 'integer' }, 'declare it string'],
    [
      'exists (select 1 from (select id as i from book) x where x.i > :v)',
      { type: 'string' },
      'declare it integer',
    ],
  ],
  leftovers: [],
  lists: {
    columns: ['whole', 'num', 'part', 'words', 'folded', 'trimmed', 'day', 'anything'],
    unkept: ['b'],
    choosesNulls: true,
    changing: ['random()', '"RANDOM" ()', 'randomblob(8)'],
  },
  caller: CALLER_BY_PARAMETERS,
};
