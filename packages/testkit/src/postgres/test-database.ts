import { createHash, randomBytes } from 'node:crypto';
import type { QueryResultRow } from 'pg';
import {
  createDatabase,
  databaseExists,
  databaseUrl,
  dropDatabase,
  execute,
  withClient,
  type ServerAddress,
} from './server-address.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The server that the run's global set-up has started. */
    postgres: ServerAddress;
  }
}

/** A database of one test file, with the superuser's credentials. */
export interface TestDatabase extends ServerAddress {
  readonly name: string;
  readonly url: string;
  /** The server's `server_version_num`, e.g. 150018. */
  version(): Promise<number>;
  query<Row extends QueryResultRow>(sql: string, values?: readonly unknown[]): Promise<Row[]>;
  /** Runs SQL text of any number of statements. */
  execute(sql: string): Promise<void>;
}

const open = new Map<string, ServerAddress>();

/**
 * A fresh database on the run's PostgreSQL, dropped when the test file ends. `sql` (each any number of
 * statements) is run once per test run; every database with the same `sql` is a clone of the result.
 */
export async function testDatabase(
  options: {
    readonly sql?: readonly string[];
    /** Leaves it, with its sessions, until the server is stopped: for a service that several files share. */
    readonly stays?: boolean;
  } = {},
): Promise<TestDatabase> {
  // Not at the top: the demo uses this package too, and vitest only loads inside its own workers.
  const { inject } = await import('vitest');
  const server = inject('postgres');
  const name = `test_${randomBytes(6).toString('hex')}`;
  await createDatabase(server, name, await templateFor(server, options.sql ?? []));
  if (options.stays !== true) open.set(name, server);
  const query = async <Row extends QueryResultRow>(
    sql: string,
    values: readonly unknown[] = [],
  ): Promise<Row[]> =>
    await withClient(server, name, async (client) => (await client.query<Row>(sql, [...values])).rows);
  return {
    ...server,
    name,
    url: databaseUrl(server, name),
    query,
    version: async () =>
      Number((await query<{ server_version_num: string }>('show server_version_num'))[0]?.server_version_num),
    execute: (sql) => execute(server, name, sql),
  };
}

async function templateFor(server: ServerAddress, sql: readonly string[]): Promise<string | undefined> {
  if (sql.length === 0) return undefined;
  const template = `template_${createHash('sha256').update(JSON.stringify(sql)).digest('hex').slice(0, 16)}`;
  await withClient(server, 'postgres', async (lock) => {
    // Test files run side by side: the first to want the template makes it.
    await lock.query('select pg_advisory_lock(hashtext($1))', [template]);
    if (await databaseExists(server, template)) return;
    const draft = `${template}_draft`;
    await dropDatabase(server, draft);
    await createDatabase(server, draft);
    for (const text of sql) await execute(server, draft, text);
    await lock.query(`alter database ${draft} rename to ${template}`);
  });
  return template;
}

/** Drops what `testDatabase` has created in this test file; rejects when connections were left open. */
export async function dropTestDatabases(): Promise<void> {
  const leaks: string[] = [];
  for (const [name, server] of open) {
    open.delete(name);
    leaks.push(...(await sessionsLeft(server, name)));
    await dropDatabase(server, name);
  }
  if (leaks.length > 0) throw new Error(`connections left open by this test file:\n${leaks.join('\n')}`);
}

async function sessionsLeft(server: ServerAddress, name: string): Promise<string[]> {
  const graceMs = 2000;
  return await withClient(server, 'postgres', async (client) => {
    // The server sees a closed connection a moment later than the test.
    for (const started = performance.now(); ;) {
      const { rows } = await client.query<{ session: string }>(
        `select format('%s %s: %s', application_name, state, query) as session
         from pg_stat_activity where datname = $1 and backend_type = 'client backend'`,
        [name],
      );
      if (rows.length === 0 || performance.now() - started > graceMs)
        return rows.map(({ session }) => session);
      await client.query('select pg_sleep(0.02)');
    }
  });
}
