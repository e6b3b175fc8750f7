import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, onTestFinished, test } from 'vitest';
import type { Capability } from '../../capabilities/model.ts';
import { callOf, capabilityOf } from '../conformance/capability.testing.ts';
import { openDriver, type TestedDriver } from '../conformance/tested-driver.testing.ts';
import type { DatabaseSection, Driver } from '../driver/driver.ts';
import { driverOf } from '../drivers.ts';
import { holdersOf } from '../engine-process/holders.testing.ts';
import { withSession } from '../engine-process/engine-database.ts';
import { ASK } from '../engine-process/engine-questions.ts';
import { configure } from './config/config.ts';
import { change } from './change.testing.ts';
import './engine-code.testing.ts';
import { createPool } from './connect.ts';

interface Scene {
  readonly folder: string;
  readonly file: string;
  readonly tested: TestedDriver;
  readonly problems: (capability: Capability) => Promise<readonly string[]>;
}

const driver = driverOf('duckdb');

/** A file with one table, and beside it `exports/sales.csv`, which may be read, and `secret.csv`, which may not. */
async function openScene({
  section = {},
  schema = [],
}: { readonly section?: object; readonly schema?: readonly string[] } = {}): Promise<Scene> {
  const folder = mkdtempSync(join(tmpdir(), 'duckdb-test-'));
  const file = join(folder, 'library.duckdb');
  await change(file, 'create table book as select i::integer as id from range(1, 51) t(i)', ...schema);
  mkdirSync(join(folder, 'exports'));
  writeFileSync(join(folder, 'exports/sales.csv'), 'id,total\n1,2.5\n2,3.5\n');
  writeFileSync(join(folder, 'secret.csv'), 'id\n7\n');
  const reader = {
    section: {
      driver: 'duckdb',
      file,
      read_files: [join(folder, 'exports/')],
      ...section,
    } as DatabaseSection,
    texts: {},
  };
  const resolveFile = (name: string): string => resolve(folder, name);
  const placed: Driver = {
    ...driver,
    configure: (own, texts) => driver.configure(own, texts, resolveFile),
  };
  const tested = await openDriver(placed, (...of) => driver.connect(...of), { reader }, 2);
  onTestFinished(async () => {
    await tested.close();
    rmSync(folder, { recursive: true });
  });
  return {
    folder,
    file,
    tested,
    problems: async (capability) =>
      (await tested.verifier.verify([capability])).faults.map(({ message }) => message),
  };
}

test('files below read_files are read, by relative and by absolute paths, and in the order of the SQL', async () => {
  const { folder, tested } = await openScene();
  for (const path of ['exports/sales.csv', join(folder, 'exports/sales.csv'), 'exports/*.csv']) {
    const capability = capabilityOf(
      `select id::integer as a from read_csv('${path}', header = true) order by id desc`,
    );
    expect(await tested.rowsOf(capability)).toBe('[{"a":2},{"a":1}]');
  }
  const list = capabilityOf(
    "select sum(total)::integer as a from read_csv(['exports/sales.csv'], columns = {'id': 'INTEGER', 'total': 'DOUBLE'})",
  );
  expect(await tested.rowsOf(list)).toBe('[{"a":6}]');
});

test.each([
  'secret.csv',
  'exports/../secret.csv',
  './exports/../secret.csv',
  '/etc/passwd',
  '~/x.csv',
  'file:///etc/passwd',
  'https://example.com/x.csv',
  's3://bucket/x.csv',
  'exports',
])('the path %s is not below read_files', async (path) => {
  const { problems } = await openScene();
  expect(await problems(capabilityOf(`select id as a from read_csv('${path}')`))).toEqual([
    expect.stringContaining('not below read_files'),
  ]);
});

test('a common table expression hides no view of that name elsewhere in the statement', async () => {
  const { problems, tested } = await openScene({
    schema: [
      'create view settings as select value as a from duckdb_settings()',
      'create view plain as select id as a from book',
    ],
  });
  for (const name of [
    'settings',
    'duckdb_databases',
    'pg_settings',
    'sqlite_master',
    'pragma_database_list',
  ]) {
    const sql = `select '' as a from ${name} union all (with ${name} as (select 'x' as a) select a from ${name})`;
    expect(await problems(capabilityOf(sql, { result: { a: 'string' } }))).toHaveLength(1);
  }
  const both =
    'select max(a) as a from plain union all (with plain as (select 7 as a) select a from plain) order by a';
  expect(await tested.rowsOf(capabilityOf(both))).toBe('[{"a":7},{"a":50}]');
});

