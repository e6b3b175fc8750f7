import { runProcess, testDatabase } from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startStation, type Station } from './station.testing.ts';

const integer = { type: 'integer' };
const text = { type: 'string' };

let station: Station;
beforeAll(async () => {
  const foreign = `create extension file_fdw; create server files foreign data wrapper file_fdw;
    create foreign table remote (one text) server files options (program 'echo 1');`;
  station = await startStation(await testDatabase({ sql: [foreign] }));
});
afterAll(() => station.stop());

describe('a file', { tags: ['file:lint', 'command:check'] }, () => {
  const told = (text: string): readonly string[] =>
    text
      .trimEnd()
      .split('\n')
      .map((line) => line.slice(line.indexOf('  ') + 2));

  async function faults(capability: Readonly<Record<string, unknown>>, name = 'c') {
    const { code, text } = await station.check({ capabilities: { [name]: capability } });
    return { code, lines: told(text) };
  }

  /** By the executable, which asks the database and names its log. */
  async function faultsInDatabase(capability: Readonly<Record<string, unknown>>) {
    const folder = await station.folder({
      'capability.yaml': station.file({ capabilities: { c: capability } }),
    });
    const { code, stdout } = await runProcess(`${folder}/svc-agent`, ['check']);
    return { code, lines: told(stdout) };
  }
  const one = { sql: 'select 1 as one', result: { one: integer } };

  test.each([
    ['a', true],
    [`a${'b'.repeat(47)}`, true],
    [`a${'b'.repeat(48)}`, false],
    ['1a', false],
    ['_a', false],
    ['aB', false],
    ['a-b', false],
  ])('a capability %s: %s', { tags: ['file:capabilities'] }, async (name, accepted) => {
    const { code } = await faults(one, name);
    expect(code).toBe(accepted ? 0 : 2);
  });

  test.each([
    ['_', true],
    ['a'.repeat(63), true],
    ['a'.repeat(64), false],
    ['1a', false],
    ['A', false],
  ])('a parameter %s: %s', { tags: ['capability:params'] }, async (name, accepted) => {
    const capability = { sql: `select :${name} as one`, result: { one: text }, params: { [name]: text } };
    const { code, lines } = await faults(capability);
    expect(code).toBe(accepted ? 0 : 2);
    expect(lines.join().includes('this is no parameter name')).toBe(!accepted);
  });

  test.each([
    ['no field', { ...one, result: {} }, 'capabilities.c.result: must have at least 1 entry'],
    ['no result', { sql: one.sql }, 'capabilities.c.result: is required'],
    ['no SQL', { result: one.result }, 'capabilities.c.sql: is required'],
  ])(
    'a capability with %s is refused',
    { tags: ['capability:result', 'capability:sql'] },
    async (_title, capability, fault) => {
      expect(await faults(capability)).toEqual({ code: 2, lines: [fault] });
    },
  );

  test(
    'of the executable, too, each fault is told at its place',
    {
      tags: [
        'file:capabilities',
        'file:gateway.url',
        'file:database.driver',
        'file:sizes',
        'file:durations',
        'file:logging.max_size',
        'capability:params',
        'capability:result',
        'capability:sql',
      ],
    },
    async () => {
      const folder = await station.folder({
        'capability.yaml': station.file({
          gateway: { url: 'https://gateway.example.com/ws/agent' },
          database: { driver: 'oracle' },
          logging: { max_size: '1023B' },
          capabilities: {
            'a-b': one,
            c: { ...one, params: { '1a': text }, policy: { timeout: '30', max_bytes: '1.5KB' } },
            d: { sql: one.sql },
            e: { result: one.result },
          },
        }),
      });
      const { code, stdout } = await runProcess(`${folder}/svc-agent`, ['check', '--offline']);
      expect(code).toBe(2);
      expect(told(stdout)).toEqual(
        [
          'gateway.url: must ',
          'database.driver: must be one of postgres, mariadb, mysql, sqlite, duckdb',
          'capabilities.a-b: this is no capability name',
          'capabilities.c.params.1a: this is no parameter name',
          'capabilities.c.policy.timeout: must be a duration',
          'capabilities.c.policy.max_bytes: must be ',
          'capabilities.d.result: is required',
          'capabilities.e.sql: is required',
          'logging.max_size: must be at least 1KB',
        ].map((fault) => expect.stringContaining(fault)),
      );
    },
  );

  test(
    'a volatile function is refused unless it is allowed',
    {
      tags: ['capability:policy.allow_functions', 'sql:volatile'],
    },
    async () => {
      const sleeping = { sql: 'select pg_sleep(0)::text as one', result: { one: text } };
      expect(await faultsInDatabase(sleeping)).toMatchObject({
        code: 2,
        lines: [
          expect.any(String),
          expect.stringContaining('calls pg_sleep, which is volatile'),
          expect.stringContaining('`--log FILE`'),
        ],
      });
      const policy = { allow_functions: ['pg_sleep'] };
      expect((await faultsInDatabase({ ...sleeping, policy })).code).toBe(0);
      const qualified = { allow_functions: ['pg_catalog.pg_sleep'] };
      expect((await faultsInDatabase({ ...sleeping, policy: qualified })).code).toBe(0);
    },
  );

  test(
    'a foreign table is refused unless it is allowed, and then its risk is a warning',
    { tags: ['capability:policy.allow_foreign_tables'] },
    async () => {
      const reading = { sql: 'select one from remote', result: { one: text } };
      const risk = 'each read runs a program on the database server';
      const refused = await faultsInDatabase(reading);
      expect(refused.code).toBe(2);
      expect(refused.lines.join()).toContain(`reads the foreign table public.remote, and ${risk}: remove it`);
      const policy = { allow_foreign_tables: ['public.remote'] };
      const allowed = await faultsInDatabase({ ...reading, policy });
      expect(allowed.code).toBe(0);
      expect(allowed.lines.join()).toContain(`reads the foreign table public.remote: ${risk}`);
    },
  );
});
