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

  test(`a FLOAT leaves as its shortest decimal, and a DOUBLE with all its digits, with seed ${SEED}`, async () => {
    const random = createRandom(SEED);
    const anyFloat = (): number => {
      const bits = Math.floor(random() * 2 ** 32);
      return new Float32Array(Uint32Array.of(bits).buffer)[0] ?? 0;
    };
    const decimals = [
      '19.99',
      '-0.1',
      '0',
      '16777216',
      '8388609',
      '123456.79',
      '1e+38',
      '-3.4028233e+38',
      '1e-45',
      '-1e-45',
      '1.1754944e-38',
      '33554430',
      '1.0000001',
      ...Array.from({ length: 500 }, anyFloat)
        .filter((float) => Math.abs(float) < 3.4e38)
        .map(shortestFloat),
    ];
    await execute(`create table floats (id int primary key, f float, d double, g float(7, 2));
      insert into floats values ${decimals.map((decimal, id) => `(${id}, ${decimal}, ${decimal}, 19.99)`).join(', ')}`);
    const capability = (sql: string): ReturnType<typeof capabilityOf> =>
      capabilityOf(sql, { result: { f: 'number', d: 'number', g: 'number', t: 'string', m: 'number' } });
    // Merged into the SELECT around it, and not.
    for (const order of ['', ' order by id']) {
      const columns = 'f, d, g, f as t, f as m';
      const rows: unknown = JSON.parse(
        await tested.rowsOf(capability(`select ${columns} from floats where id >= 0${order}`)),
      );
      expect(rows).toEqual(
        decimals.map((decimal) => ({
          f: Number(decimal),
          d: Number(decimal),
          g: 19.99,
          t: String(Number(decimal)),
          m: Number(decimal),
        })),
      );
    }
    const expression = 'select max(f) as f, 19.989999771118164e0 as d, g, f as t, coalesce(min(f), 0e0) as m';
    expect(await tested.rowsOf(capability(`${expression} from floats where id = 0 group by g, f`))).toBe(
      '[{"f":19.99,"d":19.989999771118164,"g":19.99,"t":"19.99","m":19.989999771118164}]',
    );
  });

  test(`a DOUBLE leaves with all its digits, with seed ${SEED}`, async () => {
    const random = createRandom(SEED);
    const anyDouble = (): number => {
      const bits = Uint32Array.of(Math.floor(random() * 2 ** 32), Math.floor(random() * 2 ** 32));
      return new Float64Array(bits.buffer)[0] ?? 0;
    };
    const some = [1, 0.1, 1e15, 1e22, 12345678.9, -0.00001234567890123456, -2.0426385515127876e-35];
    const doubles = [...some, ...Array.from({ length: 1000 }, anyDouble).filter(Number.isFinite)];
    await execute(`create table doubles (id int primary key, d double);
      insert into doubles values ${doubles.map((double, id) => `(${id}, ${double.toExponential()})`).join(', ')}`);
    const sql = 'select d, d as t from doubles order by id';
    const rows: unknown = JSON.parse(
      await tested.rowsOf(
        capabilityOf(sql, { result: { d: 'number', t: 'string' }, limits: { maxRows: 2000 } }),
      ),
    );
    const found = Array.isArray(rows) ? rows : [];
    expect(found.map(({ d }: { d: number }) => d)).toEqual(doubles);
    expect(found.map(({ t }: { t: string }) => Number(t))).toEqual(doubles);
  });

  test('what functions make of a parameter is text, and what they make of bytes is bytes', async () => {
    await execute(
      "create table bytes (b varbinary(10), t varchar(10)); insert into bytes values (x'c3a9', 'é')",
    );
    const values = { v: 'é"ß', n: 7 };
    const [text, upper] = [JSON.stringify(values.v), JSON.stringify('É"ß')];
    const document = address.kind === 'mysql' ? '{"a": "é\\"ß"}' : '{"a":"é\\"ß"}';
    const cases: readonly (readonly [expression: string, json: string, type?: 'object'])[] = [
      [':v', text],
      ['upper(:v)', upper],
      ["concat(:v, '')", text],
      ['concat(:v, :n)', JSON.stringify(`${values.v}7`)],
      ['concat(t, :v)', JSON.stringify(`é${values.v}`)],
      ['coalesce(:v, t)', text],
      ['if(:n = 7, :v, null)', text],
      ['trim(lower(replace(:v, :v, :v)))', text],
      ['reverse(reverse(:v))', text],
      ["json_unquote(json_extract(json_object('a', :v), '$.a'))", text],
      ['hex(:v)', '"C3A922C39F"'],
      ['max(:v)', text],
      ["json_object('a', :v)", document, 'object'],
      ['concat(b, :v)', String.raw`"\\xc3a9c3a922c39f"`],
      ['b', String.raw`"\\xc3a9"`],
      ['unhex(hex(:v))', String.raw`"\\xc3a922c39f"`],
    ];
    for (const [expression, json, type = 'string'] of cases) {
      // In a derived table of its own, as well.
      for (const order of ['', ' order by 1']) {
        const sql = `select ${expression} as a from bytes where :v is not null and :n is not null${order}`;
        const capability = capabilityOf(sql, {
          params: { v: { type: 'string' }, n: { type: 'integer' } },
          result: { a: type },
        });
        expect([sql, await tested.rowsOf(capability, values)]).toEqual([sql, `[{"a":${json}}]`]);
      }
    }
  });

  test('a row of FLOATs may be as long as max_bytes says, and no longer', async () => {
    await execute('create table prices (f float); insert into prices values (19.99)');
    const selecting = (maxBytes: number): ReturnType<typeof capabilityOf> =>
      capabilityOf('select f as a, f as b from prices', {
        result: { a: 'number', b: 'number' },
        limits: { maxBytes },
      });
    const row = '[{"a":19.99,"b":19.99}]';
    expect(await tested.rowsOf(selecting(row.length))).toBe(row);
    await expect(tested.rowsOf(selecting(row.length - 1))).rejects.toMatchObject({ kind: 'too_large' });
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

/** By another way than that of the driver: the first number of digits that reads back. */
function shortestFloat(float: number): string {
  for (let digits = 0; ; digits += 1) {
    const decimal = float.toExponential(digits);
    if (Math.fround(Number(decimal)) === float) return decimal;
  }
}

function documentOf(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}
