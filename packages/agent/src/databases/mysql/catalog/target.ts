import { resolve } from 'node:path';
import type { CatalogTargetResult } from '../../driver/catalog.ts';
import { refused, serverTarget } from '../../driver/server-target.ts';
import { configure, type MysqlConfig } from '../config/config.ts';

type Env = Readonly<Record<string, string | undefined>>;

const PROTOCOLS: Readonly<Record<string, 'mysql' | 'mariadb'>> = { 'mysql:': 'mysql', 'mariadb:': 'mariadb' };
/** The values of `ssl-mode` of the servers' own programs, and those of a capability file. */
const SSL_MODES: Readonly<Record<string, MysqlConfig['sslmode']>> = {
  disable: 'disable',
  disabled: 'disable',
  prefer: 'prefer',
  preferred: 'prefer',
  require: 'require',
  required: 'require',
  verify_ca: 'require',
  'verify-full': 'verify-full',
  verify_identity: 'verify-full',
};

/** Reads `mysql://user:password@host:3306/name`. A missing password comes from MYSQL_PWD. */
export function targetOf(text: string | undefined, env: Env): CatalogTargetResult {
  const url = parsed(text ?? '');
  const driver = PROTOCOLS[url?.protocol ?? ''];
  if (url === undefined || driver === undefined) {
    return refused('the URL of the database must look like `mysql://user:password@host:3306/name`');
  }
  const query = url.searchParams;
  const host = query.get('socket') ?? decodeURIComponent(url.hostname.replace(/^\[(.*)\]$/, '$1'));
  const name = decodeURIComponent(url.pathname.slice(1));
  const user = decodeURIComponent(url.username);
  if (host === '' || name === '' || user === '') {
    return refused('the URL of the database must name an account, a host and a database');
  }
  const port = url.port === '' ? 3306 : Number(url.port);
  const wanted = query.get('sslmode') ?? query.get('ssl-mode');
  const sslmode = SSL_MODES[(wanted ?? 'prefer').toLowerCase()];
  if (sslmode === undefined) return refused('sslmode must be disable, prefer, require or verify-full');
  const certificate = query.get('sslrootcert') ?? query.get('ssl-ca');
  const path = certificate === null ? undefined : resolve(certificate);
  const section = {
    driver,
    host,
    ...(port === 3306 ? {} : { port }),
    name,
    ...(wanted === null ? {} : { sslmode }),
    ...(path === undefined ? {} : { ssl_root_cert: path }),
  };
  const password = url.password === '' ? env['MYSQL_PWD'] : decodeURIComponent(url.password);
  return serverTarget(section, { user, password }, configure);
}

/** Undefined also for an invalid escape such as `%zz`. */
function parsed(text: string): URL | undefined {
  try {
    const url = new URL(text);
    for (const part of [url.username, url.password, url.hostname, url.pathname]) decodeURIComponent(part);
    return url;
  } catch {
    return undefined;
  }
}
