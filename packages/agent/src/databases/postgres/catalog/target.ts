import { resolve } from 'node:path';
import type { CatalogTargetResult } from '../../driver/catalog.ts';
import { refused, serverTarget } from '../../driver/server-target.ts';
import { configure, type PostgresConfig } from '../config/config.ts';

type Env = Readonly<Record<string, string | undefined>>;
type SslMode = PostgresConfig['sslmode'];

const PROTOCOLS = new Set(['postgres:', 'postgresql:']);
/** libpq's modes by what they are here; `verify-ca` is `require` with a root certificate. */
const SSL_MODES: Readonly<Record<string, SslMode>> = {
  disable: 'disable',
  allow: 'prefer',
  prefer: 'prefer',
  require: 'require',
  'no-verify': 'require',
  'verify-ca': 'require',
  'verify-full': 'verify-full',
};

/** Reads a URL as libpq does: the environment gives what it leaves out. */
export function targetOf(text: string | undefined, env: Env): CatalogTargetResult {
  const url = text === undefined ? undefined : parsed(text);
  if (text !== undefined && url === undefined) {
    return refused('the URL of the database must look like `postgres://user:password@host:5432/name`');
  }
  if (url === undefined && env['PGHOST'] === undefined && env['PGDATABASE'] === undefined) {
    return refused('no database is named: set DATABASE_URL, or PGHOST, PGDATABASE and the like');
  }
  const query = url?.searchParams;
  const from = (part: string | undefined | null, variable: string): string | undefined =>
    (part ?? '') === '' ? env[variable] : (part ?? undefined);
  const host = from(query?.get('host') ?? (url === undefined ? '' : bareHost(url)), 'PGHOST') ?? 'localhost';
  const port = Number(from(query?.get('port') ?? url?.port, 'PGPORT') ?? 5432);
  const user = from(query?.get('user') ?? decoded(url?.username), 'PGUSER') ?? env['USER'];
  if (user === undefined) return refused('no account is named: put it into the URL, or set PGUSER');
  const name = from(query?.get('dbname') ?? decoded(url?.pathname.slice(1)), 'PGDATABASE') ?? user;
  const password = from(query?.get('password') ?? decoded(url?.password), 'PGPASSWORD');
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    return refused('the port of the database must be a number from 1 to 65535');
  }
  if (host.includes(',')) return refused('the URL names several hosts of the database: name one');

  const wanted = from(query?.get('sslmode'), 'PGSSLMODE');
  const sslmode = SSL_MODES[wanted ?? 'prefer'];
  if (sslmode === undefined) {
    return refused('sslmode of the database must be disable, prefer, require, verify-ca or verify-full');
  }
  const certificate = from(query?.get('sslrootcert'), 'PGSSLROOTCERT');
  if (wanted === 'verify-ca' && certificate === undefined) {
    return refused('sslmode=verify-ca needs sslrootcert, the certificate of the authority');
  }
  const path = certificate === undefined || certificate === 'system' ? undefined : resolve(certificate);
  const section = {
    host,
    ...(port === 5432 ? {} : { port }),
    name,
    ...(wanted === undefined ? {} : { sslmode }),
    ...(path === undefined ? {} : { ssl_root_cert: path }),
  };
  return serverTarget(section, { user, password }, configure);
}

/** Undefined also if an escape such as `%zz` stands for nothing. */
function parsed(text: string): URL | undefined {
  // A socket's folder stands escaped in place of the host, or the host is left out. URL takes neither.
  const [, scheme = '', socket = '', rest = ''] =
    /^([a-z]+:\/\/(?:[^@/]*@)?)(%2F[^:/?]*|(?=[/?]|$))(.*)$/is.exec(text) ?? [];
  try {
    const url = new URL(scheme === '' ? text : `${scheme}localhost${rest}`);
    if (socket !== '') url.searchParams.set('host', decodeURIComponent(socket));
    for (const part of [url.username, url.password, url.pathname]) decodeURIComponent(part);
    return PROTOCOLS.has(url.protocol) ? url : undefined;
  } catch {
    return undefined;
  }
}

function decoded(part: string | undefined): string | undefined {
  return part === undefined ? undefined : decodeURIComponent(part);
}

function bareHost({ hostname }: URL): string {
  return decodeURIComponent(hostname.replace(/^\[(.*)\]$/, '$1'));
}