test('a generated column is judged with the table that has it', async () => {
  const { problems, tested } = await openScene({
    schema: [
      `create table told (i integer, a varchar generated always as (current_setting('memory_limit') || i))`,
      `create table twice ("generated always as (" integer default (7), a integer generated always as ((2 * (i + 1))), i integer)`,
      'insert into twice (i) values (4)',
    ],
  });
  expect(await problems(capabilityOf('select i as a from told'))).toEqual([
    expect.stringContaining('generated column that calls current_setting'),
  ]);
  expect(await tested.rowsOf(capabilityOf('select a from twice'))).toBe('[{"a":10}]');
});

test('a path is written out, and options that write or name files are refused', async () => {
  const { problems } = await openScene();
  const params = { v: { type: 'string' } } as const;
  for (const path of [':v', "'exports/' || :v", "['exports/sales.csv', :v]", "concat('exports/', :v)"]) {
    expect(await problems(capabilityOf(`select id as a from read_csv(${path})`, { params }))).toEqual([
      expect.stringContaining('not written out'),
    ]);
  }
  for (const option of ['store_rejects = true', "rejects_table := 'x'", "encryption_config = {'a': 1}"]) {
    expect(
      await problems(capabilityOf(`select id as a from read_csv('exports/sales.csv', ${option})`)),
    ).toEqual([expect.stringContaining('the option')]);
  }
});

test('what the lists let pass the engine refuses by itself: nothing outside, nothing written, no setting', async () => {
  const { folder, tested } = await openScene();
  const resolveFile = (name: string): string => resolve(folder, name);
  const pool = createPool(configure({ file: 'library.duckdb', read_files: ['exports/'] }, {}, resolveFile));
  onTestFinished(() => pool.close());
  for (const sql of [
    "select * from read_csv('secret.csv')",
    "select * from read_text('/etc/passwd')",
    "select * from read_blob('/proc/self/environ')",
    "select * from glob('/*')",
    "select * from read_csv('exports/../secret.csv')",
    "copy (select 1) to 'x.csv'",
    "export database 'dump'",
    "attach 'other.duckdb' as other",
    "attach ':memory:' as other",
    'create secret (type s3)',
    'delete from book',
    'create table x (a int)',
    'install httpfs',
    'load httpfs',
    "load '/tmp/x.duckdb_extension'",
    "set log_query_path = 'x'",
    "set extension_directory = '/tmp'",
    "pragma profiling_output = 'x'",
    "set memory_limit = '10GB'",
    'set enable_external_access = true',
  ]) {
    await expect(withSession(pool, (session) => session.ask(ASK.read, { sql }))).rejects.toMatchObject({
      name: 'DatabaseError',
    });
  }
  expect(await tested.rowsOf(capabilityOf('select count(*)::integer as a from book'))).toBe('[{"a":50}]');
});

test('what the engine would do by itself the lists refuse', async () => {
  const { folder, problems } = await openScene();
  const resolveFile = (name: string): string => resolve(folder, name);
  const pool = createPool(configure({ file: 'library.duckdb', read_files: ['exports/'] }, {}, resolveFile));
  onTestFinished(() => pool.close());
  for (const sql of [
    "copy (select 1 as a) to 'exports/written.csv'",
    'create temp table x (a int)',
    'pragma enable_profiling',
    'force checkpoint',
    'load json',
  ]) {
    // What it answers with is no JSON.
    await withSession(pool, (session) => session.ask(ASK.read, { sql })).catch(() => {});
    expect([sql, await problems(capabilityOf(sql))]).toEqual([sql, [expect.any(String)]]);
  }
  expect(existsSync(join(folder, 'exports/written.csv'))).toBe(true);
  for (const sql of [
    "call enable_logging(storage = 'file', storage_path = 'x')",
    'select 1 as a from enable_logging()',
    'select count(*) as a from duckdb_settings()',
    "select load_extension('x') as a",
  ])
    expect([sql, await problems(capabilityOf(sql))]).toEqual([sql, [expect.any(String)]]);
});

test('what the engine keeps from nobody is one note', async () => {
  const { tested } = await openScene();
  expect(await tested.verifier.describeAccount?.([])).toEqual([
    { note: expect.stringMatching(/^DuckDB has no accounts.*COPY/) },
  ]);
});

