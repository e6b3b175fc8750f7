import pg from 'pg';

/** Where a PostgreSQL server listens, and its superuser. */
export interface ServerAddress {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
}

export function databaseUrl(server: ServerAddress, database: string): string {
  const user = `${encodeURIComponent(server.user)}:${encodeURIComponent(server.password)}`;
  return `postgres://${user}@${server.host}:${server.port}/${encodeURIComponent(database)}`;
}

/** Runs `work` with a connection of its own. */
export async function withClient<T>(
  server: ServerAddress,
  database: string,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ connectionString: databaseUrl(server, database) });
  // A connection that breaks also fails the query that waits for it.
  client.on('error', () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Runs SQL text of any number of statements, all in one transaction unless it says otherwise. */
export async function execute(server: ServerAddress, database: string, sql: string): Promise<void> {
  await withClient(server, database, (client) => client.query(sql));
}

export async function databaseExists(server: ServerAddress, name: string): Promise<boolean> {
  const { rowCount } = await withClient(server, 'postgres', (client) =>
    client.query('select from pg_database where datname = $1', [name]),
  );
  return rowCount === 1;
}

export async function createDatabase(
  server: ServerAddress,
  name: string,
  template = 'template1',
): Promise<void> {
  const sql = `create database ${pg.escapeIdentifier(name)} template ${pg.escapeIdentifier(template)}`;
  await execute(server, 'postgres', sql);
}

/** Also when somebody is connected to it, and when it does not exist. */
export async function dropDatabase(server: ServerAddress, name: string): Promise<void> {
  await execute(server, 'postgres', `drop database if exists ${pg.escapeIdentifier(name)} with (force)`);
}
