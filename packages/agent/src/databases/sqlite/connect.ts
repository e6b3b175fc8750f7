import type { Database, DatabaseChange } from '../driver/driver.ts';
import {
  createEnginePool,
  engineDatabase,
  unavailable,
  withSession,
  type EnginePool,
} from '../engine-process/engine-database.ts';
import { ASK } from '../engine-process/engine-questions.ts';
import type { SqliteConfig } from './config/config.ts';
import { openSession } from './connection/session.ts';
import type { ReadQuestion } from './engine/questions.ts';

/** So many short calls leave for a process, and come back from it, in one write. */
const MOST_SHORT = 16;

export function createPool(config: SqliteConfig, onChange?: (change: DatabaseChange) => void): EnginePool {
  return createEnginePool(
    (signal) => openSession(config, signal),
    config.maxConnections,
    onChange,
    MOST_SHORT,
  );
}

/** For what looks at the schema, and runs no query. */
export function createCatalogPool(config: SqliteConfig): EnginePool {
  return createEnginePool((signal) => openSession(config, signal, { readsSchema: true }), 1);
}

/** Throws `DatabaseError`. */
export async function ping(pool: EnginePool): Promise<void> {
  const question: ReadQuestion = { sql: 'select count(*) from sqlite_schema' };
  try {
    await withSession(pool, (session) => session.ask(ASK.read, question));
  } catch (error) {
    throw unavailable(error);
  }
}

export function connect(config: SqliteConfig, onChange: (change: DatabaseChange) => void): Database {
  const pool = createPool(config, onChange);
  return engineDatabase(pool, () => ping(pool), { sharesShort: true, hasUnsigned: false });
}
