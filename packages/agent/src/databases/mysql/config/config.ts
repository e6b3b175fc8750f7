import type { DatabaseConfig, DatabaseSection } from '../../driver/driver.ts';

export interface MysqlConfig extends DatabaseConfig {
  readonly host: string;
  readonly port: number;
  readonly name: string;
  readonly user: string;
  readonly password: string;
  readonly sslmode: SslMode;
  /** PEM text of the certificate authority that signs the database's certificate. */
  readonly sslRootCert?: string;
  /** Whether SQL is told who calls. */
  readonly callerVariables: boolean;
}

type SslMode = 'disable' | 'prefer' | 'require' | 'verify-full';

/** The section as written, once it has passed its schema. */
interface MysqlSection extends DatabaseSection {
  readonly host: string;
  readonly port?: number;
  readonly name: string;
  readonly user: string;
  readonly sslmode?: SslMode;
  readonly max_connections?: number;
  readonly caller_variables?: boolean;
}

export function configure(section: MysqlSection, texts: Readonly<Record<string, string>>): MysqlConfig {
  const { password, ssl_root_cert: sslRootCert } = texts;
  if (password === undefined) throw new Error('cannot configure the database: it has no password');
  return {
    driver: section.driver ?? 'mysql',
    host: section.host,
    port: section.port ?? 3306,
    name: section.name,
    user: section.user,
    password,
    sslmode: section.sslmode ?? 'prefer',
    ...(sslRootCert === undefined ? {} : { sslRootCert }),
    maxConnections: section.max_connections ?? 10,
    callerVariables: section.caller_variables ?? false,
    requireReadonlyAccount: section.require_readonly_account ?? true,
  };
}
