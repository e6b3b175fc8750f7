import type { DatabaseConfig } from '../../config/agent-config.ts';
import type { Database } from '../database.ts';
import { auditAccount } from './account.ts';
import { ask } from './ask.ts';
import { SessionPool } from './pool.ts';
import { createQuery } from './run.ts';
import { openSession } from './session.ts';
import { verifyCapabilities } from './verify.ts';

/** How long a ping waits for a connection: a little more than making one may take. */
const PING_TIMEOUT_MS = 11_000;

/** A PostgreSQL database. Connects when it is first used, and again whenever a connection was lost. */
export function openPostgres(config: DatabaseConfig): Database {
  const pool = new SessionPool((signal) => openSession(config, signal), config.maxConnections);
  return {
    ping: async () => {
      await ask(pool, { statements: [{ text: 'select 1' }], capability: '', timeoutMs: PING_TIMEOUT_MS });
    },
    verify: async (capabilities) => {
      const { queries, faults, ...verified } = await verifyCapabilities(pool, capabilities);
      return {
        queries: new Map(queries.map((query) => [query.capability, createQuery(pool, query)])),
        capabilities: verified.capabilities,
        faults,
      };
    },
    auditAccount: () => auditAccount(pool),
    get connections() {
      return pool.connections;
    },
    close: () => pool.close(),
  };
}
