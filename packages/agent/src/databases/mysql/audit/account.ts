import type { Capability } from '../../../capabilities/model.ts';
import type { AccountFinding } from '../../driver.ts';
import type { Pool } from '../../sessions/pool.ts';
import type { MysqlConfig } from '../config.ts';
import { withSession } from '../connect.ts';
import { unavailable } from '../connection/server-errors.ts';
import type { MysqlSession } from '../connection/session.ts';
import { foreignGrants } from './foreign-grants.ts';
import { judgeFunctions } from './judge-functions.ts';
import { judgeGrants } from './judge-grants.ts';
import { readAccount } from './read-account.ts';

type Audited = Pick<MysqlConfig, 'name'>;

/** What the account may do beyond reading, each with its remedy. Throws `DatabaseError`. */
export async function auditAccount(
  pool: Pool<MysqlSession>,
  { name }: Audited,
  capabilities: readonly Capability[],
): Promise<readonly AccountFinding[]> {
  try {
    return await withSession(pool, async (session) => {
      const account = await readAccount(session);
      const findings = [
        ...judgeGrants(account, name),
        ...judgeFunctions(account, capabilities).flatMap(({ modifies, problem, remedy }) =>
          modifies ? [{ problem, remedy }] : [],
        ),
        ...(await foreignGrants(session, account)),
      ];
      return [...new Map(findings.map((finding) => [finding.remedy, finding])).values()];
    });
  } catch (error) {
    throw unavailable(error);
  }
}
