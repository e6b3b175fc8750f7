import { testDatabase, type TestDatabase } from '@svc/testkit';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Query } from '../../driver/driver.ts';
import { callOf, capabilityOf, configOf, textOfRows } from '../capability.fixture.ts';
import { sqlStateOf } from '../connection/server-errors.ts';
import { runTransaction, type TransactionResult } from './transaction.ts';
import { sendAll } from '../connection/pipeline.ts';
import { type Statement } from '../connection/statement.ts';
import { SessionPool } from '../pool/session-pool.ts';
import { createQuery } from './run-query.ts';
import { openSession, type DatabaseSession } from '../connection/database-session.ts';
import { verifyCapabilities } from '../verify/verify-capabilities.ts';

let server: TestDatabase;
let pool: SessionPool;
beforeEach(async () => {
  server = await testDatabase({ sql: ['create table note (text text)'] });
  pool = new SessionPool((signal) => openSession(configOf(server), signal), 3);
});
afterEach(() => pool.close());

const FOREVER = { signal: new AbortController().signal, timeoutMs: 5000 };
const WRITE: Statement = { name: 'write', text: "insert into note values ('written')" };
const PID: Statement = { text: 'select pg_backend_pid()' };

function send(
  session: DatabaseSession,
  statements: readonly Statement[],
  signal: AbortSignal = FOREVER.signal,
): Promise<TransactionResult> {
  const settings = { apiKeyName: 'key', capability: 'sample', requestId: 'r' };
  return runTransaction(pool, session, { settings, statements }, { ...FOREVER, signal });
}

/** What an operator, or a pooler that gives another connection of its own, does to a session behind our back. */
async function deallocate(session: DatabaseSession, name: string): Promise<void> {
  const [unit] = await sendAll(session, [[{ text: `deallocate "${name}"` }]]);
  if (unit?.error !== undefined) throw unit.error;
}

async function notes(): Promise<number> {
  return (await server.query('select text from note')).length;
}

/** A session on which everything has been prepared, taken from the pool. */
async function warmSession(): Promise<DatabaseSession> {
  const session = await pool.acquire(FOREVER);
  const { error, begun } = await send(session, [WRITE]);
  expect([begun, sqlStateOf(error)]).toEqual([true, '25006']);
  return pool.acquire(FOREVER);
}

