import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { createRandom, pick, startFaultProxy, type ServerAddress } from '@svc/testkit';
import type {
  DatabaseConnections,
  Query,
  TransactionCounts,
} from '../../../packages/agent/src/databases/driver/driver.ts';
import {
  configOf,
  openPostgres,
  textOfRows,
} from '../../../packages/agent/src/databases/postgres/capability.fixture.ts';
import { CAPABILITIES, nextCall, READER, type KnownCall } from './calls.ts';

export interface BatchesOptions {
  readonly calls: number;
  readonly seed: number;
  /** The database that has `schemaSql`, with a superuser's credentials. */
  readonly server: ServerAddress & { readonly name: string };
  /** Told some times how many calls have been made. */
  readonly progress?: (made: number) => void;
}

export interface BatchesReport {
  readonly calls: number;
  readonly outcomes: Readonly<Record<string, number>>;
  readonly faults: Readonly<Record<string, number>>;
  readonly transactions: TransactionCounts | undefined;
  readonly seconds: number;
  /** What is wrong, the last of each kind; empty where nothing is. */
  readonly wrong: readonly string[];
}

const CONNECTIONS = 3;
const CALLERS = 48;
const PROGRESS_EVERY = 20_000;
const BETWEEN_FAULTS_MS = 400;
/** For so long after the network has lost them, connections may be waited for. */
const SILENCE_MS = 7000;
/** After its deadline a call may have to wait for a cancel request and its answer. */
const PATIENCE_MS = 4000;
const OURS = "datname = current_database() and application_name = 'svc-agent'";

/**
 * Makes calls whose ends are known over few connections that are killed, cut, silenced and cancelled meanwhile, and
 * compares each end with what it must be. Rejects only where it cannot be tried.
 */
