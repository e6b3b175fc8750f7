import { startFaultProxy, testDatabase, type FaultProxy, type TestDatabase } from '@svc/testkit';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { configOf } from '../capability.fixture.ts';
import { openSession, type DatabaseSession } from '../connection/database-session.ts';
import { sqlStateOf } from '../connection/server-errors.ts';
import type { Statement } from '../connection/statement.ts';
import { SessionPool } from '../pool/session-pool.ts';
import { runTransaction, type TransactionResult } from './transaction.ts';

// Transactions of one turn of the event loop, sent under one Sync: what one does or meets, and what the others see of it.

let server: TestDatabase;
let network: FaultProxy;
let pool: SessionPool;
beforeEach(async () => {
  server = await testDatabase({ sql: ['create table note (text text)'] });
  network = await startFaultProxy({ target: server });
  const { host, port } = network;
  const config = configOf({ ...server, host, port }, { sslmode: 'disable' });
  pool = new SessionPool((signal) => openSession(config, signal), 1);
});
afterEach(async () => {
  await pool.close();
  await network.close();
});

const FOREVER = { signal: new AbortController().signal, timeoutMs: 5000 };
/** Short enough for any batch, whatever they take in the end. */
const BRIEF_MS = 0.01;

function value(sql: string): Statement {
  return { text: `select (${sql})::text` };
}

interface Limit {
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
}

/** A statement alone, or with its limit. */
type Asked = Statement | readonly [Statement, Limit];

interface Sent {
  readonly session: DatabaseSession;
  readonly results: Promise<TransactionResult>[];
}

/** Sends them in one turn over one session. */
async function sendBatch(...sent: readonly Asked[]): Promise<Sent> {
  const session = await pool.acquire(FOREVER, BRIEF_MS);
  const results = sent.map((each, index) => {
    const [statement, limit] = 'text' in each ? [each, {}] : each;
    if (index > 0) expect(pool.tryAcquire(BRIEF_MS)).toBe(session);
    const settings = { apiKeyName: `key ${index}`, capability: 'sample', requestId: 'r' };
    const transaction = { settings, statements: [statement], unlocks: true, shortMs: BRIEF_MS };
    return runTransaction(pool, session, transaction, { ...FOREVER, ...limit });
  });
  return { session, results };
}

/** The one value that it read, or how it ended instead. */
function outcome({ results, error, moved, stopped }: TransactionResult): unknown {
  if (moved !== undefined) return moved;
  if (stopped !== undefined) return stopped;
  return error === undefined ? results[0]?.rows[0]?.[0] : (sqlStateOf(error) ?? error.message);
}

async function outcomes({ results }: Sent): Promise<readonly unknown[]> {
  return (await Promise.all(results)).map(outcome);
}

/** Sends them until they are not late as a whole, as they may be on a busy machine; then they leave no trace. */
async function sendInTime(...sent: readonly Asked[]): Promise<Sent & { readonly ended: readonly unknown[] }> {
  for (;;) {
    const batch = await sendBatch(...sent);
    const ended = await outcomes(batch);
    await atRest();
    if (!ended.includes('suspected')) return { ...batch, ended };
  }
}

async function inTime(...sent: readonly Asked[]): Promise<readonly unknown[]> {
  return (await sendInTime(...sent)).ended;
}

const OURS = "datname = current_database() and application_name = 'svc-agent'";

async function atRest(): Promise<void> {
  await expect.poll(() => pool.connections).toMatchObject({ busy: 0, opening: 0 });
  const open = `select from pg_stat_activity where ${OURS} and state <> 'idle'`;
  await expect.poll(() => server.query(open)).toEqual([]);
}

test('up to sixteen go under one Sync, each with its own transaction, settings and time', async () => {
  let syncs = 0;
  const session = await pool.acquire(FOREVER);
  const { stream } = session.client.connection;
  const write = stream.write.bind(stream);
  Object.assign(stream, {
    write: (bytes: Buffer) => {
      // The message is nothing but its letter and length.
      if (bytes.subarray(-5).equals(Buffer.from('S\0\0\0\x04'))) syncs += 1;
      return write(bytes);
    },
  });
  pool.release(session);
  const names = Array.from({ length: 17 }, (_, index) => `key ${index}`);
  const asked = names.map(() => value("current_setting('svc.api_key_name')"));
  const sent = await sendBatch(...asked);
  // They leave at the end of this turn.
  await new Promise((resolve) => process.nextTick(resolve));
  expect(syncs).toBe(2);
  await outcomes(sent);
  await atRest();
  expect(await inTime(...asked)).toEqual(names);
  const times = await inTime(...names.slice(1).map(() => value('now()')));
  expect(new Set(times).size).toBe(16);
});

test('what has not left when its connection is lost goes on over another', async () => {
  const sent = await sendBatch(value('1::text'), value('2::text'));
  // As when the reset is read in the same turn.
  sent.session.client.connection.stream.emit('error', new Error('read ECONNRESET'));
  expect(await outcomes(sent)).toEqual(['behind', 'behind']);
  expect(await inTime(value('3::text'))).toEqual(['3']);
});

test('one that fails costs those before it nothing, and those behind it are sent again', async () => {
  const sent = await sendInTime(value('1'), value('2'), value('1 / 0'), value('4'), value('5'));
  expect(sent.ended).toEqual(['1', '2', '22012', 'behind', 'behind']);
  // The connection is sound, and its next transactions are theirs alone.
  const { session, ended } = await sendInTime(value("current_setting('transaction_read_only')"), value('7'));
  expect(session === sent.session).toBe(true);
  expect(ended).toEqual(['on', '7']);
});