test('macros and views are judged by what stands behind them', async () => {
  const schema = [
    'create macro twice(x) as x * 2',
    'create macro peek(x) as (select count(*) from duckdb_settings())',
    "create macro reading() as table select * from read_csv('/etc/passwd')",
    'create view "x as y" ("select", b) as select id, id + 1 from book',
    'create view recursion as select twice(id) as a from "x as y" v(id, b)',
    "create view peeking as select peek('A') as a",
    'create schema other',
    'create view other.book as select * from reading()',
  ];
  const { tested, problems } = await openScene({ schema });
  expect(await tested.rowsOf(capabilityOf('select a from recursion order by a limit 1'))).toBe('[{"a":2}]');
  expect(await tested.rowsOf(capabilityOf('select "select" as a from "x as y" order by 1 limit 1'))).toBe(
    '[{"a":1}]',
  );
  for (const [sql, problem] of [
    ["select peek('A')::integer as a", 'duckdb_settings'],
    ["select main.peek('A')::integer as a", 'duckdb_settings'],
    ['select 1 as a from reading()', 'not below read_files'],
    ['select a from peeking', 'duckdb_settings'],
    ['select id as a from other.book', 'not below read_files'],
    ["select system.main.getenv('HOME') as a", 'getenv'],
    ["select library.main.twice(current_setting('threads')) as a", 'current_setting'],
  ] as const) {
    expect([sql, await problems(capabilityOf(sql))]).toEqual([sql, [expect.stringContaining(problem)]]);
  }
});

test('names are told apart as DuckDB does, and behind a view its own schema comes first', async () => {
  const telling = `select current_setting('memory_limit') as a`;
  const { tested, problems } = await openScene({
    schema: [
      'create schema other',
      `create table x as select 'plain' as a`,
      `create view other.x as ${telling}`,
      'create table other.own as select 7 as a',
      'create macro reading() as table select * from x',
      'create view other.bare as select * from x',
      'create view other.of_catalog as select * from library.x',
      'create view other.by_macro as select * from main.reading()',
      'use other',
      'create view other.of_own as select * from own',
      'use main',
      'create schema "p.q"',
      'create schema p',
      `create table p."q.r" as select 'plain' as a`,
      `create view "p.q".r as ${telling}`,
      `create view "boo\u212a" as ${telling}`,
      'create schema library',
      `create view library.library.x as ${telling}`,
    ],
  });
  for (const name of [
    'other.bare',
    'other.of_catalog',
    'other.by_macro',
    '"p.q".r',
    '"boo\u212a"',
    'library.library.x',
  ]) {
    const found = await problems(capabilityOf(`select a from ${name}`, { result: { a: 'string' } }));
    expect([name, found]).toEqual([name, [expect.stringContaining('current_setting')]]);
  }
  for (const name of ['x', 'p."q.r"', 'library.main.x']) {
    const capability = capabilityOf(`select a from ${name}`, { result: { a: 'string' } });
    expect(await tested.rowsOf(capability)).toBe('[{"a":"plain"}]');
  }
  expect(await tested.rowsOf(capabilityOf('select a from other.of_own'))).toBe('[{"a":7}]');
});

test.each([
  ['lower', 'create macro lower(x) as (select count(*) from duckdb_settings())'],
  ['||', `create macro "||"(x, y) as current_setting('threads')`],
  ['current_user', "create macro current_user() as current_setting('threads')"],
  ['CURRENT_USER', "create macro CURRENT_USER() as current_setting('threads')"],
  ['array_extract', "create macro array_extract(x, y) as current_setting('threads')"],
  ['duckdb_views', 'create macro duckdb_views() as table select 1 as a'],
])(
  'a macro named %s hides a function that SQL may run without naming it: nothing is served',
  async (name, sql) => {
    const { problems } = await openScene({ schema: [sql] });
    expect(await problems(capabilityOf('select 1 as a'))).toEqual([
      expect.stringContaining(`a macro named ${name}, like a function`),
    ]);
  },
);

test('a text that looks like a common table but names a file reads nothing', async () => {
  const { problems } = await openScene();
  const sql = `select a from (with "exports/sales.csv" as (select 1 as a) select a from "exports/sales.csv")`;
  expect(await problems(capabilityOf(sql))).toEqual([expect.stringContaining('no table and no view')]);
  for (const hidden of [
    "select * replace (getenv('A') as id) from book",
    'select columns(c -> getenv(c) = 1) from book',
  ]) {
    expect(await problems(capabilityOf(`select id as a from (${hidden})`))).toEqual([
      expect.stringContaining('getenv'),
    ]);
  }
});

