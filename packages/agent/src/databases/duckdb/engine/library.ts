/** What has to be installed beside the executable. */
export const LIBRARY = '@duckdb/node-api';
/** npm finds no release for `@1.5`, because each has a revision after its number and so counts as a prerelease. */
export const INSTALL: string = `\`npm install ${LIBRARY}@1.5.5-r.5\``;
/** The releases that the closed lists were written for. */
const TESTED = /^v1\.5\./;

/** What this driver uses of the library. */
export interface DuckdbModule {
  readonly DuckDBInstance: {
    create(path: string, options: Readonly<Record<string, string>>): Promise<DuckdbInstance>;
  };
  version(): string;
}

interface DuckdbInstance {
  connect(): Promise<DuckdbConnection>;
}

export interface DuckdbConnection {
  run(sql: string): Promise<unknown>;
  runAndReadAll(sql: string, values?: readonly string[]): Promise<DuckdbReader>;
  prepare(sql: string): Promise<DuckdbStatement>;
  extractStatements(sql: string): Promise<{ readonly count: number }>;
  interrupt(): void;
}

interface DuckdbReader {
  getRows(): readonly (readonly unknown[])[];
}

export interface DuckdbStatement {
  readonly parameterCount: number;
  readonly columnCount: number;
  /** 0 if unknown. */
  parameterTypeId(index: number): number;
  /** Throws if unknown. */
  parameterType(index: number): { toString(): string };
  columnName(index: number): string;
  /** 0 for every column if a parameter has no type. */
  columnTypeId(index: number): number;
  columnType(index: number): { toString(): string; readonly alias?: string };
  bindNull(index: number): void;
  bindVarchar(index: number, value: string): void;
  bindBoolean(index: number, value: boolean): void;
  bindBigInt(index: number, value: bigint): void;
  bindHugeInt(index: number, value: bigint): void;
  bindDouble(index: number, value: number): void;
  stream(): Promise<DuckdbStream>;
  runAndReadAll(): Promise<unknown>;
  destroySync(): void;
}

export interface DuckdbStream {
  fetchChunk(): Promise<{ readonly rowCount: number; getRows(): readonly (readonly unknown[])[] } | null>;
}

/** The error that it throws says what to do. */
export function loadLibrary(path: string): DuckdbModule {
  const loaded: unknown = require(path);
  if (!isLibrary(loaded)) throw new Error(`${LIBRARY} is not what it should be: run ${INSTALL}`);
  const version = loaded.version();
  if (!TESTED.test(version)) {
    throw new Error(`DuckDB is ${version}, and the agent needs 1.5: run ${INSTALL} in its folder`);
  }
  return loaded;
}

function isLibrary(loaded: unknown): loaded is DuckdbModule {
  return typeof loaded === 'object' && loaded !== null && 'DuckDBInstance' in loaded && 'version' in loaded;
}
