import { existsSync } from 'node:fs';
import type { Fault } from '../../capabilities/fault.ts';
import type { Verifier } from '../driver/driver.ts';
import { auditFiles } from '../engine-process/audit-files.ts';
import { askRows, withSession } from '../engine-process/engine-database.ts';
import type { EngineQuery } from '../engine-process/engine-queries.ts';
import type { FileConfig } from '../engine-process/file-config.ts';
import { statementVerifier, unorderedStatements } from '../clauses/tokens/statement-verifier.ts';
import { createPool, ping } from './connect.ts';
import { clauseDialect } from './verify/clause-dialect.ts';
import type { QueryDefinition } from './engine/questions.ts';
import { describeStatement } from './verify/describe-statement.ts';
import { readStatement } from './verify/read-statement.ts';
import { timeComparisons } from './verify/time-comparisons.ts';
import { verifyCapabilities } from './verify/verify-capabilities.ts';

/** The endings of what SQLite keeps beside a database. */
const BESIDES = ['-wal', '-shm', '-journal'];
const BY_ITSELF =
  "SQLite has no accounts: its process may read what the agent's user may. The agent opens the file for reading only, without " +
  'extensions and without functions that name files, and runs only statements whose compiled program reads this file alone; ATTACH ' +
  'and PRAGMA are no such statements, and newer versions of Node.js refuse them in the engine, too';

const statements = statementVerifier(
  readStatement,
  ({ select }) => select.body,
  clauseDialect,
  timeComparisons,
);

export const verifier: Verifier = {
  ...statements,
  findUnordered: async (capabilities) => unorderedStatements(capabilities, readStatement),
  open(config: FileConfig) {
    const pool = createPool({ ...config, maxConnections: 1 });
    return {
      ping: () => ping(pool),
      verify: (capabilities) => verifyCapabilities(pool, config, capabilities),
      findWarnings: async () => fileWarnings(),
      findUnordered: async (capabilities) => unorderedStatements(capabilities, readStatement),
      findClauseAdvice: statements.findClauseAdvice,
      describe: (name, sql) => withSession(pool, (session) => describeStatement(session, name, sql)),
      async plan({ definition }: EngineQuery<QueryDefinition>) {
        const steps = await withSession(pool, (session) =>
          askRows<Readonly<Record<string, unknown>>>(session, `explain query plan ${definition.text}`),
        );
        return steps.map(({ detail }) => String(detail));
      },
      auditAccount: async () => auditFiles({ files: [config.file], besides: BESIDES }, config.isImmutable),
      describeAccount: async () => [{ note: BY_ITSELF }],
      close: () => pool.close(),
    };
  },
};

/** The operator is told this at each start. */
function fileWarnings(): readonly Fault[] {
  const weaker =
    'SQLite has no accounts: whoever may write the file may change what callers get, so give it to another user than the agent runs as';
  const unwatched =
    'on this system nobody watches how much memory a query takes: its process ends with its time alone';
  return [weaker, ...(existsSync('/proc/self/statm') ? [] : [unwatched])].map((message) => ({
    path: 'database',
    message,
  }));
}