describe('a query never runs outside its READ ONLY transaction', () => {
  test('when the server has forgotten how the settings are made', async () => {
    const session = await warmSession();
    await deallocate(session, 'svc/settings');
    const lost = await send(session, [WRITE]);
    expect([lost.begun, sqlStateOf(lost.error), lost.results]).toEqual([false, '26000', []]);
    expect(await notes()).toBe(0);

    const again = await send(await pool.acquire(FOREVER), [WRITE]);
    expect([again.begun, sqlStateOf(again.error)]).toEqual([true, '25006']);
    expect(await notes()).toBe(0);
  });

  test('when a function has put writing statements under every name that the session has', async () => {
    for (let round = 0; round < 3; round += 1) {
      const session = await warmSession();
      const names = [...session.prepared];
      expect(names.length).toBeGreaterThan(1);
      const replaced = names
        .slice(0, names.length - round)
        .flatMap((name) => [
          { text: `deallocate "${name}"` },
          { text: `prepare "${name}" as ${WRITE.text}` },
        ]);
      expect((await sendAll(session, [replaced]))[0]?.error).toBeUndefined();
      const { error } = await send(session, [WRITE]);
      expect(error).toBeInstanceOf(Error);
      expect(await notes()).toBe(0);
    }
  });

  test('and a function that has replaced how settings are made changes none that is the same for every call', async () => {
    const role = `${server.name}_reader`;
    await server.execute(`create role ${role} login password 'reader'; alter role ${role} set extra_float_digits = -15;
      alter role ${role} set lock_timeout = 7; alter role ${role} set client_encoding = 'LATIN1'`);
    const reader = configOf({ ...server, user: role, password: 'reader' });
    pool = new SessionPool((signal) => openSession(reader, signal), 3);
    const look: Statement = {
      text: `select current_setting('extra_float_digits'), current_setting('lock_timeout'), current_setting('client_encoding')`,
    };
    const session = await pool.acquire(FOREVER);
    const [before] = (await send(session, [PID, look])).results.slice(1);
    const lie = 'with x as (select concat($1::text, $2::text, $3::text, $4::text)) select from x where false';
    const replace = [{ text: 'deallocate "svc/settings"' }, { text: `prepare "svc/settings" as ${lie}` }];
    expect((await send(await pool.acquire(FOREVER), replace)).error).toBeUndefined();
    const next = await pool.acquire(FOREVER);
    expect(next).toBe(session);
    const after = await send(next, [look, { text: "select current_setting('svc.api_key_name', true)" }]);
    // The lie has worked: the name of the key is missing.
    expect(after.results[1]?.rows).toEqual([['']]);
    expect(after.results[0]?.rows).toEqual([['1', '0', 'UTF8']]);
    expect(before?.rows).toEqual(after.results[0]?.rows);
    await pool.close();
    await server.execute(`drop role ${role}`);
  });

  test('when the settings are refused, and the connection serves on', async () => {
    const session = await warmSession();
    const [before] = (await send(session, [PID])).results;
    const { facts } = session;
    // As behind a pooler, where each transaction sets the search path.
    session.prepared.clear();
    Object.assign(await pool.acquire(FOREVER), {
      facts: { ...facts, keepsSettings: false, searchPath: '"open' },
    });
    const refused = await send(session, [WRITE]);
    expect([refused.begun, sqlStateOf(refused.error)]).toEqual([false, '22023']);
    expect(session.client.getTransactionStatus()).toBe('I');
    expect(await notes()).toBe(0);
    session.prepared.clear();
    Object.assign(await pool.acquire(FOREVER), { facts });
    expect((await send(session, [PID])).results[0]?.rows).toEqual(before?.rows);
  });

  test('when one of several statements fails, those behind it are skipped', async () => {
    const session = await pool.acquire(FOREVER);
    const done = await send(session, [PID, { text: 'select 1 / 0' }, PID]);
    expect([done.begun, sqlStateOf(done.error), done.results.length]).toEqual([true, '22012', 1]);
    const next = await pool.acquire(FOREVER);
    pool.release(next);
    expect(next).toBe(session);
  });

  test.each(['53100', '53200', '53300'])(
    'when it meets %s, a lack of resources, which does not end the connection',
    async (state) => {
      const process = async (): Promise<unknown> => (await send(await pool.acquire(FOREVER), [PID])).results;
      const before = await process();
      const raise = { text: `do $$ begin raise exception using errcode = '${state}'; end $$` };
      const { error } = await send(await pool.acquire(FOREVER), [raise]);
      expect(sqlStateOf(error)).toBe(state);
      expect(await process()).toEqual(before);
    },
  );

  test('whenever a cancel strikes', async () => {
    for (let round = 0; round < 60; round += 1) {
      const session = await pool.acquire(FOREVER);
      const abort = new AbortController();
      const done = send(session, [{ text: 'select pg_sleep(0.002)' }, WRITE], abort.signal);
      if (round % 3 === 0) setImmediate(() => abort.abort());
      else setTimeout(() => abort.abort(), round % 5);
      expect(['25006', '57014']).toContain(sqlStateOf((await done).error));
    }
    expect(await notes()).toBe(0);
    const open = `select pid from pg_stat_activity
      where datname = current_database() and application_name = 'svc-agent' and state <> 'idle'`;
    while ((await server.query(open)).length > 0);
  });

  test('a cancel that strikes while the locks of the call before are given back harms nothing', async () => {
    const kept = await pool.acquire(FOREVER);
    pool.release(kept);
    const lock: Statement = { text: 'select count(pg_advisory_lock(i)) from generate_series(1, 3000) i' };
    const held = `select from pg_locks l join pg_stat_activity a using (pid)
      where a.datname = current_database() and locktype = 'advisory'`;
    for (let round = 0; round < 20; round += 1) {
      await send(await pool.acquire(FOREVER), [lock, { text: 'select 1 / 0' }]);
      const abort = new AbortController();
      const done = send(await pool.acquire(FOREVER), [{ text: 'select pg_sleep(5)' }], abort.signal);
      abort.abort();
      expect(sqlStateOf((await done).error)).toBe('57014');
      // What an ended connection leaves running would run on, and its locks would stay.
      const next = await pool.acquire(FOREVER);
      expect(next).toBe(kept);
      expect((await send(next, [PID])).error).toBeUndefined();
      await expect.poll(() => server.query(held)).toEqual([]);
    }
  });

  test('what goes on behind a query that no cancel request could reach is counted until it is over', async () => {
    const session = await pool.acquire(FOREVER, 1);
    Object.assign(session.cancelTarget ?? {}, { address: { host: server.host, port: 1 } });
    const abort = new AbortController();
    const first = send(session, [{ text: 'select pg_sleep(0.2)' }], abort.signal);
    expect(pool.tryAcquire(1)).toBe(session);
    const behind = send(session, [{ text: 'select pg_sleep(0.4)' }]);
    abort.abort();
    expect(await behind).toMatchObject({ moved: 'behind' });
    expect(await first).toMatchObject({ stopped: 'cancelled', error: undefined });
    expect(pool.connections.busy).toBe(1);
    const sleeping = `select from pg_stat_activity
      where datname = current_database() and wait_event = 'PgSleep'`;
    await expect.poll(() => pool.connections.busy).toBe(0);
    expect(await server.query(sleeping)).toEqual([]);
  });

  test('while the query waits to be planned, an abort ends it', async () => {
    const session = await pool.acquire(FOREVER);
    const locker = await pool.acquire(FOREVER);
    await sendAll(locker, [[{ text: 'begin' }], [{ text: 'lock table note' }]]);
    const abort = new AbortController();
    const done = send(session, [{ name: 'read', text: 'select text from note' }], abort.signal);
    const waits =
      "select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    while ((await server.query(waits)).length === 0);
    abort.abort();
    expect(await done).toMatchObject({ begun: true, stopped: 'cancelled', error: { code: '57014' } });
    expect(await server.query(waits)).toEqual([]);
    pool.discard(locker);
  });
});

