import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { QueryResultRow } from 'pg';
import { freePort } from '../network/free-port.ts';
import { startProcess, type RunningProcess } from '../processes/start-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { canEnter, serverAccount } from './server-account.ts';
import { withClient, type ServerAddress } from './server-address.ts';

export interface PgBouncer {
  readonly host: string;
  readonly port: number;
  readonly pid: number;
  /** Runs a command of the console, such as `show servers`. */
  command<Row extends QueryResultRow>(text: string): Promise<Row[]>;
  /** The log. */
  output(): string;
  /** Ends it at once, with every connection. */
  stop(): Promise<void>;
}

export interface PgBouncerOptions {
  /** The server behind it; every database and every account of it can be used. */
  readonly server: ServerAddress;
  /** A port that must be free; default any that is. */
  readonly port?: number;
  /** Of the section `[pgbouncer]`, e.g. `{ pool_mode: 'transaction' }`. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** The program that SVC_TEST_PGBOUNCER names, or the one that is installed; Debian's folder need not be on the path of a user. */
const candidates = [process.env['SVC_TEST_PGBOUNCER'] ?? 'pgbouncer', '/usr/sbin/pgbouncer'];

export interface PgBouncerProgram {
  readonly path: string;
  readonly version: string;
  /** From 1.21 on, in transaction mode: then a client finds its prepared statements on every server connection. */
  readonly keepsPreparedStatements: boolean;
}

/** Undefined where it is not installed. */
export function findPgBouncer(): PgBouncerProgram | undefined {
  for (const path of candidates) {
    const { stdout } = spawnSync(path, ['--version'], { encoding: 'utf8' });
    const found = /^PgBouncer (\d+)\.(\d+)\S*/m.exec(stdout ?? '');
    if (found === null) continue;
    const [version, major, minor] = [found[0].slice('PgBouncer '.length), Number(found[1]), Number(found[2])];
    return { path, version, keepsPreparedStatements: major > 1 || minor >= 21 };
  }
  return undefined;
}

/** Starts a PgBouncer on 127.0.0.1; as root under another account that exists. */
export async function startPgBouncer({ server, port, settings }: PgBouncerOptions): Promise<PgBouncer> {
  const program = findPgBouncer();
  if (program === undefined) throw new Error('cannot start PgBouncer: it is not installed');
  const account = await serverAccount();
  const parent = (await canEnter(tmpdir(), account)) ? tmpdir() : '/tmp';
  const folder = await temporaryFolder('pgbouncer', { parent, owner: account });
  const listening = port ?? (await freePort());
  const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;
  const users = join(folder.path, 'users.txt');
  const configuration = join(folder.path, 'pgbouncer.ini');
  const all = {
    listen_addr: server.host,
    listen_port: String(listening),
    unix_socket_dir: '',
    auth_type: 'scram-sha-256',
    auth_file: users,
    // It looks up each other account's secret and logs in with that.
    auth_user: server.user,
    auth_query: 'select usename, passwd from pg_catalog.pg_shadow where usename = $1',
    admin_users: server.user,
    // Without it, a refused login makes it wait 15 s until it tries the server again.
    server_login_retry: '0.1',
    ...settings,
  };
  let running: RunningProcess;
  try {
    await writeFile(users, `${quoted(server.user)} ${quoted(server.password)}\n`, { mode: 0o644 });
    const lines = Object.entries(all).map(([name, value]) => `${name} = ${value}`);
    const databases = `[databases]\n* = host=${server.host} port=${server.port}\n`;
    await writeFile(configuration, `${databases}[pgbouncer]\n${lines.join('\n')}\n`);
    running = await startProcess(program.path, [configuration], {
      cwd: folder.path,
      // Since 1.23 SIGTERM waits for the clients.
      stopSignal: 'SIGQUIT',
      ...(account === undefined ? {} : { uid: account.uid, gid: account.gid }),
    });
  } catch (error) {
    await folder.remove();
    throw error;
  }
  async function stop(): Promise<void> {
    await running.stop();
    await folder.remove();
  }
  try {
    await running.waitForLine((line) => line.includes('process up'));
  } catch (error) {
    await stop();
    throw new Error('cannot start PgBouncer', { cause: error });
  }
  const address = { ...server, port: listening };
  return {
    host: server.host,
    port: listening,
    pid: running.pid,
    command: <Row extends QueryResultRow>(text: string) =>
      withClient(address, 'pgbouncer', async (client) => (await client.query<Row>(text)).rows),
    output: () => running.output(),
    stop,
  };
}
