import { testDatabase, type TestDatabase } from '@svc/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { capabilityOf, configOf, openPostgres, type TestedDatabase } from '../../capability.fixture.ts';
import { createPool } from '../../connect.ts';
import type { Rows } from '../../connection/statement.ts';
import { runOwnStatements } from '../../execute/own-statements.ts';
import type { SessionPool } from '../../pool/session-pool.ts';
import { DependencyCatalog, type Question } from './dependency-catalog.ts';

const schema = `
  create function noise(n int) returns int language plpgsql volatile as 'begin return n; end';
  create function steady(n int) returns int language sql stable as 'select noise(n)';
  create domain positive as int check (steady(value) > 0);
  create schema "a,b";
  create function "a,b".hidden(n int) returns int language plpgsql volatile as 'begin return n; end';
  create function on_comma(n int) returns int language sql stable set search_path = "a,b" as 'select hidden(n)';
  create schema upper;
  create function upper.loud(n int) returns int language plpgsql volatile as 'begin return n; end';
  set search_path = public;
  select set_config('search_path', 'UPPER, public', false);
  create function on_upper(n int) returns int language sql stable set search_path from current as 'select loud(n)';
  alter function upper.on_upper set schema public;
`;

let server: TestDatabase;
let pool: SessionPool;
let database: TestedDatabase;
beforeAll(async () => {
  server = await testDatabase({ sql: [schema] });
  pool = createPool(configOf(server));
  database = openPostgres(configOf(server));
});
afterAll(async () => {
  await pool.close();
  await database.close();
});

test('of two that ask at the same time, each waits for what the bodies of functions name', async () => {
  const [row] = await server.query("select 'positive'::regtype::oid::text as oid");
  const types = [String(row?.['oid'])];
  const catalog = new DependencyCatalog(pool);
  await catalog.learn([]);
  const ask = async (question: Question | undefined): Promise<readonly [Question, readonly Rows[]]> => {
    if (question === undefined) throw new Error('all of it is known');
    const own = { capability: '', timeoutMs: 30_000, statements: question.statements };
    return [question, (await runOwnStatements(pool, own)).results];
  };
  const [one, other] = await Promise.all([
    ask(catalog.question([], types)),
    ask(catalog.question([], types)),
  ]);
  catalog.answer(...one);
  expect(catalog.question([], types)).toBeDefined();
  catalog.answer(...other);
  await catalog.learn([], types);
  expect([...catalog.functions.values()].map(({ name }) => name)).toEqual(
    expect.arrayContaining(['steady', 'noise']),
  );
});

test.each([
  ['on_comma', 'a,b.hidden'],
  ['on_upper', 'upper.loud'],
])('the body of %s is looked up on its own search path', async (name, reached) => {
  const { faults } = await database.verify([capabilityOf(`select ${name}(1) as a`)]);
  expect(faults.map(({ message }) => message)).toEqual([
    expect.stringMatching(`^runs ${reached}, which is volatile`),
  ]);
});