test('one that takes long is cancelled, and all are sent again, those that the server has answered too', async () => {
  const started = performance.now();
  const sent = await sendBatch(value('1'), { text: "select 'slept' from pg_sleep(300)" }, value('3'));
  expect(await outcomes(sent)).toEqual(['suspected', 'suspected', 'suspected']);
  await atRest();
  expect(performance.now() - started).toBeLessThan(40_000);
  expect(await inTime(value('4'))).toEqual(['4']);
});

test('what the server has sent of the answers is not waited for', async () => {
  const large = value("repeat('x', 100000)");
  let first: readonly unknown[] = ['suspected'];
  // On a busy machine the whole batch may be late.
  while (first.includes('suspected')) {
    const { results } = await sendBatch(large, large, { text: 'select from pg_sleep(0.005)' }, value('3'));
    first = (await Promise.all(results.slice(0, 2))).map(outcome);
    await Promise.all(results);
    await atRest();
  }
  expect(first.map((each) => String(each).length)).toEqual([100_000, 100_000]);
});

test('one that is given up is answered at once, and costs the others nothing', async () => {
  network.delay(20);
  let isInTime = false;
  // On a busy machine the whole batch may be late.
  while (!isInTime) {
    const [first, last] = [new AbortController(), new AbortController()];
    const sent = await sendBatch([value('1'), { signal: first.signal }], value('2'), [
      value('3'),
      { signal: last.signal },
    ]);
    const connections = network.connections();
    const ended: number[] = [];
    for (const [index, result] of sent.results.entries()) void result.then(() => ended.push(index));
    first.abort();
    last.abort();
    const found = await outcomes(sent);
    expect(found).toEqual(['cancelled', expect.toBeOneOf(['2', 'suspected']), 'cancelled']);
    expect(ended).toEqual([0, 2, 1]);
    isInTime = found[1] === '2';
    // A cancel request would have been a connection of its own.
    if (isInTime) expect(network.connections()).toBe(connections);
    await atRest();
  }
});

test('one whose time is up is stopped by the server, and those behind it are sent again', async () => {
  const slow: Asked = [{ text: 'select from pg_sleep(5)' }, { timeoutMs: 4 }];
  expect(await inTime(value('1'), slow, value('3'))).toEqual(['1', '57014', 'behind']);
});

test.each([
  [
    'the server ends it',
    async () =>
      void (await server.query(`select pg_terminate_backend(pid) from pg_stat_activity where ${OURS}`)),
  ],
  ['the network resets it', async () => network.cut()],
])(
  'when the connection is lost before anything was heard, all are sent again alone: %s',
  async (_title, lose) => {
    // Made before, so that the batch is on its way when it is lost.
    pool.release(await pool.acquire(FOREVER));
    network.stall('to_target');
    const sent = await sendBatch(value('1'), value('2'), value('3'));
    await lose();
    network.resume();
    const ended = await outcomes(sent);
    // A server that ends a session says so to the first: it has begun with none.
    for (const each of ended) expect(['suspected', 'behind', '57P01']).toContain(each);
    await atRest();
  },
);

test('one that falls silent is late, and no deadline is missed', async () => {
  pool.release(await pool.acquire(FOREVER));
  network.strand();
  const sent = await sendBatch(value('1'), value('2'));
  expect(await outcomes(sent)).toEqual(['suspected', 'suspected']);
  await atRest();
});

test('behind one that has put a statement in the place of our rollback nothing is answered, and nothing is written', async () => {
  const usurp = `do $$ begin
    execute 'deallocate "svc/rollback"';
    execute $p$prepare "svc/rollback" as select 'open'$p$;
  end $$`;
  const write = { text: "insert into note values ('written') returning text" };
  let ended: Awaited<ReturnType<typeof outcomes>>;
  do {
    // Prepared before: it is its name that is taken.
    await inTime(value('0'));
    ended = await outcomes(await sendBatch(value('1'), { text: usurp }, write, value('4')));
    // On a busy machine the whole batch may be late.
  } while (ended.includes('suspected'));
  const [one, , written, four] = ended;
  expect([one, written, four]).toEqual(['1', 'behind', 'behind']);
  expect(await server.query('select text from note')).toEqual([]);
  await atRest();
  const next = await sendBatch(value("current_setting('transaction_read_only')"));
  expect(await outcomes(next)).toEqual(['on']);
});

test('a cancel request meant for another query fails only the one that it hits', async () => {
  let hits = 0;
  // A busy machine takes long for a round; one that cannot make a hit at all fails.
  const until = performance.now() + 40_000;
  for (let round = 0; round < 200 && hits < 5 && performance.now() < until; round += 1) {
    const { session, results } = await sendBatch(
      ...[0, 1, 2, 3].map((n) => ({ text: `select '${n}' from pg_sleep(0.0015)` })),
    );
    await server.query(`select pg_cancel_backend(${session.facts.backend?.processId})`);
    const ended = await outcomes({ session, results });
    await atRest();
    // On a busy machine the whole batch may be late.
    if (ended.includes('suspected')) continue;
    // A request of the round before that came late hit the preparation of a statement, which calls then prepare again.
    if (ended[0] === '26000') continue;
    const hit = ended.indexOf('57014');
    if (hit >= 0) hits += 1;
    const right = hit >= 0 ? hit : 4;
    expect(ended.slice(0, right)).toEqual(Array.from({ length: right }, (_, index) => String(index)));
    expect(new Set(ended.slice(right + 1))).toEqual(new Set(ended.slice(right + 1).map(() => 'behind')));
  }
  expect(hits).toBeGreaterThan(0);
});
