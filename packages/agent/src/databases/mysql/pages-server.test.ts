import { randomInt } from 'node:crypto';
import { executeMysql } from '@svc/testkit';
import { createConnection } from 'mysql2/promise';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CapabilitySpec } from '../../config/capability-file.ts';
import { ask, capabilityOfSpec, walk } from '../conformance/clauses/lists.testing.ts';
import { MOVING, walksBesideWrites } from '../conformance/clauses/walks.testing.ts';
import type { TestServer } from '../conformance/dialect.testing.ts';
import { openDriver, type TestedDriver } from '../conformance/tested-driver.testing.ts';
import { DatabaseError } from '../driver/errors.ts';
import { driverOf } from '../drivers.ts';
import { dialectOf } from './conformance.fixture.ts';
import { mysqlServers } from './servers.testing.ts';

/** A long attack asks for more. */
const PAGES = Number(process.env['SVC_TEST_PAGES'] ?? 150);

describe.each(mysqlServers().map((address) => [address.name, address] as const))('%s', (_name, address) => {
  const driver = driverOf(address.kind);
  const isMariaDb = address.kind === 'mariadb';
  let server: TestServer;
  let tested: TestedDriver;
  beforeAll(async () => {
    server = await dialectOf(address).start();
    tested = await openDriver(driver, (...of) => driver.connect(...of), server, 2);
  });
  afterAll(async () => {
    await tested.close();
    await server.stop();
  });
  const execute = (sql: string): ReturnType<typeof executeMysql> =>
    executeMysql(address, sql, String(Reflect.get(server.reader.section, 'name')));

  function listOf(sql: string, sort: string, maxRows: number): CapabilitySpec {
    return {
      sql,
      sort: { by: sort },
      paging: 'id',
      result: { id: { type: 'integer', nullable: false }, thing: { type: 'string' } },
      policy: { max_rows: maxRows },
    };
  }

  /** The walks by `thing`, both ways, on pages of several lengths, that are not the whole list. */
  async function brokenWalks(sql: string): Promise<readonly unknown[]> {
    const broken: unknown[] = [];
    for (const sort of ['thing', 'thing desc']) {
      const whole = capabilityOfSpec(listOf(sql, sort, 1000));
      const { list } = await ask(await tested.prepare(whole), whole);
      expect(list.length).toBeGreaterThan(10);
      for (const maxRows of [1, 3, 7]) {
        const capability = capabilityOfSpec(listOf(sql, sort, maxRows));
        const walked = await walk(await tested.prepare(capability), capability);
        if (JSON.stringify(walked) !== JSON.stringify(list)) broken.push([sql, sort, maxRows, walked]);
      }
    }
    return broken;
  }

  test('by texts of each collation, which hold different texts for equal', async () => {
    const collations = [
      'utf8mb4_bin',
      'utf8mb4_general_ci',
      'utf8mb4_danish_ci',
      'utf8mb4_unicode_520_ci',
      'latin1_german2_ci',
      'utf8mb3_swedish_ci',
      ...(isMariaDb
        ? ['utf8mb4_nopad_bin', 'utf8mb4_unicode_nopad_ci']
        : ['utf8mb4_0900_as_cs', 'utf8mb4_ja_0900_as_cs']),
    ];
    const words = ['a', 'A', 'a ', 'ä', 'ae', 'AE', 'aa', 'å', 'ss', 'ß', 'v', 'w', '', ' ', 'z'];
    for (const [at, collation] of collations.entries()) {
      const set = collation.split('_')[0];
      await execute(`create table words_${at} (id int primary key, thing varchar(30) character set ${set} collate ${collation});
        insert into words_${at} values ${words.map((word, index) => `(${index}, '${word}')`).join(', ')},
        ${words.map((word, index) => `(${index + 100}, '${word}')`).join(', ')}, (200, null), (201, null)`);
      expect(await brokenWalks(`select id, thing from words_${at}`)).toEqual([]);
      expect(await brokenWalks(`select id, upper(thing) as thing from words_${at}`)).toEqual([]);
      expect(
        await brokenWalks(`select max(id) as id, thing from words_${at} group by thing, id div 3`),
      ).toEqual([]);
    }
  });

  test('by what is no plain column: views, unions, functions, literals', async () => {
    await execute(`create table parts (id int primary key, kind enum('z', 'a', 'm'), n int, made int as (n * 3) stored);
      insert into parts (id, kind, n) with recursive n (i) as (select 1 union all select i + 1 from n where i < 40)
        select i, elt(1 + i % 3, 'z', 'a', 'm'), i % 7 from n;
      create view kinds as select id, concat(kind, '') as thing from parts union all select -id, concat(kind, n) from parts`);
    expect(await brokenWalks('select id, thing from kinds')).toEqual([]);
    expect(await brokenWalks('select id, concat(kind) as thing from parts')).toEqual([]);
    expect(await brokenWalks('select id, made as thing from parts')).toEqual([]);
    expect(
      await brokenWalks(
        "select id, case when n > 3 then 'x' when n > 1 then concat('y', kind) end as thing from parts",
      ),
    ).toEqual([]);
    expect(await brokenWalks("select id, 'same' as thing from parts")).toEqual([]);
    expect(await brokenWalks('select id, n / 3 as thing from parts')).toEqual([]);
    expect(
      await brokenWalks("select id, date_add('2024-01-31', interval n month) as thing from parts"),
    ).toEqual([]);
    expect(await brokenWalks('select id, kind = 1 as thing from parts')).toEqual([]);
    expect(
      await brokenWalks('select id, json_unquote(json_extract(\'{"a":"b"}\', \'$.a\')) as thing from parts'),
    ).toEqual([]);
  });

  test.runIf(isMariaDb)('by types that only MariaDB has', async () => {
    await execute(`create table owned (id int primary key, u uuid, i inet6);
      insert into owned with recursive n (i) as (select 1 union all select i + 1 from n where i < 40)
        select i, if(i % 5 = 0, null, concat(lpad(hex(i * 7919 % 256), 8, '0'), '-0000-1000-8000-', lpad(hex(i * 31 % 17), 12, '0'))),
          if(i % 4 = 0, null, concat('::', hex(i * 7919 % 65536))) from n`);
    for (const column of ['u', 'i'])
      expect(await brokenWalks(`select id, ${column} as thing from owned`)).toEqual([]);
  });

  test('while another connection writes, each row that stays is seen once, and in its place', async () => {
    for (const sql of MOVING) await execute(sql);
    const name = String(Reflect.get(server.reader.section, 'name'));
    const { port, user, password, host } = address;
    const writer = await createConnection({
      host,
      port,
      user,
      password,
      database: name,
      multipleStatements: true,
    });
    const { pages, writes, wrong } = await walksBesideWrites(
      tested,
      async (...statements) => void (await writer.query(statements.join('; '))),
      { most: PAGES, seed: randomInt(2 ** 31) },
    );
    await writer.end();
    expect(wrong).toEqual([]);
    expect(Math.min(pages, writes)).toBeGreaterThan(100);
  }, 600_000);

  test('of a statement with a LIMIT by a parameter in its FROM', async () => {
    const sql = 'select id, title as thing from (select id, title from book order by id limit :most) q';
    const params = { most: { type: 'integer', minimum: 0 } } as const;
    const capability = capabilityOfSpec({ ...listOf(sql, 'thing', 7), params });
    const query = await tested.prepare(capability);
    expect(await walk(query, capability, { most: 20 })).toHaveLength(20);
    expect(await walk(query, capability)).toHaveLength(50);
  });

  test('texts that are sorted by their beginnings alone fail, and lose no row', async () => {
    await execute(`create table stories (id int primary key, thing text not null);
      insert into stories with recursive n (i) as (select 1 union all select i + 1 from n where i < 60)
        select i, concat(if(i % 3 = 0, '', repeat('x', 1500)), char(97 + i * 7 % 26)) from n`);
    let failed = 0;
    for (const maxRows of [1, 2, 5, 19, 20, 21, 59]) {
      const capability = capabilityOfSpec(listOf('select id, thing from stories', 'thing', maxRows));
      try {
        const rows = await walk(await tested.prepare(capability), capability);
        expect(rows.map(({ id }) => Number(id)).toSorted((a, b) => a - b)).toEqual(
          Array.from({ length: 60 }, (_, at) => at + 1),
        );
      } catch (error) {
        failed += 1;
        expect(error).toBeInstanceOf(DatabaseError);
        expect(error).toMatchObject({ kind: 'failed', message: expect.stringContaining('field thing') });
      }
    }
    expect(failed).toBeGreaterThan(0);
    expect(await brokenWalks('select id, left(thing, 100) as thing from stories')).toEqual([]);
  });

  test('an index of the order gives a page, and those after it', async () => {
    await execute(`create table events (id int primary key, at datetime not null, word varchar(20) not null, key by_at (at, id),
        key by_word (word, id));
      insert into events with recursive n (i) as (select 0 union all select i + 1 from n where i < 199)
        select a.i * 200 + b.i, '2024-01-01' + interval (a.i * 200 + b.i) * 7919 % 40000 hour, concat('w', (a.i * 200 + b.i) * 7919 % 40000)
        from n a, n b; analyze table events`);
    const spec: CapabilitySpec = {
      sql: 'select id, at, word from events',
      sort: { first: 'at', word: 'word desc' },
      paging: 'id',
      result: {
        id: { type: 'integer', nullable: false },
        at: { type: 'datetime', nullable: false },
        word: { type: 'string', nullable: false },
      },
      policy: { max_rows: 10 },
    };
    const capability = capabilityOfSpec(spec);
    const query = await tested.prepare(capability);
    for (const [sort, index] of [
      ['first', 'by_at'],
      ['word', 'by_word'],
    ] as const) {
      const { cursor } = await ask(query, capability, { sort });
      const text = query.statementOf?.({ sort, cursor }) ?? '';
      const values = JSON.parse(Buffer.from(cursor ?? '', 'base64url').toString()).slice(0, -1);
      let next = -1;
      const order = [0, 0, 0, 1];
      const filled = text.replaceAll('?', () => `'${values[order[(next += 1)] ?? 1]}'`);
      const plan = JSON.stringify(await execute(`explain format = json ${filled} limit 11`));
      expect([sort, plan]).toEqual([sort, expect.stringContaining(index)]);
      expect(plan).not.toMatch(/filesort|Sort:/);
    }
  });
});
