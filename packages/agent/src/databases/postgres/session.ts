import net from 'node:net';
import type tls from 'node:tls';
import pg from 'pg';
import type { DatabaseConfig } from '../../config/agent-config.ts';
import type { CancelTarget } from './cancel.ts';
import { unavailable } from './errors.ts';
import { fly, type Line } from './flight.ts';

/** One connection and what was learnt when it was made. */
export interface Session extends Line {
  /** Absent when the server gave no key: then only closing the socket ends a query. */
  readonly cancelTarget?: CancelTarget;
  readonly facts: SessionFacts;
}

export interface SessionFacts {
  /** What the account has by default; each call pins it. */
  readonly searchPath: string;
  /** `server_version_num`, e.g. 150018. */
  readonly version: number;
  readonly utf8: boolean;
}

const CONNECT_TIMEOUT_MS = 10_000;
const KEEPALIVE_MS = 30_000;

/** Connects; throws `DatabaseError` of kind `unavailable`, after 10 s at the latest. */
export async function openSession(config: DatabaseConfig): Promise<Session> {
  const encrypted = tlsOptions(config);
  try {
    return await attempt(config, encrypted);
  } catch (error) {
    if (config.sslmode !== 'prefer' || encrypted === false || !isWithoutTls(error)) throw unavailable(error);
  }
  try {
    return await attempt(config, false);
  } catch (error) {
    throw unavailable(error);
  }
}

export function destroy(session: Session): void {
  session.client.connection.stream.destroy();
}

/** What `tls.connect` gets for each sslmode; as with libpq a Unix socket is never encrypted. */
function tlsOptions(config: DatabaseConfig): tls.ConnectionOptions | false {
  if (config.host.startsWith('/')) return false;
  const ca = config.sslRootCert === undefined ? {} : { ca: config.sslRootCert };
  switch (config.sslmode) {
    case 'disable':
      return false;
    case 'prefer':
      return { rejectUnauthorized: false };
    case 'require':
      // libpq's rule: with a root certificate `require` checks the chain, but not the host name.
      return config.sslRootCert === undefined
        ? { rejectUnauthorized: false }
        : { ...ca, rejectUnauthorized: true, checkServerIdentity: () => undefined };
    case 'verify-full':
      return { ...ca, rejectUnauthorized: true };
  }
}

function isWithoutTls(error: unknown): boolean {
  return error instanceof Error && error.message === 'The server does not support SSL connections';
}

async function attempt(config: DatabaseConfig, ssl: tls.ConnectionOptions | false): Promise<Session> {
  const client = newClient(config, ssl);
  // Without a listener the loss of an idle connection would end the process; the pool sees it by `end`.
  client.on('error', () => {});
  let key: { readonly processId: number; readonly secret: number } | undefined;
  client.connection.on('backendKeyData', (message: { processID: number; secretKey: number }) => {
    key = { processId: message.processID, secret: message.secretKey };
  });
  const timer = setTimeout(() => {
    client.connection.stream.destroy(new Error(`no answer within ${CONNECT_TIMEOUT_MS / 1000} s`));
  }, CONNECT_TIMEOUT_MS);
  try {
    await client.connect();
    const address = addressOf(client, config);
    const cancelTarget =
      key === undefined || address === undefined
        ? {}
        : { cancelTarget: { ...key, address, ssl, host: config.host } };
    const line = { client, prepared: new Set<string>() };
    return { ...line, facts: await readFacts(line), ...cancelTarget };
  } catch (error) {
    client.connection.stream.destroy();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

function newClient(config: DatabaseConfig, ssl: tls.ConnectionOptions | false): pg.Client {
  const client = new pg.Client({
    host: config.host,
    port: config.port,
    database: config.name,
    user: config.user,
    // A function, since node-postgres replaces an empty password by PGPASSWORD or ~/.pgpass.
    password: () => config.password,
    ssl,
    sslnegotiation: 'postgres',
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEPALIVE_MS,
    pipeline: true,
  });
  // PGOPTIONS, PGREPLICATION and the like would end up here, and a pooler refuses most of them.
  const startup = { user: config.user, database: config.name, application_name: 'svc-agent' };
  return Object.assign(client, { getStartupConf: () => startup });
}

/** The very server reached: a host name may stand for several, and a cancel request must find the same. */
function addressOf(client: pg.Client, config: DatabaseConfig): net.NetConnectOpts | undefined {
  if (config.host.startsWith('/')) return { path: `${config.host}/.s.PGSQL.${config.port}` };
  const { stream } = client.connection;
  if (!(stream instanceof net.Socket)) return undefined;
  const { remoteAddress, remotePort } = stream;
  return remoteAddress === undefined || remotePort === undefined
    ? undefined
    : { host: remoteAddress, port: remotePort };
}

const FACTS =
  "select pg_catalog.current_setting('search_path'), pg_catalog.current_setting('server_version_num'), " +
  "pg_catalog.current_setting('server_encoding'), pg_catalog.current_setting('standard_conforming_strings')";

async function readFacts(line: Line): Promise<SessionFacts> {
  const [landing] = await fly(line, [[{ text: FACTS }]]);
  if (landing?.error !== undefined) throw landing.error;
  const [searchPath, version, encoding, conforming] = landing?.results[0]?.rows[0] ?? [];
  if (conforming !== 'on') {
    throw new Error(
      'standard_conforming_strings is off, so the server reads quotes differently from the check of the SQL: ' +
        'set it to on for this account',
    );
  }
  return { searchPath: searchPath ?? '', version: Number(version), utf8: encoding === 'UTF8' };
}
