import type { Capability } from '../../capabilities/model.ts';
import type { Verifier } from '../driver.ts';
import type { OneSelect } from '../sql/one-select.ts';
import { unorderedStatements } from '../sql/unordered-statements.ts';
import { auditAccount } from './audit/account.ts';
import type { SqliteConfig } from './config.ts';
import { createPool, ping, withSession } from './connect.ts';
import type { PreparedQuery } from './execute/prepared-query.ts';
import { describeStatement } from './verify/describe-statement.ts';
import { fileWarnings } from './verify/file-warnings.ts';
import { readStatement } from './verify/read-statement.ts';
import { verifyCapabilities } from './verify/verify-capabilities.ts';

export const verifier: Verifier = {
  readStatements: async (capabilities) =>
    capabilities.flatMap((capability) => {
      const result = readStatement(capability);
      return result.ok ? [] : result.faults;
    }),
  // A negative LIMIT is none, and a negative OFFSET is zero.
  findWarnings: async () => [],
  findUnordered: async (capabilities) => unorderedStatements(capabilities, selectOf),
  open(config: SqliteConfig) {
    const pool = createPool({ ...config, maxConnections: 1 });
    return {
      ping: () => ping(pool),
      verify: (capabilities) => verifyCapabilities(pool, config, capabilities),
      findWarnings: async () => fileWarnings(),
      findUnordered: async (capabilities) => unorderedStatements(capabilities, selectOf),
      describe: (name, sql) => withSession(pool, (session) => describeStatement(session, name, sql)),
      async plan({ definition }: PreparedQuery) {
        const sql = `explain query plan ${definition.text}`;
        const rows = await withSession(pool, (session) => session.read({ sql }));
        return rows.map(({ detail }) => String(detail));
      },
      auditAccount: async () => auditAccount(config),
      close: () => pool.close(),
    };
  },
};

function selectOf(capability: Capability): OneSelect | undefined {
  const result = readStatement(capability);
  return result.ok ? result.read.select : undefined;
}
