/**
 * What this driver uses of `node:sqlite`; the types of the oldest Node.js that the agent runs on do not have it. What is
 * optional came with later releases.
 */
export interface SqliteModule {
  readonly DatabaseSync: new (location: string, options: SqliteOptions) => SqliteDatabase;
}

interface SqliteOptions {
  readonly readOnly: boolean;
  readonly allowExtension: boolean;
  readonly enableForeignKeyConstraints: boolean;
  readonly enableDoubleQuotedStringLiterals: boolean;
  /** In milliseconds: how long a statement waits for a writer. */
  readonly timeout: number;
}

export interface SqliteDatabase {
  readonly isTransaction: boolean;
  exec(sql: string): void;
  prepare(sql: string): SqliteStatement;
  close(): void;
  enableDefensive?(isOn: boolean): void;
  setAuthorizer?(judge: (action: number, first: string | null) => number): void;
}

export interface SqliteStatement {
  all(): readonly Readonly<Record<string, unknown>>[];
  get(): Readonly<Record<string, unknown>> | undefined;
  run(): unknown;
  /** Values by the names of the parameters, since Node.js 22.16 does not find ?1 by its number. */
  iterate(values: Readonly<Record<string, BoundValue>>): IterableIterator<readonly SqliteValue[]>;
  columns(): readonly { readonly name: string; readonly type: string | null }[];
  setReadBigInts(isOn: boolean): void;
  setReturnArrays(isOn: boolean): void;
}

/** INTEGER comes as bigint, REAL as number. */
export type SqliteValue = null | bigint | number | string | Uint8Array;
export type BoundValue = null | bigint | number | string;

export interface SqliteError extends Error {
  /** SQLite's extended result code. */
  readonly errcode?: number;
  /** The meaning of the code, without any text of the statement. */
  readonly errstr?: string;
}

export function loadSqlite(): SqliteModule {
  const loaded: unknown = process.getBuiltinModule('node:sqlite');
  if (!isSqlite(loaded)) throw new Error('this Node.js has no SQLite');
  return loaded;
}

function isSqlite(loaded: unknown): loaded is SqliteModule {
  return typeof loaded === 'object' && loaded !== null && 'DatabaseSync' in loaded;
}
