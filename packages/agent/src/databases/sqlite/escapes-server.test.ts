import { existsSync, renameSync } from 'node:fs';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { callOf, capabilityOf, numbers, textOf } from '../conformance/capability.testing.ts';
import type { DatabaseSection } from '../driver/driver.ts';
import { driverOf } from '../drivers.ts';
import { withSession } from '../engine-process/engine-database.ts';
import { ASK } from '../engine-process/engine-questions.ts';
import { configure } from './config/config.ts';
import { createPool } from './connect.ts';
import { loadSqlite } from './engine/node-sqlite.ts';
import { openScene, type Scene } from './scene.testing.ts';

let scene: Scene;
beforeEach(async () => {
  scene = await openScene();
});

const answer = capabilityOf('select 1 as a');

describe('what a statement may do', () => {
  test.each([
    // What sorts, groups, joins, recurses and computes, so that each instruction for it is known to only read.
    'select count(*) as a from book where title like :v or title glob :v',
    'select max(id) as a from book group by title having count(*) > 1 order by 1 desc, title limit 3 offset 1',
    'select distinct b.id as a from book b left join book c on c.id = b.id + 1 where b.title <> :v order by b.title',
    'select b.id as a from book b full outer join book c on b.title = c.title and b.id < c.id',
    'select id as a from book union select 1 except select 2 intersect select id from book order by 1',
    'select 1 as a union all values (2), (3)',
    'select sum(id) over (partition by id % 3 order by id rows between 1 preceding and 1 following) as a from book',
    'select lag(id, 1, 0) over w + ntile(3) over w as a from book window w as (order by title)',
    'with recursive n (i) as (select 1 union select i + 1 from n where i < 9) select i as a from n order by i desc',
    'with b as materialized (select id from book) select x.id as a from b x, b y where x.id = y.id',
    'select value as a from json_each(:v)',
    "select id as a from book where id in (select value from json_tree('[1,2]') where atom is not null)",
    'select id as a from book where (id, title) in (select id, title from book) and exists (select 1 from book)',
    'select id as a from book where id in (1, 2, 3) or id between 5 and 9 or title is null',
    "select cast(strftime('%Y', 'now') as integer) as a, upper(:v) as b, iif(1, 2, 3) as c, round(1.5) as d",
    'select case id when 1 then 2 else random() % 2 end as a from book order by random()',
    "select json_extract('{\"a\":1}', '$.a') as a, '[1]' -> 0 as b, '[1]' ->> 0 as c",
    'select count(distinct title) filter (where id > 3) as a, group_concat(title, :v) as b from book',
    'select a from plain',
    'select (select max(id) from book c where c.id < b.id) as a from book b order by b.title collate nocase',
    'select min(id) as a from book indexed by by_title where title > :v',
    'select id as a from keyed where name = :v',
  ])('%s only reads', async (sql) => {
    scene.execute(`create index by_title on book (title); create view plain as select max(id) as a from book;
      create table keyed (name text primary key, id integer) without rowid`);
    const params = sql.includes(':v') ? { v: { type: 'string' as const } } : {};
    const query = await scene.driver.prepare(capabilityOf(sql, { params }));
    await expect(query.run(callOf({ v: '[1]' }))).resolves.toMatchObject({ truncated: false });
  });

  test.each([
    ['select $v as a', /write parameters as :name/],
    ['select ?1 as a', /write parameters as :name/],
    ['select @v as a', /character @/],
    ['select [id] as a from book', /character \[/],
    ['select 1 as a \uFEFFunion select 2', /byte order mark/],
    ['select id as a from other.book', /not accepted/],
    ["select a from fts5vocab('words', 'row')", /fts5vocab/],
    ['select :svc_subject as a', /caller_variables/],
    ['select a from sqlite_dbpage', /not accepted|virtual/],
    ['with recursive x (a) as (select 1) select zeroblob(1) as a from pragma_table_list', /virtual table/],
  ])('%s is refused', async (sql, problem) => {
    expect(await scene.problems(capabilityOf(sql))).toEqual([expect.stringMatching(problem)]);
  });

  test('a parameter must not be called as those are that say who calls', async () => {
    const params = { svc_subject: { type: 'string' } } as const;
    expect(await scene.problems(capabilityOf('select :svc_subject as a', { params }))).toContainEqual(
      expect.stringContaining('begins with svc_'),
    );
  });

  test('a file may allow a function that is not known, and none that runs code', async () => {
    const changes = { sql: 'select changes() as a', allowFunctions: ['changes'] };
    expect(await scene.driver.rowsOf(capabilityOf(changes))).toBe('[{"a":0}]');
    const loads = { sql: "select load_extension('x') as a", allowFunctions: ['load_extension'] };
    expect(await scene.problems(capabilityOf(loads))).toEqual([expect.stringContaining('never allowed')]);
  });

  test.each([
    "attach '/etc/passwd' as other",
    "vacuum into '/tmp/x.db'",
    'create temp table x (a)',
    'pragma writable_schema = on',
    'pragma trusted_schema = on',
    "select load_extension('x') as a",
    "select readfile('/etc/passwd') as a",
    "select writefile('/tmp/x', 'x') as a",
    "select edit('x') as a",
    "select a from csv('/etc/passwd')",
    "select name as a from fsdir('/etc')",
    'select value as a from pragma_compile_options',
  ])('%s is refused, by the lists and by the engine', async (sql) => {
    expect(await scene.problems(capabilityOf(sql, { result: { a: 'string' } }))).toHaveLength(1);
    const pool = createPool(configure({ file: scene.file }, {}, (file) => file));
    onTestFinished(() => pool.close());
    const asked = withSession(pool, (session) => session.ask(ASK.read, { sql }));
    // Older versions of Node.js have no authorizer: there the lists alone refuse ATTACH and PRAGMA.
    if (Reflect.get(loadSqlite().DatabaseSync.prototype, 'setAuthorizer') === undefined)
      await asked.catch(() => {});
    else await expect(asked).rejects.toMatchObject({ name: 'DatabaseError' });
  });

  test('what the engine keeps from nobody is one note', async () => {
    expect(await scene.driver.verifier.describeAccount?.([])).toEqual([
      { note: expect.stringMatching(/^SQLite has no accounts.* ATTACH/) },
    ]);
  });

  test.each(['json_each', 'JSON_TREE'])('a table that is called %s is no function', async (name) => {
    const reads = capabilityOf(`select count(*) as a from ${name.toLowerCase()}`);
    const other = capabilityOf("select count(*) as a from json_each('[1]') x, json_tree('[1]') y");
    scene.execute(`create table ${name} (n)`);
    expect(await scene.driver.rowsOf(answer)).toBe('[{"a":1}]');
    expect(await scene.driver.rowsOf(reads)).toBe('[{"a":0}]');
    expect(await scene.problems(other)).toEqual([expect.stringContaining('not accepted')]);
    for (const module of ['dbstat', 'fts5 (n)']) {
      scene.execute(`drop table ${name}; create virtual table ${name} using ${module}`);
      expect(await scene.driver.rowsOf(answer)).toBe('[{"a":1}]');
      expect(await scene.problems(reads)).toEqual([expect.stringContaining('virtual table')]);
    }
  });

  test('nothing is left beside the file', () => {
    const left = ['-wal', '-shm', '-journal'].filter((end) => existsSync(`${scene.file}${end}`));
    expect(left).toEqual([]);
  });
});

describe('what a query may take', () => {
  test('an endless recursion ends with its time', async () => {
    const sql =
      'with recursive n (i) as (select 1 union all select i + 1 from n) select count(*) as a from n';
    const query = await scene.driver.prepare(capabilityOf(sql));
    await expect(query.run(callOf({}, { timeoutMs: 300 }))).rejects.toMatchObject({ kind: 'timeout' });
    expect(await scene.driver.rowsOf(answer)).toBe('[{"a":1}]');
  });

  test.runIf(process.platform === 'linux').each([
    'select length(hex(zeroblob(400000000))) as a',
    `with recursive n (i, t) as (select 1, randomblob(100000) union all select i + 1, randomblob(100000) from n where i < 20000)
      select count(*) as a from (select i from n order by t)`,
  ])('%s ends with its process where it wants more memory than there is for it', async (sql) => {
    const query = await scene.driver.prepare(capabilityOf(sql));
    await expect(query.run(callOf({}, { timeoutMs: 60_000 }))).rejects.toMatchObject({
      kind: 'failed',
      message: expect.stringContaining('memory'),
    });
    expect(await scene.driver.rowsOf(answer)).toBe('[{"a":1}]');
  });

  test('a cell of 60 MB does not travel', async () => {
    const large = capabilityOf('select hex(zeroblob(30000000)) as a', {
      result: { a: 'string' },
      limits: { maxBytes: 1000 },
    });
    const query = await scene.driver.prepare(large);
    // Of its rows, or, where it is more than its process may have in memory, of that.
    const error: unknown = await query.run(callOf()).catch((reason: unknown) => reason);
    expect(['too_large', 'failed']).toContain(Reflect.get(Object(error), 'kind'));
  });

  test('rows beyond the caps are not even looked for', async () => {
    const sql = 'with recursive n (i) as (select 1 union all select i + 1 from n) select i as a from n';
    const query = await scene.driver.prepare(capabilityOf(sql, { limits: { maxRows: 3 } }));
    const { rows, truncated } = await query.run(callOf());
    expect([textOf(rows), truncated]).toEqual(['[{"a":1},{"a":2},{"a":3}]', true]);
  });
});

describe('a file that changes while it is open', () => {
  test('is read as it is at each call', async () => {
    const query = await scene.driver.prepare(capabilityOf('select count(*) as a from book'));
    expect(textOf((await query.run(callOf())).rows)).toBe('[{"a":50}]');
    scene.execute("insert into book values (51, 'new')");
    expect(textOf((await query.run(callOf())).rows)).toBe('[{"a":51}]');
  });

  test('is judged again when its schema changes', async () => {
    scene.execute('create view shown as select id as a from book');
    const query = await scene.driver.prepare(capabilityOf('select max(a) as a from shown'));
    const rows = async (): Promise<string> => textOf((await query.run(callOf())).rows);
    expect(await rows()).toBe('[{"a":50}]');
    scene.execute('create index by_id on book (title, id)');
    expect(await rows()).toBe('[{"a":50}]');
    scene.execute('drop view shown; create view shown as select changes() as a');
    await expect(query.run(callOf())).rejects.toMatchObject({
      kind: 'failed',
      message: expect.stringMatching(/schema has changed.*changes/),
    });
    scene.execute('drop view shown; create view shown as select id as b from book');
    await expect(query.run(callOf())).rejects.toMatchObject({ kind: 'failed' });
    scene.execute('drop view shown; create view shown as select id + 1 as a from book');
    expect(await rows()).toBe('[{"a":51}]');
  });

  test('may be another file under its name', async () => {
    const query = await scene.driver.prepare(capabilityOf('select max(id) as a from book'));
    expect(textOf((await query.run(callOf())).rows)).toBe('[{"a":50}]');
    const next = scene.another("create table book (id integer); insert into book values ('7')");
    renameSync(next, scene.file);
    expect(textOf((await query.run(callOf())).rows)).toBe('[{"a":7}]');
    expect(scene.driver.changes).toEqual([]);
  });

  test('is waited for as long as the call may, while a writer has it', async () => {
    const query = await scene.driver.prepare(answer);
    const books = await scene.driver.prepare(capabilityOf('select max(id) as a from book'));
    const writer = scene.writer();
    writer.exec('begin exclusive');
    await expect(books.run(callOf({}, { timeoutMs: 300 }))).rejects.toMatchObject({ kind: 'timeout' });
    const waiting = books.run(callOf());
    writer.exec('commit');
    expect(textOf((await waiting).rows)).toBe('[{"a":50}]');
    expect(textOf((await query.run(callOf())).rows)).toBe('[{"a":1}]');
  });

  test('may be in WAL mode, and a query sees one state of it', async () => {
    scene.execute('pragma journal_mode = wal');
    const writer = scene.writer();
    const sql = 'select (select count(*) from book) - (select count(*) from book b) as a from book';
    const query = await scene.driver.prepare(capabilityOf(sql));
    for (const n of numbers(20)) {
      const call = query.run(callOf());
      writer.exec(`insert into book values (${100 + n}, 'new')`);
      expect(textOf((await call).rows)).not.toMatch(/[1-9]/);
    }
  });
});

test('what a statement yields is proposed by what the tables declare', async () => {
  scene.execute(
    'create table kinds (i bigint, r double precision, b boolean, d date, t datetime, v varchar(9))',
  );
  const { verifier } = scene.driver;
  const described = await verifier.describe('kinds', 'select *, i + 1 as e from kinds where v = :v');
  expect(described).toMatchObject({
    ok: true,
    statement: {
      params: [{ name: 'v', schema: { type: 'string' } }],
      fields: [
        { name: 'i', type: 'integer' },
        { name: 'r', type: 'number' },
        { name: 'b', type: 'boolean' },
        { name: 'd', type: 'date' },
        { name: 't', type: 'datetime' },
        { name: 'v', type: 'string' },
        { name: 'e', type: 'string' },
      ],
    },
  });
  expect(await verifier.describe('kinds', 'delete from kinds')).toMatchObject({ ok: false });
});

test('how a query is run is told in lines', async () => {
  const { verifier } = scene.driver;
  const { prepared } = await verifier.verify([capabilityOf('select max(id) as a from book')]);
  const [first] = prepared;
  expect(first && (await verifier.plan(first))).toEqual([expect.stringContaining('book')]);
});

describe('values', () => {
  test.each([
    ['integer', '1.5'],
    ['integer', "'1'"],
    ['number', "'1.5'"],
    ['number', "x'01'"],
    ['boolean', '2'],
    ['boolean', "'true'"],
    ['date', "'2024-02-30'"],
    ['date', "'29.2.2024'"],
    ['date', '20240229'],
    ['datetime', "'2024-02-29'"],
    ['datetime', "'2024-02-29 25:00'"],
    ['datetime', '1709164800'],
    ['array', '1'],
    ['object', "x'7b7d'"],
  ] as const)('of the declared type %s are not %s', async (type, expression) => {
    const query = await scene.driver.prepare(
      capabilityOf(`select ${expression} as a`, { result: { a: type } }),
    );
    await expect(query.run(callOf())).rejects.toMatchObject({
      kind: 'failed',
      message: expect.stringContaining(`no ${type}`),
    });
  });

  test('one of another class fails only where it is', async () => {
    scene.execute("create table mixed (n, v integer); insert into mixed values (1, 1), (2, 'two')");
    const params = { n: { type: 'integer' } } as const;
    const query = await scene.driver.prepare(
      capabilityOf('select v as a from mixed where n = :n', { params }),
    );
    expect(textOf((await query.run(callOf({ n: 1 }))).rows)).toBe('[{"a":1}]');
    await expect(query.run(callOf({ n: 2 }))).rejects.toMatchObject({ kind: 'failed' });
  });
});

test.runIf(process.platform === 'linux')('less memory than a process needs at all is told', async () => {
  const driver = driverOf('sqlite');
  const section = { driver: 'sqlite', file: scene.file, memory: '1MB' } as DatabaseSection;
  const verifier = (await driver.loadVerifier()).open(driver.configure(section, {}, (file) => file));
  onTestFinished(() => verifier.close());
  await expect(verifier.ping()).rejects.toMatchObject({
    kind: 'unavailable',
    advice: expect.stringContaining('raise memory'),
  });
});

test.each([
  ['is not there', 'nowhere.db', /check file/],
  ['is no database', 'no.db', /no SQLite database/],
  ['is a folder', '.', /does not name a regular file/],
])('a file that %s cannot be used, and the advice says so', async (_title, name, advice) => {
  scene.write(
    'no.db',
    'This is a text, and as long as a header of a database has to be, and longer. '.repeat(4),
  );
  const driver = driverOf('sqlite');
  const section = { driver: 'sqlite', file: name } as DatabaseSection;
  const verifier = (await driver.loadVerifier()).open(
    driver.configure(section, {}, (each) => scene.path(each)),
  );
  onTestFinished(() => verifier.close());
  const error: unknown = await verifier.ping().catch((reason: unknown) => reason);
  expect(error).toMatchObject({ kind: 'unavailable', advice: expect.stringMatching(advice) });
  expect(Reflect.get(Object(error), 'advice')).not.toContain(scene.path('.'));
});
