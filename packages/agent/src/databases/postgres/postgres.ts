import type { DatabaseConfig } from '../../config/agent-config.ts';
import type { Database } from '../database.ts';
import { auditAccount } from './account.ts';
import { connectPostgres } from './connect-postgres.ts';
import { verifyCapabilities } from './verify.ts';

/** A PostgreSQL database with what verifies capabilities; see `connectPostgres`. */
export function openPostgres(config: DatabaseConfig): Database {
  const { pool, database, queryOf } = connectPostgres(config);
  return {
    ping: () => database.ping(),
    get connections() {
      return database.connections;
    },
    close: () => database.close(),
    verify: async (capabilities) => {
      const { queries: verified, ...rest } = await verifyCapabilities(pool, capabilities);
      return {
        queries: new Map(verified.map((query) => [query.capability, queryOf(query)])),
        verified,
        ...rest,
      };
    },
    auditAccount: (capabilities) => auditAccount(pool, capabilities),
  };
}
