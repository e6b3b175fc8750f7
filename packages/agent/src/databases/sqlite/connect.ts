import type { AbortSignalLike, OwnCode } from '@svc/edge';
import type { Database, DatabaseChange } from '../driver/driver.ts';
import { DatabaseError } from '../driver/errors.ts';
import {
  createEnginePool,
  engineDatabase,
  pingBy,
  type EnginePool,
} from '../engine-process/engine-database.ts';
import { openEngineSession, type EngineSession } from '../engine-process/engine-session.ts';
import type { FileConfig } from '../engine-process/file-config.ts';
import { problemOfFile } from '../engine-process/problem-of-file.ts';
import type { EngineRules } from '../engine-process/engine-queries.ts';
import { probesWith } from '../sql/probes/value-probes.ts';
import { isCursorValue } from './engine/cursor-values.ts';
import type { OpenQuestion, QueryDefinition } from './engine/questions.ts';
import { problemOfNode } from './node-version.ts';

/** The code of the process that holds a database open: a text in this executable, so that one file is all to install. */
declare const SVC_SQLITE: string;

/** The most short calls that go to a process, and come back, in one write. */
const MOST_SHORT = 16;

export function engineCode(): OwnCode {
  // Without the flag node:sqlite warns at each start that it is experimental.
  return { command: 'internal-sqlite', text: SVC_SQLITE, flags: ['--no-warnings'] };
}

export function createPool(config: FileConfig, onChange?: (change: DatabaseChange) => void): EnginePool {
  return createEnginePool(
    (signal) => openSession(config, signal),
    config.maxConnections,
    onChange,
    MOST_SHORT,
  );
}

/** For reading the schema. Runs no query. */
export function createCatalogPool(config: FileConfig): EnginePool {
  return createEnginePool((signal) => openSession(config, signal, { readsSchema: true }), 1);
}

/** Opens the database in a process of its own. Throws `DatabaseError`. */
async function openSession(
  { file, isImmutable, memoryBytes }: FileConfig,
  signal: AbortSignalLike,
  more: Pick<OpenQuestion, 'readsSchema'> = {},
): Promise<EngineSession> {
  const problem = problemOfNode() ?? (await problemOfFile(file));
  if (problem !== undefined) throw new DatabaseError('unavailable', problem, { advice: problem });
  const question: OpenQuestion = { file, isImmutable, ...more };
  return openEngineSession({ code: engineCode(), memoryBytes }, question, signal);
}

/** Throws `DatabaseError`. */
export function ping(pool: EnginePool): Promise<void> {
  return pingBy(pool, 'select count(*) from sqlite_schema');
}

const engineRules: EngineRules<QueryDefinition> = {
  sharesShort: true,
  hasUnsigned: false,
  placeholder: '?',
  isCursorValue,
  define: ({ probes, ...whole }, { statement, run, params, fields }) => ({
    ...whole,
    text: run.text,
    params: params.map(({ schema, ofCursor }) => (ofCursor === undefined ? schema.type : 'cursor')),
    probes: probesWith(probes, run.params),
    ...(fields.length === 0 ? {} : { pages: { fields, statement: statement.text } }),
  }),
};

export function connect(config: FileConfig, onChange: (change: DatabaseChange) => void): Database {
  const pool = createPool(config, onChange);
  return engineDatabase(pool, () => ping(pool), engineRules);
}
