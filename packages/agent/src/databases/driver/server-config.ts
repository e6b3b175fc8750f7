import { choice, count, filledText, flag, text, type JsonSchema } from '../../capabilities/json-schema.ts';
import type { DatabaseConfig, DatabaseSection, Driver } from './driver.ts';

/** The settings of a database that is a server. */
export interface ServerConfig extends DatabaseConfig {
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
export interface ServerSection extends DatabaseSection {
  readonly host: string;
  readonly port?: number;
  readonly name: string;
  readonly user: string;
  readonly sslmode?: SslMode;
  readonly max_connections?: number;
}

/** What is the driver's own in the section of a server. */
interface ServerDefaults {
  readonly driver: string;
  readonly port: number;
  readonly requireReadonlyAccount: boolean;
}

export function serverSection(
  { port, requireReadonlyAccount }: ServerDefaults,
  texts: { readonly host: string; readonly user: string },
  more: Readonly<Record<string, JsonSchema>> = {},
): Driver['section'] {
  return {
    properties: {
      host: filledText(texts.host),
      port: count('TCP port.', 1, 65_535, port),
      name: filledText('Name of the database.'),
      user: filledText(texts.user),
      password: text('Password of the account.'),
      password_file: filledText('File that holds the password; relative to this file.'),
      sslmode: choice(
        'How the connection is encrypted.',
        ['disable', 'prefer', 'require', 'verify-full'],
        'prefer',
      ),
      ssl_root_cert: filledText(
        'PEM file of the authority that signs its certificate; relative to this file.',
      ),
      max_connections: count('Connections held at most.', 1, 10_000, 10),
      ...more,
      require_readonly_account: flag(
        'Refuse to start when the account may do more than read.',
        requireReadonlyAccount,
      ),
    },
    required: ['host', 'name', 'user'],
  };
}

export function serverConfig(
  defaults: ServerDefaults,
  section: ServerSection,
  { password, ssl_root_cert: sslRootCert }: Readonly<Record<string, string>>,
): ServerConfig {
  if (password === undefined) throw new Error('cannot configure the database: it has no password');
  return {
    driver: section.driver ?? defaults.driver,
    host: section.host,
    port: section.port ?? defaults.port,
    name: section.name,
    user: section.user,
    password,
    sslmode: section.sslmode ?? 'prefer',
    ...(sslRootCert === undefined ? {} : { sslRootCert }),
    maxConnections: section.max_connections ?? 10,
    requireReadonlyAccount: section.require_readonly_account ?? defaults.requireReadonlyAccount,
  };
}
