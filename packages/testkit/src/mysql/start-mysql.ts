import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createConnection, type RowDataPacket } from 'mysql2/promise';
import { freePort } from '../network/free-port.ts';
import { runProcess, startProcess, type RunningProcess } from '../processes/start-process.ts';
import { makeCertificate, type CertificateFiles } from '../programs/make-certificate.ts';
import { createReleasers, type Releasers } from '../releasers.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import type { MysqlProgram } from './find-servers.ts';

/** Plain data, so that a whole run of tests can share a server. */
export interface MysqlAddress {
  /** Of the program, such as `mariadb-11.4`. */
  readonly name: string;
  readonly kind: MysqlProgram['kind'];
  readonly host: string;
  readonly port: number;
  /** May do everything. */
  readonly user: string;
  readonly password: string;
  /** PEM of the certificate, for `localhost` and 127.0.0.1, which is its own authority. */
  readonly certificate: string;
}

export interface Mysql {
  readonly address: MysqlAddress;
  readonly process: RunningProcess;
  stop(): Promise<void>;
}

export interface MysqlOptions {
  /** A port that must be free; default any that is. */
  readonly port?: number;
}

const START_MS = 120_000;
const ADMINISTRATOR = 'administrator';
// Tests that run beside each other share a server, and some change what its new sessions start with.
const SESSION = `set session sql_quote_show_create = 1,
  session sql_mode = 'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'`;

/** Starts a real server on 127.0.0.1 with TLS, with a new cluster that ends with it. */
export async function startMysql(program: MysqlProgram, options: MysqlOptions = {}): Promise<Mysql> {
  const releasers = createReleasers();
  try {
    return await start(program, options, releasers);
  } catch (error) {
    await releasers.closeAll();
    throw error;
  }
}

async function start(program: MysqlProgram, options: MysqlOptions, releasers: Releasers): Promise<Mysql> {
  const folder = await temporaryFolder('mysql');
  await releasers.add(() => folder.remove());
  for (const name of ['data', 'files', 'temporary']) await mkdir(join(folder.path, name));
  await initialise(program, folder.path);
  const files = await makeCertificate(folder.path, ['DNS:localhost', 'IP:127.0.0.1']);
  const password = randomBytes(18).toString('base64url');
  const accounts = join(folder.path, 'accounts.sql');
  await writeFile(accounts, accountOf(program.kind, password), { mode: 0o600 });
  const port = options.port ?? (await freePort());
  const args = [...commonOptions(program, folder.path), ...serverOptions(folder.path, port, files)];
  const [command, ...words] = program.command;
  const process = await startProcess(command, [...words, ...args, `--init-file=${accounts}`], {
    orphanSignal: 'SIGKILL',
  });
  await releasers.add(async () => {
    process.signal('SIGKILL');
    await process.exited;
  });
  await process.waitForLine((line) => line.includes(` port: ${port} `), START_MS);
  const certificate = await readFile(files.certificate, 'utf8');
  return {
    address: {
      name: program.name,
      kind: program.kind,
      host: '127.0.0.1',
      port,
      user: ADMINISTRATOR,
      password,
      certificate,
    },
    process,
    stop: () => releasers.closeAll(),
  };
}

async function initialise(program: MysqlProgram, folder: string): Promise<void> {
  const [command, ...words] = program.command;
  const common = [...words, ...commonOptions(program, folder)];
  const made =
    program.kind === 'mysql'
      ? await runProcess(command, [...common, '--initialize-insecure'], { withinMs: START_MS })
      : await bootstrap(program, folder, [command, ...common, '--bootstrap']);
  if (made.code !== 0) throw new Error(`cannot initialise ${program.name}:\n${made.stdout}${made.stderr}`);
}

/** What MariaDB's installation script does: the server reads the SQL that makes its system tables. */
async function bootstrap(
  { share }: MysqlProgram,
  folder: string,
  command: readonly string[],
): ReturnType<typeof runProcess> {
  const files = readdirSync(share);
  const parts = ['system_tables', 'performance_tables', 'system_tables_data'].map((part) => {
    const file = files.find((name) => name.endsWith(`_${part}.sql`));
    if (file === undefined) throw new Error(`cannot initialise MariaDB: ${share} has no ${part}`);
    return readFile(join(share, file), 'utf8');
  });
  const sql = join(folder, 'bootstrap.sql');
  // The reader takes one statement a line.
  await writeFile(sql, ['create database mysql;', 'use mysql;', ...(await Promise.all(parts))].join('\n'));
  return runProcess('sh', ['-c', 'exec "$@" < "$0"', sql, ...command], { withinMs: START_MS });
}

function commonOptions({ share }: MysqlProgram, folder: string): readonly string[] {
  return [
    '--no-defaults',
    // As root it runs only when it is told to.
    ...(process.getuid?.() === 0 ? ['--user=root'] : []),
    `--datadir=${join(folder, 'data')}`,
    // A server that starts removes what it takes for leftovers of its own.
    `--tmpdir=${join(folder, 'temporary')}`,
    `--lc-messages-dir=${share}`,
    `--character-sets-dir=${join(share, 'charsets')}`,
  ];
}

function serverOptions(
  folder: string,
  port: number,
  { certificate, key }: CertificateFiles,
): readonly string[] {
  const all = {
    'bind-address': '127.0.0.1',
    port: String(port),
    socket: join(folder, 'server.sock'),
    'pid-file': join(folder, 'server.pid'),
    'ssl-ca': certificate,
    'ssl-cert': certificate,
    'ssl-key': key,
    'max-connections': '300',
    'secure-file-priv': join(folder, 'files'),
    // Of a cluster that nobody needs after a crash.
    'innodb-flush-log-at-trx-commit': '0',
    'sync-binlog': '0',
    'log-bin-trust-function-creators': 'ON',
    'skip-name-resolve': 'ON',
    // MySQL's second protocol has a port of its own, always the same.
    'loose-mysqlx': 'OFF',
  };
  return Object.entries(all).map(([name, value]) => `--${name}=${value}`);
}

function accountOf(kind: MysqlProgram['kind'], password: string): string {
  const account = `'${ADMINISTRATOR}'@'%'`;
  const more = kind === 'mysql' ? [] : [`drop user if exists ''@'localhost';`];
  return [
    `create user ${account} identified by '${password}';`,
    `grant all on *.* to ${account} with grant option;`,
    ...more,
    '',
  ].join('\n');
}

/** Runs SQL of any number of statements as the administrator; gives the rows of the last one. */
export async function executeMysql(
  { host, port, user, password }: MysqlAddress,
  sql: string,
  database?: string,
): Promise<readonly RowDataPacket[]> {
  const connection = await createConnection({
    host,
    port,
    user,
    password,
    ...(database === undefined ? {} : { database }),
    multipleStatements: true,
    ssl: { rejectUnauthorized: false },
  });
  try {
    await connection.query(SESSION);
    const [results] = await connection.query<RowDataPacket[] | RowDataPacket[][]>(sql);
    // Of a statement without rows it is no list; of several statements it is a list with one for each.
    if (!Array.isArray(results)) return [];
    const last = results.at(-1);
    return Array.isArray(last) ? last : results.filter((row): row is RowDataPacket => !Array.isArray(row));
  } finally {
    await connection.end();
  }
}
