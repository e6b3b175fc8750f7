import { describe, expect, test } from 'vitest';
import { capabilityOf, callOf, textOfRows } from '../capability.fixture.ts';
import { ids, inShared, openSharing, sharingCalls } from './sharing.fixture.ts';

const SCHEMA = `
  create table book (id int primary key, title text not null);
  insert into book select i, 'book ' || i from generate_series(1, 40) i;
`;
const BY_ID = 'select id as a from book where id = :id';
const WITH_ID = { params: { id: { type: 'integer' } }, trainedBy: { id: 1 } } as const;

describe('calls of one turn that cannot see who calls', () => {
  test('share a transaction if they are three, and each gets its own answer', async () => {
    const opened = await openSharing(SCHEMA);
    const calls = await sharingCalls(opened, BY_ID, WITH_ID);
    const { transactions } = opened.database;
    const before = { ...transactions };
    expect(await calls.together(ids(2))).toEqual(['[{"a":1}]', '[{"a":2}]']);
    expect(transactions).toEqual({ ...before, own: before.own + 2 });
    const answers = await inShared(opened, calls, ids(16));
    expect(answers).toEqual(Array.from({ length: 16 }, (_, index) => `[{"a":${index + 1}}]`));
    const now = async (): Promise<ReadonlySet<string>> => {
      const times = await sharingCalls(opened, 'select now()::text as a, :id::int as b', {
        ...WITH_ID,
        result: { a: 'string' },
      });
      return new Set(await inShared(opened, times, ids(5)));
    };
    expect(await now()).toHaveLength(1);
    expect(opened.ended).toEqual([]);
  });

  test('are each named by a comment, and the capability is named by it alone', async () => {
    const opened = await openSharing(SCHEMA);
    const calls = await sharingCalls(opened, BY_ID, { ...WITH_ID, name: 'by_id' });
    await inShared(opened, calls, ids(3));
    const seen = await opened.server.query<{ query: string }>(
      "select query from pg_stat_activity where datname = current_database() and application_name = 'svc-agent'",
    );
    // The last statement is the guard, and the rollback after it.
    expect(seen.map(({ query }) => query)).toEqual(['rollback']);
    const prepared = await opened.database.verify([capabilityOf(BY_ID, { ...WITH_ID, name: 'by_id' })]);
    expect(JSON.stringify(prepared.prepared[0])).toMatch(/"shared":\{"few":"\/\* svc:by_id \*\/ with/);
  });

  test('go beside one in its own transaction, which fails without harm to them', async () => {
    const opened = await openSharing(SCHEMA);
    const calls = await sharingCalls(opened, BY_ID, WITH_ID);
    const { prepared } = await opened.database.verify([
      capabilityOf("select (current_setting('svc.api_key_name') || :x)::int as a", {
        params: { x: { type: 'string' } },
      }),
    ]);
    const [own] = prepared;
    if (own === undefined) throw new Error('not verified');
    expect(own.transaction).toEqual({ form: 'own', reason: 'function' });
    const query = opened.database.prepare(own);
    const ask = (apiKeyName: string): Promise<string> =>
      query.run(callOf({ x: '1' }, { apiKeyName })).then(textOfRows, String);
    for (let round = 0; round < 8; round += 1) await ask('4');
    const both = await Promise.all([ask('2'), calls.together(ids(3)), ask('3')]);
    expect(both).toEqual(['[{"a":21}]', ['[{"a":1}]', '[{"a":2}]', '[{"a":3}]'], '[{"a":31}]']);
    const failing = await Promise.all([ask('x'), calls.together(ids(3)), ask('3')]);
    expect(failing).toEqual([
      expect.stringContaining('22P02'),
      ['[{"a":1}]', '[{"a":2}]', '[{"a":3}]'],
      '[{"a":31}]',
    ]);
  });

  test('that fail together are sent again in their own, and only the fault of one is told', async () => {
    const opened = await openSharing(SCHEMA);
    const calls = await sharingCalls(opened, 'select 6 / :id::int as a', WITH_ID);
    const { transactions } = opened.database;
    const before = { ...transactions };
    const asked = [1, 2, 0, 3].map((id) => ({ values: { id } }));
    expect(await calls.together(asked)).toEqual(['[{"a":6}]', '[{"a":3}]', 'failed', '[{"a":2}]']);
    expect(transactions.sharedResends - before.sharedResends).toBe(4);
    expect(transactions.sharedCalls).toBe(before.sharedCalls);
    // It was the value, so the capability shares as before.
    expect(await inShared(opened, calls, ids(3))).toEqual(['[{"a":6}]', '[{"a":3}]', '[{"a":2}]']);
    expect(opened.ended).toEqual([]);
  });

  test('go on sharing beside calls that fail for their values, over and over', async () => {
    const opened = await openSharing(SCHEMA, { maxConnections: 2 });
    const calls = await sharingCalls(opened, 'select 6 / :id::int as a from book where id = 1', WITH_ID);
    const { transactions } = opened.database;
    const asked = Array.from({ length: 100 }, (_, index) => ({ values: { id: index % 50 === 7 ? 0 : 2 } }));
    const expected = asked.map(({ values: { id } }) => (id === 0 ? 'failed' : '[{"a":3}]'));
    // A batch may be sent after a call that has failed and whose transaction is not over.
    for (let round = 0; round < 300; round += 1) expect(await calls.together(asked)).toEqual(expected);
    expect(opened.ended).toEqual([]);
    const before = transactions.sharedCalls;
    await inShared(opened, calls, ids(3));
    expect(transactions.sharedCalls).toBe(before + 3);
  });

  test('are counted once, though their result does not fit into the first form', async () => {
    const opened = await openSharing(
      `${SCHEMA} create table pair as select i % 2 as n from generate_series(1, 30) i; analyze pair`,
    );
    const { transactions } = opened.database;
    const sql = 'select n as a from pair where n <= :id and n <= :id and n <= :id';
    for (;;) {
      // No row comes while its latency becomes known, so that the first form is the one for few rows.
      const calls = await sharingCalls(opened, sql, { ...WITH_ID, trainedBy: { id: -1 } });
      const before = { ...transactions };
      const answers = await calls.together(ids(4));
      expect(answers.map((text) => JSON.parse(text).length)).toEqual([30, 30, 30, 30]);
      // On a busy machine some are late, and sent alone.
      if (transactions.own > before.own) continue;
      expect(transactions).toEqual({
        ...before,
        shared: before.shared + 2,
        sharedCalls: before.sharedCalls + 4,
      });
      break;
    }
  });

  test('end alone when their caller gives up or their time is over', async () => {
    const opened = await openSharing(SCHEMA);
    const calls = await sharingCalls(
      opened,
      'select count(*) as a from book b, book c, book d, book e where b.id <= :id and c.id <= :id and d.id <= :id',
      WITH_ID,
    );
    const caller = new AbortController();
    const asked = [
      { values: { id: 1 } },
      { values: { id: 40 }, changes: { signal: caller.signal } },
      { values: { id: 1 }, changes: { timeoutMs: 1 } },
      { values: { id: 2 } },
    ];
    const answers = calls.together(asked);
    caller.abort();
    const [first, aborted, late, last] = await answers;
    expect([first, aborted, last]).toEqual(['[{"a":40}]', 'cancelled', '[{"a":320}]']);
    expect(['timeout', '[{"a":40}]']).toContain(late);
    await expect.poll(() => opened.database.connections.busy).toBe(0);
  });

  test('get no answer of another call though their connection is killed under them', async () => {
    const opened = await openSharing(SCHEMA, { maxConnections: 2 });
    const calls = await sharingCalls(opened, BY_ID, WITH_ID);
    const { transactions } = opened.database;
    const before = { ...transactions };
    for (let killed = 0; killed < 30 || transactions.sharedResends === before.sharedResends; killed += 1) {
      let isOver = false;
      const killing = opened.server
        .query(
          "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'svc-agent'",
        )
        .finally(() => {
          isOver = true;
        });
      while (!isOver) {
        const answers = await calls.together(ids(8));
        // A call that was sent again may meet the next kill while it runs.
        for (const [index, answer] of answers.entries())
          expect([`[{"a":${index + 1}}]`, 'unavailable']).toContain(answer);
      }
      await killing;
    }
    expect(transactions.sharedCalls).toBeGreaterThan(before.sharedCalls);
  });
});