describe('a server that has forgotten prepared statements costs no call', () => {
  let query: Query;
  let name: string;
  beforeEach(async () => {
    const capability = capabilityOf('select :n + 1 as a', { params: { n: { type: 'integer' } } });
    const { prepared: queries } = await verifyCapabilities(pool, [capability]);
    const [verified] = queries;
    if (verified === undefined) throw new Error('not verified');
    query = createQuery(pool, verified);
    await query.run(callOf({ n: 1 }));
    const session = await pool.acquire(FOREVER);
    name = [...session.prepared].find((prepared) => prepared.startsWith('svc.sample.')) ?? '';
    pool.release(session);
  });

  test.each(['svc/settings', 'svc/rollback', ''])('%s (none: the query)', async (which) => {
    const session = await pool.acquire(FOREVER);
    await deallocate(session, which === '' ? name : which);
    pool.release(session);
    for (const n of [1, 2, 3]) expect(textOfRows(await query.run(callOf({ n })))).toBe(`[{"a":${n + 1}}]`);
  });

  test('all of them, on all connections', async () => {
    const sessions = await Promise.all([1, 2, 3].map(() => pool.acquire(FOREVER)));
    for (const session of sessions) pool.release(session);
    await Promise.all([1, 2, 3].map((n) => query.run(callOf({ n }))));
    for (const session of sessions) await sendAll(session, [[{ text: 'deallocate all' }]]);
    for (const n of [1, 2, 3]) expect(textOfRows(await query.run(callOf({ n })))).toBe(`[{"a":${n + 1}}]`);
  });
});

describe('a pipeline', () => {
  const select = (value: string): Statement => ({
    name: `get.${value}`,
    text: 'select $1::text',
    values: [value],
  });

  test('of many units at once: each gets its own answers, in order, whatever fails between them', async () => {
    const connection = await pool.acquire(FOREVER);
    for (let round = 0; round < 2; round += 1) {
      const units = await sendAll(connection, [
        [select('a'), select('b')],
        [select('c'), { text: 'select 1 / 0' }, select('d')],
        [{ text: '' }, select('d')],
        [{ text: 'syntax error' }],
        [select('c')],
      ]);
      expect(units.map(({ results }) => results.map(({ rows }) => rows))).toEqual([
        [[['a']], [['b']]],
        [[['c']]],
        [[], [['d']]],
        [],
        [[['c']]],
      ]);
      expect(units.map(({ error }) => sqlStateOf(error))).toEqual([
        undefined,
        '22012',
        undefined,
        '42601',
        undefined,
      ]);
    }
    pool.release(connection);
  });

  test('prepares a named statement once, also one whose every run fails', async () => {
    const connection = await pool.acquire(FOREVER);
    const failing: Statement = { name: 'failing', text: 'select 1 / $1::int', values: ['0'] };
    const times = {
      text: "select prepare_time from pg_prepared_statements where name in ('failing', 'get.a')",
    };
    const seen = new Set<string>();
    for (let round = 0; round < 3; round += 1) {
      const units = await sendAll(connection, [[failing], [select('a')], [times]]);
      expect(sqlStateOf(units[0]?.error)).toBe('22012');
      seen.add(JSON.stringify(units[2]?.results[0]?.rows));
    }
    expect(seen.size).toBe(1);
    pool.release(connection);
  });

  test('does not mind that the server has a statement which it is not known to have', async () => {
    const connection = await pool.acquire(FOREVER);
    await sendAll(connection, [[select('a')]]);
    connection.prepared.clear();
    const [unit] = await sendAll(connection, [[select('a')]]);
    expect(unit?.results[0]?.rows).toEqual([['a']]);
    pool.release(connection);
  });

  test('takes awkward and long values, and a text that the server refuses harms no other', async () => {
    const connection = await pool.acquire(FOREVER);
    const long = 'é😀'.repeat(100_000);
    const values = ['', long, '\ud800', 'nul\0byte', null];
    const text = 'select $1::text';
    const units = await sendAll(
      connection,
      values.map((value) => [{ text, values: [value] }]),
    );
    expect(units.map(({ results }) => results[0]?.rows[0]?.[0])).toEqual([
      '',
      long,
      '\ufffd',
      undefined,
      null,
    ]);
    expect(sqlStateOf(units[3]?.error)).toBe('22021');
    pool.release(connection);
  });

  test('whose connection is lost fails each unit that was not answered', async () => {
    const connection = await pool.acquire(FOREVER);
    const suicide = { text: 'select pg_terminate_backend(pg_backend_pid()), pg_sleep(5)' };
    const units = await sendAll(connection, [[PID], [suicide, PID], [PID]]);
    expect(units.map(({ error }) => error === undefined)).toEqual([true, false, false]);
    const [later] = await sendAll(connection, [[PID]]);
    expect(later?.error).toBeInstanceOf(Error);
  });
});
