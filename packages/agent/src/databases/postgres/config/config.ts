import { choice } from '../../../capabilities/json-schema.ts';
import type { Driver } from '../../driver/driver.ts';
import {
  serverConfig,
  serverSection,
  type ServerConfig,
  type ServerSection,
} from '../../driver/server-config.ts';

export interface PostgresConfig extends ServerConfig {
  readonly transactions: Transactions;
}

interface PostgresSection extends ServerSection {
  readonly transactions?: Transactions;
}

type Transactions = NonNullable<ServerConfig['transactions']>;

const DEFAULTS = { driver: 'postgres', port: 5432, requireReadonlyAccount: false };

export const section: Driver['section'] = serverSection(
  DEFAULTS,
  {
    host: 'Host name, address, or folder of the Unix socket.',
    user: 'Account, best one that can only read.',
  },
  {
    transactions: choice(
      '`shared`: calls whose queries are proven not to see who calls may share a READ ONLY transaction. `own`: each call has its own.',
      ['shared', 'own'],
      'shared',
    ),
  },
);

export function configure(written: PostgresSection, texts: Readonly<Record<string, string>>): PostgresConfig {
  return {
    ...serverConfig(DEFAULTS, written, texts),
    transactions: written.transactions ?? 'shared',
  };
}
