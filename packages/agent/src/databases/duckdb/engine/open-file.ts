import { statSync } from 'node:fs';
import { Failure } from '../../engine-process/engine-questions.ts';
import { kindOfError } from './failure.ts';
import { loadLibrary, type DuckdbConnection, type DuckdbModule } from './library.ts';
import type { OpenQuestion } from './questions.ts';

/** A database that is open for reading, in an engine that can do nothing else. */
export interface OpenFile {
  readonly connection: DuckdbConnection;
  /** Whether it is still the file of that name. */
  isCurrent(): boolean;
}

/** Throws `Failure`. */
export async function openFile(question: OpenQuestion): Promise<OpenFile> {
  const { file, folder, library } = question;
  // Relative paths in SQL start at the folder of the capability file.
  process.chdir(folder);
  const { DuckDBInstance } = libraryOf(library);
  const { dev, ino } = statSync(file);
  const connection = await create(DuckDBInstance, question);
  return {
    connection,
    isCurrent() {
      const now = statSync(file, { throwIfNoEntry: false });
      return now?.dev === dev && now.ino === ino;
    },
  };
}

function libraryOf(path: string): DuckdbModule {
  try {
    return loadLibrary(path);
  } catch (error) {
    const advice = error instanceof Error ? error.message : String(error);
    throw new Failure({ kind: 'unavailable', message: advice, advice });
  }
}

async function create(
  instances: DuckdbModule['DuckDBInstance'],
  { file, readFiles, memoryBytes, threads }: OpenQuestion,
): Promise<DuckdbConnection> {
  try {
    const instance = await instances.create(file, {
      access_mode: 'READ_ONLY',
      autoinstall_known_extensions: 'false',
      autoload_known_extensions: 'false',
      allow_community_extensions: 'false',
      memory_limit: `${memoryBytes}B`,
      threads: String(threads),
      // A query that does not fit into memory fails; DuckDB must not write a file.
      temp_directory: '',
    });
    const connection = await instance.connect();
    // The syntax [...] would call a macro of the file if it has one named list_value.
    const listed = (paths: readonly string[]): string =>
      `system.main.list_value(${paths.map(quoted).join(', ')})`;
    for (const setting of [
      `set TimeZone = 'UTC'`,
      `set allowed_directories = ${listed(readFiles.filter((path) => path.endsWith('/')))}`,
      `set allowed_paths = ${listed(readFiles.filter((path) => !path.endsWith('/')))}`,
      'set enable_external_access = false',
      'set lock_configuration = true',
    ]) {
      await connection.run(setting);
    }
    return connection;
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    const message = `DuckDB: ${kindOfError(error)} Error`;
    throw new Failure({ kind: 'unavailable', message, advice: adviceFor(text) });
  }
}

function adviceFor(text: string): string {
  if (/set lock on file/.test(text)) {
    return 'another program has the file open for writing: it can be served when that is done, or serve a copy';
  }
  // DuckDB would read a CSV file into memory, and an SQLite file by an extension.
  if (/not a valid DuckDB database|in-memory database|is an existing extension/.test(text)) {
    return 'the file is no DuckDB database: check file';
  }
  if (/ermission/.test(text)) return 'the file cannot be read: check who may read it';
  return 'it cannot be opened: check file, and that a DuckDB as old as 1.5 can read it';
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
