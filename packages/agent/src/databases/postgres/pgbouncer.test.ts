import { databaseUrl, testDatabase, type PgBouncer, type TestDatabase } from '@svc/testkit';
import fc from 'fast-check';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import {
  callOf,
  capabilityOf,
  configOf,
  openPostgres,
  queryOf,
  type TestedDatabase,
} from './capability.fixture.ts';
import { openSession } from './connection/database-session.ts';
import { kindOfRefusal, numbers, prepareCall, schema } from './execute/pipelining.fixture.ts';
import {
  isInstalled,
  keepsPreparedStatements,
  pgBouncer,
  PLAIN_TRANSACTION_MODE,
  SERVER_CONNECTIONS,
  SESSION_MODE,
  TRANSACTION_MODE,
} from './pgbouncer.fixture.ts';

const SCHEMA = `
  create function obey(statement text) returns int language plpgsql as $$ begin execute statement; return 1; end $$;
  create function take(n int, divisor int) returns int language plpgsql stable as $$ begin
    perform pg_advisory_lock(n); return n / divisor;
  end $$;
`;

const MODES = [
  ['session mode', SESSION_MODE, isInstalled],
  ['transaction mode', TRANSACTION_MODE, keepsPreparedStatements],
  ['transaction mode that loses prepared statements', PLAIN_TRANSACTION_MODE, isInstalled],
] as const;

let server: TestDatabase;
let role: string;
beforeAll(async () => {
  server = await testDatabase({ sql: [schema, SCHEMA] });
  role = `${server.name}_reader`;
  await server.execute(`create role ${role} login password 'reader'; alter role ${role} set extra_float_digits = -2;
    alter role ${role} set lock_timeout = '3s'; alter role ${role} set search_path = public, pg_catalog`);
});
afterAll(() => server.execute(`drop owned by ${role}; drop role ${role}`));

let pooler: PgBouncer;
const opened: TestedDatabase[] = [];
const clients: pg.Client[] = [];
afterEach(async () => {
  await Promise.all([
    ...opened.splice(0).map((each) => each.close()),
    ...clients.splice(0).map((each) => each.end()),
  ]);
});

function account(): typeof server {
  return { ...server, port: pooler.port, user: role, password: 'reader' };
}

/** Calls go through PgBouncer; verification does not, since it does not bear with lost statements. */
function openAgent(maxConnections: number = 4): TestedDatabase {
  const agent = openPostgres(configOf(account(), { maxConnections, sslmode: 'disable' }));
  const verifier = openPostgres(configOf({ ...account(), port: server.port }, { maxConnections: 1 }));
  opened.push(agent, verifier);
  return { ...agent, verify: (capabilities) => verifier.verify(capabilities) };
}

/** Another program with the same account: over PgBouncer unless told otherwise. */
async function openOther(port: number = pooler.port): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: databaseUrl({ ...account(), port }, server.name) });
  client.on('error', () => {});
  await client.connect();
  clients.push(client);
  return client;
}

/** A call whose function runs the statement. */
async function prepareObey(agent: TestedDatabase): Promise<(statement: string) => Promise<unknown>> {
  const params = { statement: { type: 'string' } } as const;
  const sql = 'select obey(:statement) as a';
  const obey = await queryOf(agent, capabilityOf(sql, { params, allowFunctions: ['obey'] }));
  return (statement) => obey.run(callOf({ statement }));
}

/** Those of libraries only appear once the library is loaded. */
const LOOK = `select name, setting from pg_settings where name <> 'application_name' and strpos(name, '.') = 0
  union all select name, coalesce(current_setting(name, true), '')
    from unnest(array['svc.api_key_name', 'svc.capability', 'svc.request_id']) name order by name`;

async function settingsSeen(client: pg.Client): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string; setting: string }>(LOOK);
  return rows.map(({ name, setting }) => `${name} = ${setting}`);
}

/** What others find on each of the server connections, beside what they find on one of their own. */
async function settingsLeft(): Promise<readonly string[]> {
  const usual = await settingsSeen(await openOther(server.port));
  const others = await Promise.all(numbers(SERVER_CONNECTIONS).map(() => openOther()));
  const processes = new Set<number>();
  const left: string[] = [];
  for (const other of others) {
    // So that the next one gets another server connection.
    await other.query('begin');
    const { rows } = await other.query<{ pid: number }>('select pg_backend_pid() as pid');
    for (const { pid } of rows) processes.add(pid);
    left.push(...(await settingsSeen(other)).filter((seen) => !usual.includes(seen)));
  }
  for (const other of others) await other.query('rollback');
  expect(processes.size).toBe(SERVER_CONNECTIONS);
  return left;
}

