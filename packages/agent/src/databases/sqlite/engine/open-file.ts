import { openSync, readSync, closeSync, statSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { Failure } from '../../engine-process/engine-questions.ts';
import { asSqliteError } from './failure.ts';
import { loadSqlite, type SqliteDatabase, type SqliteStatement } from './node-sqlite.ts';
import type { OpenQuestion } from './questions.ts';

/** A file that is open for reading, with the driver's own statements. */
export interface OpenFile {
  readonly database: SqliteDatabase;
  readonly begin: SqliteStatement;
  readonly rollback: SqliteStatement;
  readonly schemaVersion: SqliteStatement;
  /** Reads a table, which makes the connection load a changed schema. */
  readonly readSchema: SqliteStatement;
  /** Whether it is still the file of that name. */
  isCurrent(): boolean;
}

/** A call that waits for a writer ends by its own time limit first. */
const LONGEST_WAIT_MS = 3_600_000;
/** The byte of the header that tells WAL mode. */
const WAL_OFFSET = 18;
const WAL_MODE = 2;

/** Codes of SQLite's authorizer: SQLITE_READ, SQLITE_SELECT, SQLITE_FUNCTION, SQLITE_RECURSIVE. */
const READING_ACTIONS = new Set([20, 21, 31, 33]);
const TRANSACTION = 22;
const PRAGMA = 19;
const [ALLOWED, DENIED] = [0, 1];

/** Throws `Failure`. */
export function openFile(question: OpenQuestion): OpenFile {
  try {
    return open(question);
  } catch (error) {
    const { errcode = 0, errstr = '', message, code } = { code: '', ...asSqliteError(error) };
    const text = errcode === 0 ? `${code} ${message}` : `error ${errcode}, ${errstr}`;
    throw new Failure({ kind: 'unavailable', message: text, advice: adviceFor(question, errcode) });
  }
}

function open({ file, isImmutable, readsSchema = false }: OpenQuestion): OpenFile {
  const { dev, ino } = statSync(file);
  const { DatabaseSync } = loadSqlite();
  const location = `${pathToFileURL(file).href}?${isImmutable ? 'immutable=1' : 'mode=ro'}`;
  const database = new DatabaseSync(location, {
    readOnly: true,
    allowExtension: false,
    enableForeignKeyConstraints: false,
    enableDoubleQuotedStringLiterals: false,
    timeout: LONGEST_WAIT_MS,
  });
  database.enableDefensive?.(true);
  // Views must not call unsafe functions, and sorts must not write temporary files.
  database.exec(
    'pragma trusted_schema = off; pragma query_only = on; pragma temp_store = memory; pragma mmap_size = 0',
  );
  const schemaVersion = database.prepare('pragma schema_version');
  const begin = database.prepare('begin');
  const rollback = database.prepare('rollback');
  const readSchema = database.prepare('select count(*) from sqlite_schema');
  readSchema.get();
  database.setAuthorizer?.((action, first) =>
    readsSchema ||
    READING_ACTIONS.has(action) ||
    action === TRANSACTION ||
    (action === PRAGMA && first === 'schema_version')
      ? ALLOWED
      : DENIED,
  );
  return {
    database,
    begin,
    rollback,
    schemaVersion,
    readSchema,
    isCurrent() {
      const now = statSync(file, { throwIfNoEntry: false });
      return now?.dev === dev && now.ino === ino;
    },
  };
}

function adviceFor({ file, isImmutable }: OpenQuestion, errcode: number): string {
  if (errcode === 26) return 'the file is no SQLite database, or it is encrypted: check file';
  const mode = journalModeOf(file);
  if (mode === undefined) return 'the file is not there or cannot be read: check file, and who may read it';
  if (mode === WAL_MODE && !isImmutable) {
    return 'it is in WAL mode, and its folder cannot be written: let the agent write there, or, where nobody changes the file while the agent runs, set `immutable: true`';
  }
  return 'it cannot be opened for reading: check file, and that no program has left a journal beside it';
}

/** Undefined if it cannot be read. */
function journalModeOf(file: string): number | undefined {
  try {
    const header = Buffer.alloc(WAL_OFFSET + 1);
    const descriptor = openSync(file, 'r');
    readSync(descriptor, header, 0, header.length, 0);
    closeSync(descriptor);
    return header[WAL_OFFSET];
  } catch {
    return undefined;
  }
}
