import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { databaseUrl, startPostgres, startService, type Postgres, type Service } from '@svc/testkit';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { prepareChecks, type Checks } from '../requirements/checked-sql.testing.ts';
import { attackedSchema, attacks, type Attack } from './sql-attacks.testing.ts';

/** Nobody but the attacks writes a byte of WAL on this server. */
const QUIET = {
  wal_level: 'minimal',
  max_wal_senders: '0',
  autovacuum: 'off',
  checkpoint_timeout: '1h',
  fsync: 'off',
};
const LOOK = `select
  (select md5(string_agg(b::text, ',' order by id)) from book b) || (select last_value from counter)
    || (select count(*) from guarded) || (select count(*) from shelf) as rows,
  md5((select string_agg(concat(oid, relname, relacl, relrowsecurity), ',' order by oid) from pg_class)
    || (select string_agg(r::text, ',' order by oid) from pg_roles r)
    || (select count(*) from pg_proc) || (select count(*) from pg_db_role_setting)
    || (select string_agg(concat(name, sourcefile, reset_val), ',' order by name) from pg_settings)) as catalogue,
  (select count(*)::int from pg_locks where pid in (select pid from pg_stat_activity where application_name = 'svc-agent')) as locks,
  pg_current_wal_insert_lsn()::text as wal,
  (select md5(string_agg(concat(loid, pageno, data), ',' order by loid, pageno)) from pg_largeobject)
    || (select count(*) from pg_largeobject_metadata) as "large objects",
  (select array_agg(pid order by pid)::text from pg_stat_activity where application_name = 'bystander') as backends`;
/** What the connection that calls are made on looks like from inside, but for what each call sets itself. */
const PROBE = {
  sql: `select (select md5(string_agg(concat(name, setting), ',' order by name)) from pg_settings
      where name not like '%.%' and name not in ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout')) as settings,
    current_user::text as me, session_user::text as myself, pg_my_temp_schema()::bigint as temporary,
    (select count(*) from pg_prepared_statements where from_sql) as prepared,
    (select count(*) from pg_cursors where is_holdable) as cursors, (select count(*) from pg_listening_channels()) as channels`,
  result: {
    settings: { type: 'string' },
    me: { type: 'string' },
    myself: { type: 'string' },
    temporary: { type: 'integer' },
    prepared: { type: 'integer' },
    cursors: { type: 'integer' },
    channels: { type: 'integer' },
  },
};
const TEXTS = {
  sql: 'select :v::text as a',
  params: { v: { type: 'string' } },
  result: { a: { type: 'string' } },
};

/** Values of a parameter that would be more in SQL. */
const VALUES = [
  "'; commit; drop table book; --",
  'commit; drop table book',
  '$1',
  ':v',
  '$$',
  '\\',
  String.raw`\'; drop table book; --`,
  "''",
  '’; drop table book; --',
  '／＊',
  '/*',
  '-- \r drop table book',
  "E'\\x27'",
  "U&'\\0027'",
  '%s %I $%',
  'ʼ\u02bc\u2019\uff07',
];

let server: Postgres;
let watcher: pg.Client;
let data: string;
let all: readonly Attack[];
let seesWal: boolean;
let notifications = 0;
let checks: Checks;
beforeAll(async () => {
  server = await startPostgres({ settings: QUIET });
  await server.createDatabase('attacked');
  await server.execute('attacked', attackedSchema(server.port, server.password));
  await server.execute('attacked', 'vacuum freeze');
  watcher = await connect({});
  await watcher.query('listen attack');
  watcher.on('notification', () => (notifications += 1));
  const { rows } = await watcher.query<{ folder: string; version: number }>(
    "select current_setting('data_directory') as folder, current_setting('server_version_num')::int as version",
  );
  data = rows[0]?.folder ?? '';
  // Before 16, large objects are written in READ ONLY transactions, and what is rolled back has its WAL.
  const version = rows[0]?.version ?? 0;
  seesWal = version >= 160_000;
  all = attacks(join(data, 'attack_out'), server.port, server.password, version);
  checks = await prepareChecks({ ...server, name: 'attacked' });
});
afterAll(async () => {
  await watcher.end();
  await checks.remove();
  await server.stop();
});

async function connect(
  account: { readonly user?: string; readonly password?: string },
  name = 'watcher',
): Promise<pg.Client> {
  const connectionString = databaseUrl({ ...server, ...account }, 'attacked');
  const client = new pg.Client({ connectionString, application_name: name });
  client.on('error', () => {});
  await client.connect();
  return client;
}

async function filesBelow(folder: string): Promise<string> {
  const names = await readdir(folder, { recursive: true });
  // What the server makes for itself: WAL, statistics, caches of each start of a connection.
  const kept = names.filter((name) => !/^pg_wal|^pg_stat|pg_internal\.init|pgsql_tmp/.test(name)).toSorted();
  // ALTER SYSTEM writes into a file that is there already.
  return [...kept, await readFile(join(folder, 'postgresql.auto.conf'), 'utf8')].join('\n');
}

type Traces = Readonly<Record<string, unknown>>;

