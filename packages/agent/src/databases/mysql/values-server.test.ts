import { createRandom, executeMysql, pick } from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { compileParameters } from '../../capabilities/parameters.ts';
import { callOf, capabilityOf, textOf } from '../conformance/capability.testing.ts';
import type { TestServer } from '../conformance/dialect.testing.ts';
import { openDriver, type TestedDriver } from '../conformance/tested-driver.testing.ts';
import { driverOf } from '../drivers.ts';
import { dialectOf } from './conformance.fixture.ts';
import { mysqlServers } from './servers.testing.ts';

const SEED = Number(process.env['SVC_TEST_SEED'] ?? Date.now() % 2 ** 32);
const DOCUMENTS = [
  String.raw`{"a":1.5e-10,"b":[true,null,"x\"y\\","\u00e9é\n"],"c":{"d":-0.0,"e":"1. - \\ 1e"}}`,
  '{"a-":"-","b":-1E+5,"":{}}',
];
const SCRAPS = [...Array.from('"\\-.eE+01,:{}[]ux \n\t'), String.raw`\"`, String.raw`\x`, String.raw`\u`];

describe.each(mysqlServers().map((address) => [address.name, address] as const))('%s', (_name, address) => {
  const driver = driverOf(address.kind);
  let server: TestServer;
  let tested: TestedDriver;
  beforeAll(async () => {
    server = await dialectOf(address).start();
    tested = await openDriver(driver, (...of) => driver.connect(...of), server, 1);
  });
  afterAll(async () => {
    await tested.close();
    await server.stop();
  });

  const execute = (sql: string): ReturnType<typeof executeMysql> =>
    executeMysql(address, sql, String(Reflect.get(server.reader.section, 'name')));

  test('a leap second is the next second, and a time beyond the years that there are is told to the caller', async () => {
    const query = await tested.prepare(
      capabilityOf('select cast(:t as datetime(6)) as a', {
        params: { t: { type: 'datetime' } },
        result: { a: 'datetime' },
      }),
    );
    const valueOf = async (t: string): Promise<string> => textOf((await query.run(callOf({ t }))).rows);
    expect(await valueOf('2016-12-31T23:59:60Z')).toBe('[{"a":"2017-01-01T00:00:00+00:00"}]');
    expect(await valueOf('2017-01-01T05:29:60.5+05:30')).toBe('[{"a":"2017-01-01T00:00:00.5+00:00"}]');
    expect(await valueOf('9999-12-31T23:59:59Z')).toBe('[{"a":"9999-12-31T23:59:59+00:00"}]');
    expect(await valueOf('0001-01-01T00:00:00Z')).toBe('[{"a":"0001-01-01T00:00:00+00:00"}]');
    const before = await server.sessions();
    for (const t of ['9999-12-31T23:59:59-14:00', '0001-01-01T00:00:00+14:00', '9999-12-31T23:59:60Z']) {
      await expect(valueOf(t)).rejects.toMatchObject({
        kind: 'invalid_params',
        advice: expect.stringContaining('t: '),
      });
    }
    expect(await server.sessions()).toBe(before);
  });

  test('keys of all 64 bits and long decimals find their rows, and the rows behind them', async () => {
    const keys = ['9007199254740992', '9007199254740993', '9223372036854775808', '18446744073709551615'];
    const decimals = ['-0.000000000000000000012', '9007199254740992.1', '123456789012345678901234567890.5'];
    await execute(`create table snow (id bigint unsigned primary key);
      insert into snow values ${keys.map((key) => `(${key})`).join(', ')};
      create table precise (d decimal(65, 30) primary key);
      insert into precise values ${decimals.map((d) => `(${d})`).join(', ')}`);
    const ids = async (sql: string, v: string): Promise<string> => {
      const capability = capabilityOf(sql, { params: { v: { type: 'integer' } } });
      return tested.rowsOf(capability, compileParameters(capability)(Buffer.from(`{"v":${v}}`)));
    };
    for (const [at, key] of keys.entries()) {
      expect(await ids('select id as a from snow where id = :v', key)).toBe(`[{"a":${key}}]`);
      const behind = keys.slice(at + 1).map((other) => `{"a":${other}}`);
      expect(await ids('select id as a from snow where id > :v order by id', key)).toBe(
        `[${behind.join(',')}]`,
      );
    }
    const schema = { type: 'number' } as const;
    const of = 'select cast(trim(trailing 0 from d) as char) as a from precise where d';
    for (const [at, decimal] of decimals.entries()) {
      const rows = async (comparison: string): Promise<string> => {
        const sql = `${of} ${comparison} :v order by d`;
        const capability = capabilityOf(sql, { params: { v: schema }, result: { a: 'string' } });
        return tested.rowsOf(capability, compileParameters(capability)(Buffer.from(`{"v":${decimal}}`)));
      };
      expect(await rows('=')).toBe(`[{"a":"${decimal}"}]`);
      expect(await rows('>')).toBe(
        `[${decimals
          .slice(at + 1)
          .map((d) => `{"a":"${d}"}`)
          .join(',')}]`,
      );
    }
  });

  test('what is longer than the server takes is told to the caller', async () => {
    const query = await tested.prepare(
      capabilityOf('select length(:v) as a', { params: { v: { type: 'string' } } }),
    );
    const most = address.kind === 'mysql' ? 67_108_864 : 16_777_216;
    await expect(query.run(callOf({ v: 'x'.repeat(most) }))).rejects.toMatchObject({
      kind: 'invalid_params',
      advice: expect.stringContaining('v: it is longer'),
    });
    expect(textOf((await query.run(callOf({ v: 'xyz' }))).rows)).toBe('[{"a":3}]');
  });

  test.runIf(address.kind === 'mariadb')('documents in columns of any character set are UTF-8', async () => {
    const sets = ['latin1', 'ucs2', 'utf16', 'utf32', 'utf8mb3', 'utf8mb4'];
    const columns = sets.map((set) => `${set}_ varchar(50) character set ${set}`);
    await execute(`create table documents (${columns.join(', ')});
      insert into documents values (${sets.map(() => `'{"a":"é"}'`).join(', ')})`);
    for (const set of sets) {
      const capability = capabilityOf(`select ${set}_ as a from documents`, { result: { a: 'object' } });
      expect([set, await tested.rowsOf(capability)]).toEqual([set, '[{"a":{"a":"é"}}]']);
    }
  });

  test.runIf(address.kind === 'mariadb')(
    `what MariaDB alone takes for JSON is null, with seed ${SEED}`,
    async () => {
      const query = await tested.prepare(
        capabilityOf('select :v as a', { params: { v: { type: 'string' } }, result: { a: 'object' } }),
      );
      const answer = async (v: string): Promise<unknown> =>
        JSON.parse(textOf((await query.run(callOf({ v }))).rows));
      for (const v of ['{"a":1.}', '{"a":1e}', '{"a":-}', '{"\ta":1}', String.raw`{"a":"\x"}`])
        expect(await answer(v)).toEqual([{ a: null }]);
      const random = createRandom(SEED);
      const below = (end: number): number => Math.floor(random() * end);
      for (let round = 0; round < 2000; round += 1) {
        let v = pick(random, DOCUMENTS);
        for (let changes = 1 + below(3); changes > 0; changes -= 1) {
          const at = below(v.length + 1);
          v = v.slice(0, at) + pick(random, SCRAPS) + v.slice(at + below(2));
        }
        // MariaDB 10 takes no zero with an exponent.
        if (/[^\d.]0e/i.test(v)) continue;
        expect([v, await answer(v)]).toEqual([v, [{ a: documentOf(v) }]]);
      }
    },
  );
});

function documentOf(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}
