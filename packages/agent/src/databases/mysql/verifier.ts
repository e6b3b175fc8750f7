import type { Verifier } from '../driver/driver.ts';
import { statementVerifier, unorderedStatements } from '../clauses/tokens/statement-verifier.ts';
import { auditAccount, describeAccount } from './audit/account.ts';
import type { MysqlConfig } from './config/config.ts';
import { createPool, ping } from './connect.ts';
import { withSession } from './connection/with-session.ts';
import { expandLists } from './execute/expand-lists.ts';
import type { PreparedQuery } from './execute/prepared-query.ts';
import { clauseDialect } from './verify/clause-dialect.ts';
import { describeStatement } from './verify/describe-statement.ts';
import { readStatement } from './verify/read-statement.ts';
import { serverWarnings } from './verify/server-warnings.ts';
import { verifyCapabilities } from './verify/verify-capabilities.ts';

const statements = statementVerifier(readStatement, ({ select }) => select.body, clauseDialect);

export const verifier: Verifier = {
  ...statements,
  findUnordered: async (capabilities) => unorderedStatements(capabilities, readStatement),
  open(config: MysqlConfig) {
    const pool = createPool(config);
    return {
      ping: () => ping(pool),
      verify: (capabilities) => verifyCapabilities(pool, config, capabilities),
      findWarnings: () => withSession(pool, async (session) => serverWarnings(session)),
      findUnordered: async (capabilities) => unorderedStatements(capabilities, readStatement),
      findClauseAdvice: statements.findClauseAdvice,
      describe: (name, sql) => withSession(pool, (session) => describeStatement(session, name, sql)),
      async plan({ text, params }: PreparedQuery) {
        const nulls = expandLists({ text, params }, []);
        const values = nulls.params.map(({ ifNull }) => ifNull ?? null);
        const rows = await withSession(pool, (session) => session.askWith(`explain ${nulls.text}`, values));
        return rows.map((row) => Object.values(row).map(String).join('  '));
      },
      auditAccount: (capabilities) => auditAccount(pool, config, capabilities),
      describeAccount: (capabilities) => describeAccount(pool, config, capabilities),
      close: () => pool.close(),
    };
  },
};