async function look(): Promise<Traces> {
  const { rows } = await watcher.query<Record<string, unknown>>(LOOK);
  return { ...rows[0], files: await filesBelow(data), notifications };
}

/** Locks of a failed call are given back just after its answer. */
async function lookWithoutLocks(): Promise<Traces> {
  for (const started = performance.now(); ;) {
    const traces = await look();
    if (traces['locks'] === 0 || performance.now() - started > 1000) return traces;
  }
}

function changed(before: Traces, after: Traces): readonly string[] {
  return Object.keys(before).filter((key) => before[key] !== after[key] && (seesWal || key !== 'wal'));
}

describe.each(['superuser', 'reader'] as const)('as %s', (who) => {
  const asString = { a: { type: 'string' } };
  const capabilityOf = ({ sql }: Attack): unknown => ({ sql, result: asString });
  let account: { readonly user: string; readonly password: string };
  beforeAll(() => {
    account = who === 'reader' ? { user: 'reader', password: 'reader' } : server;
  });

  test('each that can be told by its SQL is refused at start, each for its reason', async () => {
    const before = await look();
    const entries = all.map((attack, index) => [`c_${index}`, capabilityOf(attack)]);
    const { output } = await checks.check(Object.fromEntries(entries), {
      user: account.user,
      password: account.password,
    });
    const told = all.map((attack, index) => {
      const lines = output.split('\n').filter((line) => line.includes(`capabilities.c_${index}.`));
      const outcome = attack[who];
      const isRight =
        'refused' in outcome
          ? lines.length === 1 && outcome.refused.test(lines[0] ?? '')
          : lines.length === 0;
      return isRight ? [] : [[attack.sql, lines]];
    });
    expect(told.flat()).toEqual([]);
    expect(changed(before, await look())).toEqual([]);
  });

  describe('the others, called,', () => {
    let service: Service;
    let bystander: pg.Client;
    let called: readonly (readonly [string, Attack])[];
    beforeAll(async () => {
      called = all.flatMap((attack, index) =>
        'call' in attack[who] ? [[`c_${index}`, attack] as const] : [],
      );
      const capabilities = {
        probe: PROBE,
        texts: TEXTS,
        replaces: { sql: "select quiet('select replaces()') as a", result: asString },
        ...Object.fromEntries(called.map(([name, attack]) => [name, capabilityOf(attack)])),
      };
      service = await startService({
        database: { ...server, ...account, name: 'attacked' },
        // One connection, so that what a call leaves on it is what the next one finds.
        capabilities: `  max_connections: 1\ncapabilities: ${JSON.stringify(capabilities)}`,
      });
      bystander = await connect(account, 'bystander');
    });
    afterAll(async () => {
      await bystander.end();
      await service.stop();
    });

    test('answer or fail, and leave nothing behind', { timeout: 60_000 }, async () => {
      const probe = async (): Promise<string> => (await service.call('probe', {})).text;
      const wrong: unknown[] = [];
      let session = await probe();
      let before = await look();
      for (const [name, attack] of called) {
        const outcome = attack[who];
        if ('refused' in outcome) continue;
        const { status, text } = await service.call(name, {});
        expect(text).not.toContain('root:');
        const after = await lookWithoutLocks();
        // A backend ends just after it was told to.
        if (outcome.leaves.includes('backends')) {
          const { backends } = await vi.waitUntil(async () => {
            const seen = await look();
            return seen['backends'] !== before['backends'] && seen;
          }, 5000);
          Object.assign(after, { backends });
        }
        const later = await probe();
        const traces = [...changed(before, after), ...(later === session ? [] : ['session'])].toSorted();
        const expected = {
          status: outcome.call === 'answers' ? 200 : 502,
          traces: outcome.leaves.filter((trace) => seesWal || trace !== 'wal').toSorted(),
        };
        if (JSON.stringify({ status, traces }) !== JSON.stringify(expected)) {
          wrong.push([attack.sql, status, traces, text]);
        }
        if (outcome.leaves.includes('files')) await rm(join(data, 'attack_out'), { force: true });
        if (outcome.leaves.includes('backends')) {
          await bystander.end();
          bystander = await connect(account, 'bystander');
        }
        session = later;
        before = outcome.leaves.length === 0 ? after : await look();
      }
      expect(wrong).toEqual([]);
    });

    test('a statement that a function put in the place of one of ours does not write', async () => {
      const before = await look();
      const replaced = await service.call('replaces', {});
      expect(replaced.status).toBe(200);
      for (let round = 0; round < 3; round += 1) await service.call('texts', { v: 'x' });
      expect((await service.call('texts', { v: 'x' })).json).toEqual({ rows: [{ a: 'x' }], count: 1 });
      expect(changed(before, await look())).toEqual([]);
    });

    test('no value of a parameter is ever SQL', async () => {
      const before = await look();
      for (const v of VALUES)
        expect((await service.call('texts', { v })).json).toEqual({ rows: [{ a: v }], count: 1 });
      expect(changed(before, await look())).toEqual([]);
    });
  });
});
