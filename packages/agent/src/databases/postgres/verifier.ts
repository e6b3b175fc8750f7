import type { Fault } from '../../capabilities/fault.ts';
import type { Verifier } from '../driver/driver.ts';
import { plainCapabilities, unordered } from '../clauses/compose.ts';
import { nullableSorts } from '../clauses/nullable-sorts.ts';
import { auditAccount, describeAccount } from './audit/account.ts';
import type { PostgresConfig } from './config/config.ts';
import type { PreparedQuery } from './execute/prepared-query.ts';
import { createPool, ping } from './connect.ts';
import { describeStatement } from './verify/describe-statement.ts';
import { showPlan } from './verify/plan-statement.ts';
import { readCapabilities } from './verify/readable-capabilities.ts';
import { bodyWarnings } from './verify/grants/body-warnings.ts';
import { foreignTableWarnings } from './verify/functions/foreign-tables.ts';
import { relationKeys } from './verify/relation-keys.ts';
import { warningOf } from './connection/server-support.ts';
import { runOwnStatements } from './execute/own-statements.ts';
import type { SessionPool } from './pool/session-pool.ts';
import { unorderedStatements } from './verify/unordered-statements.ts';
import { viewWarnings } from './verify/view-warnings.ts';
import { optionalFilters, slowSorts } from './verify/clauses/clause-advice.ts';
import { pagingWarnings } from './verify/clauses/paging-warnings.ts';
import { hasNullsFirst } from './verify/clauses/sort-orders.ts';
import { verifyCapabilities } from './verify/verify-capabilities.ts';
import { constantKeyWarnings, rowCountWarnings } from './verify/parameter-warnings.ts';

export const verifier: Verifier = {
  readStatements: readCapabilities,
  findWarnings: async (capabilities) => {
    const plain = plainCapabilities(capabilities);
    return [...(await rowCountWarnings(plain)), ...(await constantKeyWarnings(plain))];
  },
  findUnordered: (capabilities) => unorderedStatements(unordered(capabilities)),
  findClauseAdvice: async (capabilities) => [
    ...(await optionalFilters(capabilities)),
    ...nullableSorts(capabilities, hasNullsFirst),
  ],
  open(config: PostgresConfig) {
    const pool = createPool(config);
    return {
      ping: () => ping(pool),
      verify: (capabilities) => verifyCapabilities(pool, capabilities, config.transactions),
      async findWarnings(capabilities) {
        const plain = plainCapabilities(capabilities);
        return [
          ...(await serverWarnings(pool)),
          ...(await viewWarnings(pool, plain)),
          ...(await foreignTableWarnings(pool, plain)),
          ...(await bodyWarnings(pool, plain)),
          ...(await pagingWarnings(pool, capabilities)),
        ];
      },
      async findUnordered(capabilities) {
        const asked = unordered(capabilities);
        return unorderedStatements(asked, await relationKeys(pool, asked));
      },
      findClauseAdvice: async (capabilities) => [
        ...(await optionalFilters(capabilities)),
        ...(await slowSorts(pool, capabilities)),
      ],
      describe: (name, sql) => describeStatement(pool, name, sql),
      plan: (prepared: PreparedQuery) => showPlan(pool, prepared),
      auditAccount: (capabilities) => auditAccount(pool, plainCapabilities(capabilities)),
      describeAccount: (capabilities) => describeAccount(pool, plainCapabilities(capabilities)),
      close: () => pool.close(),
    };
  },
};

/** What to know at each start of a server that is nearly PostgreSQL. */
async function serverWarnings(pool: SessionPool): Promise<readonly Fault[]> {
  const { facts } = await runOwnStatements(pool, { statements: [] });
  const message = warningOf(facts.told);
  return message === undefined ? [] : [{ path: 'database', message }];
}
