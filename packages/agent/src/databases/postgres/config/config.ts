import type { DatabaseConfig, DatabaseSection } from '../../driver/driver.ts';

export interface PostgresConfig extends DatabaseConfig {
  readonly host: string;
  readonly port: number;
  readonly name: string;
  readonly user: string;
  readonly password: string;
  readonly sslmode: SslMode;
  /** PEM text of the certificate authority that signs the database's certificate. */
  readonly sslRootCert?: string;
}

type SslMode = 'disable' | 'prefer' | 'require' | 'verify-full';

/** The section as written, once it has passed its schema. */
interface PostgresSection extends DatabaseSection {
  readonly host: string;
  readonly port?: number;
  readonly name: string;
  readonly user: string;
  readonly sslmode?: SslMode;
  readonly max_connections?: number;
}

export function configure(section: PostgresSection, texts: Readonly<Record<string, string>>): PostgresConfig {
  const { password, ssl_root_cert: sslRootCert } = texts;
  if (password === undefined) throw new Error('cannot configure the database: it has no password');
  return {
    driver: 'postgres',
    host: section.host,
    port: section.port ?? 5432,
    name: section.name,
    user: section.user,
    password,
    sslmode: section.sslmode ?? 'prefer',
    ...(sslRootCert === undefined ? {} : { sslRootCert }),
    maxConnections: section.max_connections ?? 10,
    requireReadonlyAccount: section.require_readonly_account ?? false,
  };
}