async function locksHeld(): Promise<unknown[]> {
  return server.query(
    "select pid from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())",
  );
}

async function running(): Promise<unknown[]> {
  return server.query(
    "select query from pg_stat_activity where datname = current_database() and application_name = 'svc-agent' and state <> 'idle'",
  );
}

for (const [mode, settings, runs] of MODES) {
  describe.skipIf(!runs)(`behind PgBouncer in ${mode}`, () => {
    beforeAll(async () => {
      pooler = await pgBouncer(settings);
    });
    afterAll(() => pooler.stop());

    test.skipIf(settings === PLAIN_TRANSACTION_MODE)('no statement shares a transaction', async () => {
      const agent = openPostgres(configOf(account(), { sslmode: 'disable' }));
      opened.push(agent);
      const { prepared } = await agent.verify([capabilityOf('select n as a from generate_series(1, 2) n')]);
      expect(prepared[0]?.transaction).toEqual({ form: 'own', reason: 'pooler' });
    });

    test('a session is not taken for one of its own', async () => {
      const config = configOf(account(), { sslmode: 'disable' });
      const session = await openSession(config, new AbortController().signal);
      expect(session.facts).toMatchObject({ keepsSettings: false, searchPath: 'public, pg_catalog' });
      expect(session.facts.backend).toBe(undefined);
      session.close();
    });

    test('no setting of a call reaches another program, whatever its function does', async () => {
      const agent = openAgent();
      const run = await prepareCall(agent);
      const obey = await prepareObey(agent);
      await Promise.all(
        numbers(40).map((n) => run({ n, s: 0.005, state: n % 4 === 0 ? '22012' : '' }).catch(() => {})),
      );
      for (const statement of [
        "select set_config('search_path', 'nowhere', false), set_config('svc.api_key_name', 'other', false)",
        "reset all; set session lock_timeout = 1; set client_encoding = 'LATIN1'",
        'set session characteristics as transaction read write; set default_transaction_read_only = on',
        'set role none; set session authorization default',
      ]) {
        await Promise.all(numbers(8).map(() => obey(statement).catch(() => {})));
      }
      // In session mode nobody else gets its connections before.
      if (settings === SESSION_MODE) await Promise.all(opened.splice(0).map((each) => each.close()));
      expect(await settingsLeft()).toEqual([]);
    });

    test('two agents with keys of different names at once: every answer is its own', async () => {
      const agents = await Promise.all(
        ['first', 'second'].map(async (name) => ({ name, run: await prepareCall(openAgent()) })),
      );
      const seed = fc.sample(fc.integer(), 1)[0] ?? 0;
      const kinds = fc.sample(fc.constantFrom('ok', 'ok', 'ok', 'slow', 'fails', 'cancelled'), {
        seed,
        numRuns: 400,
      });
      const calls = kinds.flatMap((kind, n) =>
        agents.map(async ({ name, run }) => {
          const abort = new AbortController();
          const identity = { apiKeyName: `${name} ${n % 7}`, requestId: `${name}-${n}` };
          const isCancelled = kind === 'cancelled';
          const call = run(
            { n, s: isCancelled ? 20 : kind === 'slow' ? 0.02 : 0, state: kind === 'fails' ? '22012' : '' },
            { ...identity, signal: abort.signal, timeoutMs: 15_000 },
          );
          if (isCancelled) setTimeout(() => abort.abort(), n % 40);
          if (isCancelled || kind === 'fails') {
            expect([n, await kindOfRefusal(call)]).toEqual([n, isCancelled ? 'cancelled' : 'failed']);
            return undefined;
          }
          const { n: answered, who, readOnly, pid } = await call;
          expect([answered, who, readOnly]).toEqual([
            n,
            `${identity.apiKeyName}/${identity.requestId}`,
            'on',
          ]);
          return pid;
        }),
      );
      const outcomes = await Promise.allSettled(calls);
      const failures = outcomes.flatMap((each) => (each.status === 'rejected' ? [String(each.reason)] : []));
      expect(failures, `seed ${seed}`).toEqual([]);
      await expect.poll(running).toEqual([]);
      if (settings === SESSION_MODE) return;
      const processes = new Set(
        outcomes.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : [])),
      );
      processes.delete(undefined);
      expect(processes.size).toBeLessThanOrEqual(SERVER_CONNECTIONS);
    });

    test('locks that functions take are given back, also by calls that fail', async () => {
      const params = { n: { type: 'integer' }, divisor: { type: 'integer' } } as const;
      const take = await queryOf(
        openAgent(),
        capabilityOf('select take(:n::int, :divisor::int) as a', { params }),
      );
      for (let round = 0; round < 5; round += 1) {
        const calls = numbers(12).map((n) => take.run(callOf({ n, divisor: n % 3 })).catch(() => {}));
        await Promise.all(calls);
        await expect.poll(locksHeld).toEqual([]);
      }
    });

    test('a cancelled call ends at the server, and so does one whose time is up', async () => {
      const agent = openAgent(2);
      const run = await prepareCall(agent);
      const abort = new AbortController();
      const cancelled = run({ n: 1, s: 30 }, { signal: abort.signal, timeoutMs: 30_000 });
      await expect.poll(running, { interval: 5 }).toHaveLength(1);
      const started = performance.now();
      abort.abort();
      expect(await kindOfRefusal(cancelled)).toBe('cancelled');
      expect(await kindOfRefusal(run({ n: 2, s: 30 }, { timeoutMs: 200 }))).toBe('timeout');
      expect(performance.now() - started).toBeLessThan(10_000);
      await expect.poll(running).toEqual([]);
      expect(await Promise.all(numbers(4).map((n) => run({ n })))).toMatchObject(
        numbers(4).map((n) => ({ n })),
      );
    });

    test('server connections that are ended cost no call that had not begun', async () => {
      const agent = openAgent();
      const run = await prepareCall(agent);
      await Promise.all(numbers(12).map((n) => run({ n, s: 0.02 })));
      const killed = kindOfRefusal(run({ n: 1, s: 30 }, { timeoutMs: 30_000 }));
      await expect.poll(running, { interval: 5 }).toHaveLength(1);
      await server.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'svc-agent'",
      );
      expect(await killed).toBe('unavailable');
      for (let round = 0; round < 3; round += 1) {
        const answers = await Promise.all(numbers(12).map((n) => run({ n })));
        expect(answers).toMatchObject(numbers(12).map((n) => ({ n })));
      }
    });

    test('server connections that have lost their prepared statements cost no call', async () => {
      const agent = openAgent();
      const run = await prepareCall(agent);
      const obey = await prepareObey(agent);
      const lose = [
        () => pooler.command('reconnect'),
        // PgBouncer that keeps account of them does not see what a function drops, and would not prepare it again.
        ...(settings === TRANSACTION_MODE
          ? []
          : [() => Promise.all(numbers(6).map(() => obey('deallocate all')))]),
      ];
      for (const each of lose) {
        await Promise.all(numbers(12).map((n) => run({ n, s: 0.01 })));
        await each();
        const answers = await Promise.all(numbers(12).map((n) => run({ n, s: 0.01 })));
        expect(answers).toMatchObject(numbers(12).map((n) => ({ n })));
      }
    });

    test('calls go on after PgBouncer was restarted', async () => {
      const agent = openAgent();
      const run = await prepareCall(agent);
      await Promise.all(numbers(8).map((n) => run({ n, s: 0.01 })));
      const { port } = pooler;
      await pooler.stop();
      const meanwhile = Promise.all(numbers(8).map((n) => run({ n })));
      pooler = await pgBouncer(settings, port);
      expect(await meanwhile).toMatchObject(numbers(8).map((n) => ({ n })));
      expect(await Promise.all(numbers(8).map((n) => run({ n })))).toMatchObject(
        numbers(8).map((n) => ({ n })),
      );
    });
  });
}

test.skipIf(!isInstalled)(
  'the start says what to do about a PgBouncer that loses prepared statements',
  async () => {
    pooler = await pgBouncer(PLAIN_TRANSACTION_MODE);
    onTestFinished(() => pooler.stop());
    const agent = openPostgres(configOf(account(), { maxConnections: 1, sslmode: 'disable' }));
    opened.push(agent);
    await agent.ping();
    const other = await openOther();
    // PgBouncer hands out the connection that was used last.
    await other.query('begin; select');
    const { faults } = await agent.verify([capabilityOf('select 1 as a')]);
    expect(faults).toMatchObject([{ message: expect.stringContaining('PgBouncer needs 1.21 or later') }]);
  },
);
