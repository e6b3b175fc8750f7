import { randomBytes } from 'node:crypto';
import { chown, mkdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../network/free-port.ts';
import {
  runProcess,
  startProcess,
  type ProcessExit,
  type RunningProcess,
} from '../processes/start-process.ts';
import { createReleasers, type Releasers } from '../releasers.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { completeBinaries, copyBinaries, findBinaries, program, type Binaries } from './binaries.ts';
import { canEnter, serverAccount, type Account } from './server-account.ts';
import { createDatabase, dropDatabase, execute, type ServerAddress } from './server-address.ts';

export interface PostgresOptions {
  /**
   * Where the cluster is kept, or found from an earlier start; created when absent, never removed, and
   * written durably. Default: a temporary folder that `stop` removes, written without fsync.
   */
  readonly folder?: string;
  /** Server settings, e.g. `{ log_statement: 'all' }`. */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface Postgres extends ServerAddress {
  readonly pid: number;
  /** False when `folder` held a cluster already. */
  readonly isNew: boolean;
  /** Never rejects. */
  readonly exited: Promise<ProcessExit>;
  createDatabase(name: string, options?: { readonly template?: string }): Promise<void>;
  dropDatabase(name: string): Promise<void>;
  /** Runs SQL text of any number of statements as the superuser. */
  execute(database: string, sql: string): Promise<void>;
  /** The server's log. */
  output(): string;
  /** Ends open sessions and the server, removes what is temporary. */
  stop(): Promise<void>;
}

const startWithinMs = 60_000;
const superuser = 'postgres';
const environment = { TZ: 'UTC', LC_ALL: 'C' };
const fast = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' };

/** Starts a real PostgreSQL on 127.0.0.1, on a free port or that of the settings; as root under another account that exists. */
export async function startPostgres(options: PostgresOptions = {}): Promise<Postgres> {
  const releasers = createReleasers();
  try {
    return await start(options, releasers);
  } catch (error) {
    await releasers.closeAll();
    throw error;
  }
}

async function start(options: PostgresOptions, releasers: Releasers): Promise<Postgres> {
  const account = await serverAccount();
  const binaries = await usableBinaries(account, releasers);
  const folder = await clusterFolder(options.folder, account, releasers);
  const { data, password, isNew } = await initialise(binaries, folder, account);
  const settings = { ...(options.folder === undefined ? fast : {}), ...options.settings };
  const { server, port } = await launch(binaries.native, data, settings, account);
  await releasers.add(() => shutDown(server));

  const address: ServerAddress = { host: '127.0.0.1', port, user: superuser, password };
  // As it is from 15 on, so that an account that may only read is one on every version.
  if (isNew && binaries.major < 15) {
    await execute(address, 'template1', 'revoke create on schema public from public');
  }
  return {
    ...address,
    pid: server.pid,
    isNew,
    exited: server.exited,
    createDatabase: (name, { template } = {}) => createDatabase(address, name, template),
    dropDatabase: (name) => dropDatabase(address, name),
    execute: (database, sql) => execute(address, database, sql),
    output: () => server.output(),
    stop: () => releasers.closeAll(),
  };
}

/** The installed binaries where the account can reach them, else a copy that lives as long as the server. */
async function usableBinaries(account: Account | undefined, releasers: Releasers): Promise<Binaries> {
  const { native: installed, major } = findBinaries();
  await completeBinaries(installed);
  const reachable = await canEnter(join(installed, 'share', 'postgresql'), account);
  if (reachable && (await canEnter(join(installed, 'bin'), account))) return { native: installed, major };
  const copy = await temporaryFolder('binaries', { parent: await temporaryParent(account), owner: account });
  await releasers.add(() => copy.remove());
  const native = join(copy.path, 'native');
  await copyBinaries(installed, native);
  return { native, major };
}

async function clusterFolder(
  wanted: string | undefined,
  account: Account | undefined,
  releasers: Releasers,
): Promise<string> {
  if (wanted === undefined) {
    const parent = await temporaryParent(account);
    const temporary = await temporaryFolder('postgres', { parent, owner: account });
    await releasers.add(() => temporary.remove());
    return temporary.path;
  }
  await mkdir(wanted, { recursive: true, mode: 0o700 });
  if (account !== undefined) await chown(wanted, account.uid, account.gid);
  if (!(await canEnter(wanted, account))) {
    throw new Error(
      `cannot keep the database in ${wanted}: the account ${account?.name} that runs it may not enter; choose another folder`,
    );
  }
  return wanted;
}

/** The system's temporary folder, unless it is private to root. */
async function temporaryParent(account: Account | undefined): Promise<string> {
  return (await canEnter(tmpdir(), account)) ? tmpdir() : '/tmp';
}

async function initialise(
  { native, major }: Binaries,
  folder: string,
  account: Account | undefined,
): Promise<{ data: string; password: string; isNew: boolean }> {
  const data = join(folder, 'data');
  const passwordFile = join(folder, 'superuser-password');
  const complete = join(folder, 'complete');
  const known = await readFile(complete, 'utf8').catch(() => undefined);
  if (known !== undefined) {
    return { data, password: (await readFile(passwordFile, 'utf8')).trim(), isNew: false };
  }
  const password = randomBytes(18).toString('base64url');
  await writeFile(passwordFile, `${password}\n`, { mode: 0o600 });
  if (account !== undefined) await chown(passwordFile, account.uid, account.gid);
  const { code, stderr, stdout } = await runProcess(
    program(native, 'initdb'),
    [
      `--pgdata=${data}`,
      `--username=${superuser}`,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      // PostgreSQL's own locale: the same on every machine. Before 17 it had only one that knows ASCII alone.
      ...(major >= 17 ? ['--locale-provider=builtin', '--builtin-locale=C.UTF-8'] : []),
      '--locale=C',
      '--no-sync',
      ...(major >= 14 ? ['--no-instructions'] : []),
    ],
    { cwd: folder, env: environment, withinMs: startWithinMs, ...identity(account) },
  );
  if (code !== 0) throw new Error(`cannot create a PostgreSQL cluster in ${folder}:\n${stdout}${stderr}`);
  await writeFile(complete, '');
  return { data, password, isNew: true };
}

async function launch(
  native: string,
  data: string,
  settings: Readonly<Record<string, string>>,
  account: Account | undefined,
): Promise<{ server: RunningProcess; port: number }> {
  for (let attempt = 1; ; attempt++) {
    const port = settings['port'] === undefined ? await freePort() : Number(settings['port']);
    const all = {
      listen_addresses: '127.0.0.1',
      port: String(port),
      unix_socket_directories: '',
      max_connections: '200',
      ...settings,
    };
    const server = await startProcess(
      program(native, 'postgres'),
      ['-D', data, ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
      {
        cwd: data,
        env: environment,
        stopSignal: 'SIGINT',
        orphanSignal: 'SIGQUIT',
        ...identity(account),
      },
    );
    try {
      await server.waitForLine(
        (line) => /ready to accept (?:read.only )?connections/.test(line),
        startWithinMs,
      );
      return { server, port };
    } catch (error) {
      await shutDown(server);
      // Somebody else may have taken the port since we looked.
      if (attempt === 5 || !/could not bind/.test(server.output())) {
        throw new Error('cannot start PostgreSQL', { cause: error });
      }
    }
  }
}

function identity(account: Account | undefined): { uid?: number; gid?: number } {
  return account === undefined ? {} : { uid: account.uid, gid: account.gid };
}

async function shutDown(server: RunningProcess): Promise<void> {
  // SIGINT ends the sessions and writes a checkpoint; SIGQUIT does without.
  const impatience = setTimeout(() => server.signal('SIGQUIT'), 10_000);
  await server.stop(15_000);
  clearTimeout(impatience);
}
