import type { Database } from './driver.ts';
import { ofDatabase } from './errors.ts';
import { UNNAMED } from '../capabilities/database-names.ts';

/** What runs the calls of a database. */
export interface OpenedDatabase {
  readonly database: Database;
  /** How often a worker was started again; absent where this process runs the calls itself. */
  readonly workerRestarts?: (() => number) | undefined;
}

/** By name. */
export type OpenedDatabases = ReadonlyMap<string, OpenedDatabase>;

/** Proves that all answer; throws `DatabaseError` of one that does not. */
export async function pingAll(opened: OpenedDatabases): Promise<void> {
  const pings = Array.from(opened, async ([name, { database }]) => {
    try {
      await database.ping();
    } catch (error) {
      throw name === UNNAMED ? error : ofDatabase(name, error);
    }
  });
  await Promise.all(pings);
}

/** What `use` makes of them; where it fails, they are closed first. */
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

/** What runs calls, without how it was opened. */
export function databasesOf(opened: OpenedDatabases): ReadonlyMap<string, Database> {
  return new Map(Array.from(opened, ([name, { database }]) => [name, database]));
}
