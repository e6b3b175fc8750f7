import { createHash, randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startPostgres, type Postgres, type Releasers } from '../packages/testkit/src/index.ts';
import type { Home } from './start-home.ts';

export interface Library {
  readonly postgres: Postgres;
  /** What the capability file reads from the environment about its database. */
  readonly environment: Readonly<Record<string, string>>;
}

const database = 'library';
const reader = 'library_reader';

/** Starts PostgreSQL with the sample library in it, and a read-only account with a new password. */
export async function startLibrary(
  examples: string,
  home: Home,
  progress: (line: string) => void,
  releasers: Releasers,
): Promise<Library> {
  const postgres = await startPostgres(home.kept ? { folder: join(home.folder, 'database') } : {});
  await releasers.add(() => postgres.stop());
  const { host, port } = postgres;
  progress(`PostgreSQL runs on ${host}:${port}`);
  await load(examples, home, postgres, progress);
  const password = randomBytes(18).toString('base64url');
  await postgres.execute(database, `alter role ${reader} with login password '${password}'`);
  return {
    postgres,
    environment: {
      SVC_DB_HOST: host,
      SVC_DB_PORT: String(port),
      SVC_DB_NAME: database,
      SVC_DB_USER: reader,
      SVC_DB_PASSWORD: password,
    },
  };
}

async function load(
  examples: string,
  home: Home,
  postgres: Postgres,
  progress: (line: string) => void,
): Promise<void> {
  const texts = await Promise.all(
    ['schema.sql', 'data.sql', 'reader.sql'].map((file) => readFile(join(examples, 'library', file), 'utf8')),
  );
  // Written last, so that an interrupted load, or one of other data, is repeated.
  const receipt = join(home.folder, 'loaded');
  const version = createHash('sha256').update(JSON.stringify(texts)).digest('hex');
  if ((await readFile(receipt, 'utf8').catch(() => undefined)) === version) {
    progress('Using the sample data of the last start');
    return;
  }
  await postgres.dropDatabase(database);
  await postgres.execute('postgres', `drop role if exists ${reader}`);
  await postgres.createDatabase(database);
  for (const text of texts) await postgres.execute(database, text);
  await postgres.execute(database, 'vacuum analyze');
  await writeFile(receipt, version);
  progress('Loaded the sample data');
}
