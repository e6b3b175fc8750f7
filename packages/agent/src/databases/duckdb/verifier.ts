import type { Capability } from '../../capabilities/model.ts';
import type { Fault } from '../../capabilities/fault.ts';
import type { Verifier } from '../driver/driver.ts';
import { auditFiles } from '../engine-process/audit-files.ts';
import { askRows, withSession, type EnginePool } from '../engine-process/engine-database.ts';
import type { EngineQuery } from '../engine-process/engine-queries.ts';
import type { DuckdbConfig } from './config/config.ts';
import { unordered } from '../clauses/compose.ts';
import { createPool, ping } from './connect.ts';
import { clauseDialect } from './verify/clause-dialect.ts';
import type { QueryDefinition } from './engine/questions.ts';
import { statementVerifier } from '../clauses/tokens/statement-verifier.ts';
import { describeStatement } from './verify/describe-statement.ts';
import { readStatement } from './verify/read-statement.ts';
import { judge, verifyCapabilities } from './verify/verify-capabilities.ts';

/** The operator is told this at each start. */
const WEAKER: Fault = {
  path: 'database',
  message:
    'DuckDB has no accounts, and to its engine SQL is trusted: what a statement may do is judged by its own parser and closed lists, and bounded by its settings; give the files to another user than the agent runs as',
};

const BY_ITSELF =
  "DuckDB has no accounts: its process may do what the agent's user may. Locked settings keep the engine from other files, from " +
  'the network and from extensions that are not built in, but not from temporary tables and from ' +
  'writing below the folders of read_files (COPY); no statement that the agent accepts does either';

const statements = statementVerifier(readStatement, ({ body }) => body, clauseDialect);

export const verifier: Verifier = {
  ...statements,
  // Only DuckDB's own parser tells the order of rows.
  findUnordered: async () => [],
  open(config: DuckdbConfig) {
    const pool = createPool({ ...config, maxConnections: 1 });
    return {
      ping: () => ping(pool),
      verify: (capabilities) => verifyCapabilities(pool, config, capabilities),
      findWarnings: async () => [WEAKER],
      findUnordered: (capabilities) => findUnordered(pool, capabilities),
      findClauseAdvice: statements.findClauseAdvice,
      describe: (name, sql) => withSession(pool, (session) => describeStatement(session, name, sql)),
      async plan({ definition }: EngineQuery<QueryDefinition>) {
        const text = definition.text.replaceAll(/\$\d+/g, 'NULL');
        const rows = await withSession(pool, (session) =>
          askRows<readonly unknown[]>(session, `explain ${text}`),
        );
        return rows.flatMap((row) => String(row.at(-1)).split('\n'));
      },
      auditAccount: async () =>
        auditFiles(
          {
            files: [config.file, ...config.readFiles.filter((path) => !path.endsWith('/'))],
            besides: ['.wal'],
            trees: config.readFiles.filter((path) => path.endsWith('/')),
          },
          config.isImmutable,
        ),
      describeAccount: async () => [{ note: BY_ITSELF }],
      close: () => pool.close(),
    };
  },
};

async function findUnordered(
  pool: EnginePool,
  capabilities: readonly Capability[],
): Promise<readonly string[]> {
  return withSession(pool, async (session) => {
    const names: string[] = [];
    for (const capability of unordered(capabilities)) {
      const result = readStatement(capability);
      if (!result.ok) continue;
      const found = await judge(session, capability, result.read);
      const isOne = capability.limits.maxRows === 1 || !/\bfrom\b/i.test(capability.sql);
      if (found.ok && !found.isOrdered && !isOne) names.push(capability.name);
    }
    return names;
  });
}