export async function runBatches({
  calls,
  seed,
  server,
  progress = () => {},
}: BatchesOptions): Promise<BatchesReport> {
  const random = createRandom(seed);
  const { name: databaseName, ...address } = server;
  const administrator = new pg.Client({ ...address, database: databaseName });
  await administrator.connect();
  const query = async (sql: string): Promise<readonly unknown[]> => (await administrator.query(sql)).rows;
  const network = await startFaultProxy({ target: server });
  const { host, port } = network;
  const config = configOf(
    { ...server, host, port, user: READER, password: READER },
    { sslmode: 'disable', maxConnections: CONNECTIONS },
  );
  const database = openPostgres(config);
  const { prepared, faults: refused } = await database.verify(CAPABILITIES);
  if (refused.length > 0) throw new Error(JSON.stringify(refused));
  const queries = new Map(prepared.map((each) => [each.capability, database.prepare(each)]));

  const started = performance.now();
  const outcomes: Record<string, number> = {};
  const wrong = new Map<string, string>();
  /** When connections were lost, and when queries were cancelled by others, by `performance.now()`. */
  const lost: number[] = [];
  const cancelled: number[] = [];
  /** When the network fell silent: what was on its way is not known to be lost before its time is up. */
  const silenced: number[] = [];
  let made = 0;
  let unavailable = 0;

  async function one(call: KnownCall, run: Query): Promise<void> {
    const abort = new AbortController();
    const timer = call.abortMs === undefined ? undefined : setTimeout(() => abort.abort(), call.abortMs);
    const from = performance.now();
    const ended = await run.run({ ...call, signal: abort.signal }).then(
      (result) => textOfRows(result),
      (error: unknown) => (error instanceof Error && 'kind' in error ? error : String(error)),
    );
    const until = performance.now();
    clearTimeout(timer);
    const text = typeof ended === 'string' ? ended : String(ended.kind);
    const kind = typeof ended === 'string' ? (ended === call.expected ? 'answered' : 'another answer') : text;
    outcomes[kind] = (outcomes[kind] ?? 0) + 1;
    const during = (times: readonly number[]): number =>
      times.filter((at) => at >= from - 50 && at <= until).length;
    if (text === 'unavailable') unavailable += 1;
    const isAllowed =
      text === call.expected ||
      (text === 'cancelled' && call.abortMs !== undefined) ||
      (text === 'unavailable' && during(lost) > 0) ||
      (text === 'timeout' && silenced.some((at) => at >= from - SILENCE_MS && at <= until)) ||
      // A cancellation that comes from elsewhere is tried again once.
      (text === 'failed' && during(cancelled) > 1);
    if (!isAllowed) {
      const message = typeof ended === 'string' ? ended.slice(0, 200) : ended.message;
      wrong.set(
        `${call.capability} ${kind}`,
        `${JSON.stringify(call).slice(0, 400)} ended with ${kind}: ${message}`,
      );
    }
    if (until - from > call.timeoutMs + PATIENCE_MS)
      wrong.set('late', `${JSON.stringify(call).slice(0, 400)} took ${until - from} ms`);
  }

  async function caller(): Promise<void> {
    while (made < calls) {
      const call = nextCall(random, (made += 1));
      if (made % PROGRESS_EVERY === 0) progress(made);
      const run = queries.get(call.capability);
      if (run === undefined) throw new Error(`no capability ${call.capability}`);
      await one(call, run);
    }
  }

  const faults: Readonly<Record<string, () => Promise<unknown>>> = {
    'one session is killed': async () => {
      lost.push(performance.now());
      await query(
        `select pg_terminate_backend(pid) from pg_stat_activity where ${OURS} order by random() limit 1`,
      );
      lost.push(performance.now());
    },
    'all sessions are killed': async () => {
      lost.push(performance.now());
      await query(`select pg_terminate_backend(pid) from pg_stat_activity where ${OURS}`);
      lost.push(performance.now());
    },
    'the network resets all': async () => {
      network.cut();
      lost.push(performance.now());
    },
    'the network loses all': async () => {
      network.strand();
      silenced.push(performance.now());
      lost.push(performance.now());
      // Until their sessions are given up, what is lost is still among what a call may meet.
      await pause(1500);
      lost.push(performance.now());
    },
    'the network halts': async () => {
      network.stall('both');
      await pause(30 + 100 * random());
      network.resume();
    },
    'the network is slow': async () => {
      network.delay(5);
      await pause(200);
      network.delay(0);
    },
    'an administrator cancels': async () => {
      cancelled.push(performance.now());
      await query(`select pg_cancel_backend(pid) from pg_stat_activity where ${OURS} and state = 'active'`);
      cancelled.push(performance.now());
    },
  };
  const happened: Record<string, number> = {};
  let over = false;
  const troubling = (async () => {
    const names = Object.keys(faults);
    while (!over) {
      const name = pick(random, names);
      happened[name] = (happened[name] ?? 0) + 1;
      await faults[name]?.();
      await pause(BETWEEN_FAULTS_MS * (0.5 + random()));
    }
  })();

  await Promise.all(Array.from({ length: CALLERS }, () => caller()));
  over = true;
  await troubling;
  const seconds = (performance.now() - started) / 1000;
  const ended = Object.values(outcomes).reduce((sum, count) => sum + count, 0);
  if (ended !== calls) wrong.set('count', `${calls} calls were made, ${ended} ended`);
  const losses = Object.values(happened).reduce((sum, count) => sum + count, 0);
  if (unavailable > losses * CONNECTIONS)
    wrong.set('unavailable', `${unavailable} calls, after ${losses} faults`);
  const left = await leftBehind(() => database.connections, query);
  if (left !== undefined) wrong.set('left', left);
  const transactions = database.transactions && { ...database.transactions };
  await database.close();
  await network.close();
  await administrator.end();
  return { calls, outcomes, faults: happened, transactions, seconds, wrong: [...wrong.values()] };
}

/** Where the network takes only the first half of a batch, the server itself ends the transaction, after 30 s. */
const LEFT_MS = 60_000;

/** What is still open or held so long after the last call; undefined where nothing is. */
async function leftBehind(
  connections: () => DatabaseConnections,
  query: (sql: string) => Promise<readonly unknown[]>,
): Promise<string | undefined> {
  let found = '';
  for (const latest = performance.now() + LEFT_MS; performance.now() < latest; await pause(50)) {
    const { busy, opening, waiting } = connections();
    const open = await query(`select state, query from pg_stat_activity where ${OURS} and state <> 'idle'`);
    const locks = await query(
      "select pid from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())",
    );
    const notes = await query('select text from note');
    if (busy + opening + waiting + open.length + locks.length + notes.length === 0) return undefined;
    found = JSON.stringify({ busy, opening, waiting, open, locks: locks.length, notes: notes.length });
  }
  return found;
}
