import { createRequire } from 'node:module';
import { executablePath, type AbortSignalLike, type OwnCode } from '@svc/edge';
import type { Database, DatabaseChange } from '../driver/driver.ts';
import {
  createEnginePool,
  engineDatabase,
  pingBy,
  type EnginePool,
} from '../engine-process/engine-database.ts';
import { ASK } from '../engine-process/engine-questions.ts';
import { openEngineSession, type EngineSession } from '../engine-process/engine-session.ts';
import { problemOfFile } from '../engine-process/problem-of-file.ts';
import { DatabaseError } from '../driver/errors.ts';
import type { DuckdbConfig } from './config/config.ts';
import type { EngineRules } from '../engine-process/engine-queries.ts';
import { probesWith } from '../sql/probes/value-probes.ts';
import type { OpenQuestion, QueryDefinition } from './engine/questions.ts';
import { INSTALL, LIBRARY } from './engine/library.ts';

/** The code of the process that holds a database open: a text in this executable, so that one file is all to install. */
declare const SVC_DUCKDB: string;

/** A query stops within milliseconds of being asked. If it does not, its process is killed. */
const INTERRUPT_MS = 1000;
/** The memory of Node.js and of the code of DuckDB. */
const PROCESS_BYTES = 400_000_000;

export function engineCode(): OwnCode {
  return { command: 'internal-duckdb', text: SVC_DUCKDB };
}

export function createPool(config: DuckdbConfig, onChange?: (change: DatabaseChange) => void): EnginePool {
  return createEnginePool((signal) => openSession(config, signal), config.maxConnections, onChange);
}

async function openSession(config: DuckdbConfig, signal: AbortSignalLike): Promise<EngineSession> {
  const problem = await problemOfFile(config.file);
  if (problem !== undefined) throw new DatabaseError('unavailable', problem, { advice: problem });
  const { file, folder, readFiles, memoryBytes, threads } = config;
  const question: OpenQuestion = { library: libraryPath(), file, folder, readFiles, memoryBytes, threads };
  const options = {
    code: engineCode(),
    memoryBytes: memoryBytes + PROCESS_BYTES,
    interrupt: { kind: ASK.interrupt, graceMs: INTERRUPT_MS },
  };
  return openEngineSession(options, question, signal);
}

/** The library is native code of the system, so it is installed beside the executable. Throws `DatabaseError`. */
function libraryPath(): string {
  try {
    return createRequire(executablePath()).resolve(LIBRARY);
  } catch {
    const advice = `DuckDB is not installed: run ${INSTALL} in the folder of svc-agent`;
    throw new DatabaseError('unavailable', advice, { advice });
  }
}

/** Throws `DatabaseError`. */
export function ping(pool: EnginePool): Promise<void> {
  return pingBy(pool, 'select 1');
}

const engineRules: EngineRules<QueryDefinition> = {
  sharesShort: false,
  hasUnsigned: true,
  placeholder: '$',
  isCursorValue: () => true,
  define: ({ judged, probes, ...whole }, { statement, run, params, fields }) => ({
    ...whole,
    judged: { ...judged, text: statement.text, parameters: statement.params.length },
    text: run.text,
    params: params.map(({ schema }) => schema.type),
    probes: probesWith(probes, run.params),
    ...(fields.length === 0 ? {} : { hasPages: true }),
  }),
};

export function connect(config: DuckdbConfig, onChange: (change: DatabaseChange) => void): Database {
  const pool = createPool(config, onChange);
  return engineDatabase(pool, () => ping(pool), engineRules);
}
