import type { Driver } from '../../driver/driver.ts';
import {
  serverConfig,
  serverSection,
  type ServerConfig,
  type ServerSection,
} from '../../driver/server-config.ts';

export type PostgresConfig = ServerConfig;

const DEFAULTS = { driver: 'postgres', port: 5432, requireReadonlyAccount: false };

export const section: Driver['section'] = serverSection(DEFAULTS, {
  host: 'Host name, address, or folder of the Unix socket.',
  user: 'Account, best one that can only read.',
});

export function configure(written: ServerSection, texts: Readonly<Record<string, string>>): PostgresConfig {
  return serverConfig(DEFAULTS, written, texts);
}
