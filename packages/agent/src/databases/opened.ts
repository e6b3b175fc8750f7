import { isDeepStrictEqual } from 'node:util';
import type { Database, DatabaseConfig } from './driver/driver.ts';
import { DatabaseError, ofDatabase } from './driver/errors.ts';
import { UNNAMED } from '../capabilities/database-names.ts';

export interface OpenedDatabase {
  readonly database: Database;
  /** How often a worker was started again; absent if this process runs the calls itself. */
  readonly workerRestarts?: (() => number) | undefined;
}

/** Stands for a database that has not been verified. */
export const NOT_VERIFIED: OpenedDatabase = {
  database: {
    ping: async () => {},
    prepare() {
      throw new Error('cannot prepare: the database has not been verified');
    },
    forget() {},
    connections: { idle: 0, busy: 0, opening: 0, waiting: 0 },
    isUp: false,
    async close() {},
  },
};

export type OpenedDatabases = ReadonlyMap<string, OpenedDatabase>;

/** The errors of databases that do not answer, by name. */
export async function pingEach(opened: OpenedDatabases): Promise<ReadonlyMap<string, DatabaseError>> {
  const refusals = new Map<string, DatabaseError>();
  const pings = Array.from(opened, async ([name, { database }]) => {
    try {
      await database.ping();
    } catch (error) {
      if (!(error instanceof DatabaseError)) throw error;
      refusals.set(name, name === UNNAMED ? error : ofDatabase(name, error));
    }
  });
  await Promise.all(pings);
  return refusals;
}

/** Proves that all answer. Throws the `DatabaseError` of one that does not. */
export async function pingAll(opened: OpenedDatabases): Promise<void> {
  for (const refusal of (await pingEach(opened)).values()) throw refusal;
}

/** Returns what `use` returns. If it fails, closes the databases and throws its error. */
export async function closeUnless<Result>(
  opened: OpenedDatabases,
  use: () => Promise<Result>,
): Promise<Result> {
  try {
    return await use();
  } catch (error) {
    await closeAll(opened);
    throw error;
  }
}

export async function closeAll(opened: OpenedDatabases): Promise<void> {
  await Promise.all(Array.from(opened.values(), ({ database }) => database.close()));
}

/** Whether connections are made with the same settings. */
export function sameConnection(a: DatabaseConfig, b: DatabaseConfig): boolean {
  return isDeepStrictEqual(connectionOf(a), connectionOf(b));
}

function connectionOf({
  requireReadonlyAccount: _required,
  requireReadonlyAccountPosition: _position,
  transactions: _transactions,
  ...connection
}: DatabaseConfig): unknown {
  return connection;
}

export function databasesOf(opened: OpenedDatabases): ReadonlyMap<string, Database> {
  return new Map(Array.from(opened, ([name, { database }]) => [name, database]));
}