test('a list of 200 million values is ended, and the engine serves on', async () => {
  const { tested, file } = await openScene();
  const sorting = (id: number, factor: number): Capability =>
    capabilityOf(
      `select len(list_sort(list_transform(range(id * ${factor}), lambda x: hash(x))))::integer as a from book where id = ${id}`,
    );
  expect(await tested.rowsOf(sorting(3, 1))).toBe('[{"a":3}]');
  const query = await tested.prepare(sorting(50, 4_000_000));
  const error: unknown = await query.run(callOf()).catch((reason: unknown) => reason);
  expect(['failed', 'timeout']).toContain(Reflect.get(Object(error), 'kind'));
  expect(await tested.rowsOf(capabilityOf('select 1 as a'))).toBe('[{"a":1}]');
  expect(holdersOf(file).length).toBeGreaterThan(0);
});

test('a statement that cannot even be prepared is a fault of its capability alone', async () => {
  const { tested } = await openScene();
  const sql = 'select len(list_sort(list_transform(range(200000000), lambda x: hash(x))))::integer as a';
  const capabilities = [
    capabilityOf(sql, { name: 'large' }),
    capabilityOf('select 1 as a', { name: 'small' }),
  ];
  const { faults, prepared } = await tested.verifier.verify(capabilities);
  expect(faults.map(({ path }) => path)).toEqual(['capabilities.large.sql']);
  expect(prepared.map(({ capability }) => capability)).toEqual(['small']);
});

test('an endless recursion ends with its time, and its process with it or not', async () => {
  const { tested } = await openScene();
  const sql =
    'with recursive n (i) as (select 1 union all select i + 1 from n) select count(*)::integer as a from n';
  const query = await tested.prepare(capabilityOf(sql));
  await expect(query.run(callOf({}, { timeoutMs: 300 }))).rejects.toMatchObject({ kind: 'timeout' });
  expect(await tested.rowsOf(capabilityOf('select 1 as a'))).toBe('[{"a":1}]');
});

test('a number is compared as it is given, and not as a column would round it', async () => {
  const { tested } = await openScene({
    schema: ['create table price (p decimal(5, 2))', 'insert into price values (1.51), (0.10)'],
  });
  const query = capabilityOf('select count(*)::integer as a from price where p = :n', {
    params: { n: { type: 'number' } },
  });
  expect(await tested.rowsOf(query, { n: 1.505 })).toBe('[{"a":0}]');
  expect(await tested.rowsOf(query, { n: 0.1 })).toBe('[{"a":1}]');
});

test('a macro of the file does not say what may be opened', async () => {
  const { folder } = await openScene({
    schema: [`create macro list_value(x) as system.main.list_value('/')`],
  });
  const resolveFile = (name: string): string => resolve(folder, name);
  const pool = createPool(configure({ file: 'library.duckdb', read_files: ['exports/'] }, {}, resolveFile));
  onTestFinished(() => pool.close());
  const read = (path: string): Promise<unknown> =>
    withSession(pool, (session) => session.ask(ASK.read, { sql: `select count(*)::integer from '${path}'` }));
  expect(await read('exports/sales.csv')).toEqual([[2]]);
  await expect(read('secret.csv')).rejects.toMatchObject({ name: 'DatabaseError' });
});

test('a file that is replaced is opened and judged again', async () => {
  const { tested, file, folder } = await openScene();
  const query = await tested.prepare(capabilityOf('select count(*)::integer as a from book'));
  const count = async (): Promise<string> => Buffer.from((await query.run(callOf())).rows).toString();
  expect(await count()).toBe('[{"a":50}]');
  const next = join(folder, 'next.duckdb');
  await change(next, 'create table book as select 1 as id');
  renameSync(next, file);
  expect(await count()).toBe('[{"a":1}]');
  await change(next, "create view book as select current_setting('threads') as id");
  renameSync(next, file);
  await expect(count()).rejects.toMatchObject({
    kind: 'failed',
    message: expect.stringContaining('current_setting'),
  });
});

test('a file that a program has open for writing, that is none or that is not there is unavailable, with advice', async () => {
  const { file, folder } = await openScene();
  const ping = async (changes: object): Promise<void> => {
    const section = { driver: 'duckdb', file, ...changes } as DatabaseSection;
    const verifier = (await driver.loadVerifier()).open(driver.configure(section, {}, (name) => name));
    onTestFinished(() => verifier.close());
    await verifier.ping();
  };
  const instance = await DuckDBInstance.create(file);
  await expect(ping({})).rejects.toMatchObject({
    kind: 'unavailable',
    advice: expect.stringContaining('for writing'),
  });
  instance.closeSync();
  writeFileSync(join(folder, 'none.duckdb'), 'x'.repeat(10_000));
  await expect(ping({ file: join(folder, 'none.duckdb') })).rejects.toMatchObject({
    advice: expect.stringContaining('no DuckDB database'),
  });
  await expect(ping({ file: join(folder, 'nowhere.duckdb') })).rejects.toMatchObject({ kind: 'unavailable' });
});
