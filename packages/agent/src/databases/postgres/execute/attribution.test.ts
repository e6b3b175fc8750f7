import {
  type TestedDatabase,
  callOf,
  capabilityOf,
  configOf,
  queryOf,
  textOfRows,
  openPostgres,
} from '../capability.fixture.ts';
import { testDatabase, type TestDatabase } from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runOwnStatements } from './own-statements.ts';
import { explain } from '../verify/plan-statement.ts';
import { SessionPool } from '../pool/session-pool.ts';
import { openSession } from '../connection/database-session.ts';
import type { ResultForm } from './prepared-query.ts';
import { wrapSelect, type Wrapping } from '../verify/wrap-select.ts';

let server: TestDatabase;
let database: TestedDatabase;
let pool: SessionPool;
beforeAll(async () => {
  server = await testDatabase({
    sql: [
      'create table book (id int primary key, title text, author int)',
      "insert into book select g, 'book ' || g, g % 10 from generate_series(1, 5000) g",
      'create index on book (author)',
      'analyze book',
      'create view recent as select * from book where id > 4000 order by id desc',
    ],
  });
  database = openPostgres(configOf(server));
  pool = new SessionPool((signal) => openSession(configOf(server), signal), 1);
});
afterAll(() => Promise.all([database.close(), pool.close()]));

describe('what administrators see running', { tags: ['sql:attribution'] }, () => {
  const own = 'select query as a from pg_stat_activity where pid = pg_backend_pid()';

  test('is named after the capability and begins with the SQL of its author', async () => {
    const query = await queryOf(database, capabilityOf(own, { name: 'who_runs', result: { a: 'string' } }));
    const [row]: { a: string }[] = JSON.parse(textOfRows(await query.run(callOf())));
    expect(row?.a).toMatch(/^\/\* svc:who_runs \*\/ with q as \(\nselect query as a .*\n\) select /);
  });

  test('is named also where a volatile function keeps the SQL in its place', async () => {
    const capability = capabilityOf(`${own} and random() >= 0`, { name: 'who', result: { a: 'string' } });
    const query = await queryOf(database, capability);
    const [row]: { a: string }[] = JSON.parse(textOfRows(await query.run(callOf())));
    expect(row?.a).toMatch(/^\/\* svc:who \*\/ select /);
  });
});

describe('standing first, the SQL is planned as where it is wrapped', () => {
  const wrapping: Omit<Wrapping, 'isVolatile'> = {
    capability: 'sample',
    columns: [{ name: 'a', value: 'q."a"', json: 'q."a"::text', nullable: true }],
    limits: { maxRows: 10, maxBytes: 1000 },
    utf8: true,
    unlocks: true,
    // A volatile statement gets the JSON of few rows, so that only the place of the SQL differs.
    fewRows: true,
  };

  async function planOf(sql: string, form: ResultForm, isVolatile: boolean): Promise<unknown> {
    const text = wrapSelect(sql, { ...wrapping, isVolatile }, form);
    const { results } = await runOwnStatements(pool, {
      statements: explain(text, sql.includes('$1') ? 1 : 0),
      capability: '',
      timeoutMs: 5000,
    });
    return JSON.parse(results[2]?.rows[0]?.[0] ?? '');
  }

  test.each([
    'select title as a from book where id = $1::int8',
    'select id as a from book order by id desc limit 5',
    'select id as a from book',
    'select b.title as a from book b join book o on o.id = b.author where o.author = $1::int8 order by b.id',
    'select count(*) as a from book group by author',
    'with x as (select * from book), y as (select * from x union all select * from x) select id as a from y',
    'with recursive t(a) as (values (1) union all select a + 1 from t where a < 5) select a from t',
    'select id as a from recent where author = $1::int8 and exists (select from book o where o.id = recent.author)',
    'values (1), (2)',
  ])('%s', async (sql) => {
    const named = sql.startsWith('values') ? `select column1 as a from (${sql}) v` : sql;
    for (const form of ['whole', 'prefix'] as const) {
      const inside = await planOf(named, form, true);
      expect(inside).toMatchObject([{ Plan: { 'Node Type': 'Aggregate' } }]);
      expect(await planOf(named, form, false)).toEqual(inside);
    }
  });
});
