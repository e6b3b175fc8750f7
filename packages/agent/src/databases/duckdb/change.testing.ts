import { DuckDBInstance } from '@duckdb/node-api';

/** Changes a database file, as the programs do that own it. */
export async function change(file: string, ...statements: readonly string[]): Promise<void> {
  const instance = await DuckDBInstance.create(file);
  const connection = await instance.connect();
  for (const sql of statements) await connection.run(sql);
  connection.closeSync();
  instance.closeSync();
}
