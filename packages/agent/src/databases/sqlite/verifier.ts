import type { Capability } from '../../capabilities/model.ts';
import type { Verifier } from '../driver/driver.ts';
import { constantKeyWarnings } from '../sql/constant-keys.ts';
import type { OneSelect } from '../sql/one-select.ts';
import { rowCountWarnings } from '../sql/row-counts.ts';
import { unorderedStatements } from '../sql/unordered-statements.ts';
import { auditFiles } from '../engine-process/audit-files.ts';
import { withSession } from '../engine-process/engine-database.ts';
import type { EngineQuery } from '../engine-process/engine-queries.ts';
import { ASK } from '../engine-process/engine-questions.ts';
import type { SqliteConfig } from './config/config.ts';
import { createPool, ping } from './connect.ts';
import type { QueryDefinition, ReadQuestion } from './engine/questions.ts';
import { describeStatement } from './verify/describe-statement.ts';
import { fileWarnings } from './verify/file-warnings.ts';
import { timeComparisons } from './verify/time-comparisons.ts';
import { readStatement } from './verify/read-statement.ts';
import { verifyCapabilities } from './verify/verify-capabilities.ts';

/** The endings of what SQLite keeps beside a database. */
const BESIDES = ['-wal', '-shm', '-journal'];
const BY_ITSELF =
  "SQLite has no accounts: its process may read what the agent's user may. The agent opens the file for reading only, without " +
  'extensions and without functions that name files, and runs only statements whose compiled program reads this file alone; ATTACH ' +
  'and PRAGMA are no such statements, and newer versions of Node.js refuse them in the engine, too';

export const verifier: Verifier = {
  readStatements: async (capabilities) =>
    capabilities.flatMap((capability) => {
      const result = readStatement(capability);
      return result.ok ? [] : result.faults;
    }),
  findWarnings: async (capabilities) => [
    ...rowCountWarnings(capabilities, (each) => selectOf(each)?.body),
    ...capabilities.flatMap((capability) => timeComparisons(capability, selectOf(capability)?.body ?? [])),
    ...constantKeyWarnings(capabilities, (each) => selectOf(each)?.body),
  ],
  findUnordered: async (capabilities) => unorderedStatements(capabilities, selectOf),
  open(config: SqliteConfig) {
    const { file } = config;
    const pool = createPool({ ...config, maxConnections: 1 });
    return {
      ping: () => ping(pool),
      verify: (capabilities) => verifyCapabilities(pool, config, capabilities),
      findWarnings: async () => fileWarnings(),
      findUnordered: async (capabilities) => unorderedStatements(capabilities, selectOf),
      describe: (name, sql) => withSession(pool, (session) => describeStatement(session, name, sql)),
      async plan({ definition }: EngineQuery<QueryDefinition>) {
        const question: ReadQuestion = { sql: `explain query plan ${definition.text}` };
        const rows = await withSession(pool, (session) =>
          session.ask<readonly Readonly<Record<string, unknown>>[]>(ASK.read, question),
        );
        return rows.map(({ detail }) => String(detail));
      },
      auditAccount: async () => auditFiles({ files: [file], besides: BESIDES }, config.isImmutable),
      describeAccount: async () => [{ note: BY_ITSELF }],
      close: () => pool.close(),
    };
  },
};

function selectOf(capability: Capability): OneSelect | undefined {
  const result = readStatement(capability);
  return result.ok ? result.read.select : undefined;
}
