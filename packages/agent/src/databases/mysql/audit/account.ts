import type { Capability } from '../../../capabilities/model.ts';
import type { AccountFinding, AccountNote } from '../../driver/driver.ts';
import type { Pool } from '../../sessions/pool.ts';
import type { MysqlConfig } from '../config/config.ts';
import { askDatabase } from '../connection/with-session.ts';
import type { MysqlSession } from '../connection/session.ts';
import { foreignGrants } from './foreign-grants.ts';
import { isSame, nameOfPrivilege, type Grant } from './grants.ts';
import { byWhom, judgeGrants, revoke } from './judge-grants.ts';
import { noteReading } from './note-reading.ts';
import { readAccount, type Account } from './read-account.ts';

type Audited = Pick<MysqlConfig, 'name'>;

/** What the account may do beyond reading, each with its remedy. Throws `DatabaseError`. */
export async function auditAccount(
  pool: Pool<MysqlSession>,
  { name }: Audited,
  capabilities: readonly Capability[],
): Promise<readonly AccountFinding[]> {
  return askDatabase(pool, async (session) => {
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
}

/** The rest is only counted. */
const MOST_FUNCTIONS = 10;

/** What the account may do that is no finding: what every account can do, and reading that no capability needs. */
export async function describeAccount(
  pool: Pool<MysqlSession>,
  { name }: Audited,
  capabilities: readonly Capability[],
): Promise<readonly AccountNote[]> {
  return askDatabase(pool, async (session) => {
    const account = await readAccount(session);
    const functions = judgeFunctions(account, capabilities).filter(({ modifies }) => !modifies);
    const more = functions.length - MOST_FUNCTIONS;
    return [
      { note: byItself(session) },
      ...(await noteReading(session, account, name, capabilities)),
      ...functions.slice(0, MOST_FUNCTIONS).map(({ problem, remedy }) => ({ note: problem, remedy })),
      ...(more > 0 ? [{ note: `the account may call ${more} more functions that no capability may` }] : []),
    ];
  });
}

function byItself({ isMariaDb }: MysqlSession): string {
  const [server, locks] = isMariaDb
    ? ['MariaDB', 'SELECT ... FOR UPDATE and LOCK IN SHARE MODE']
    : ['MySQL', 'SELECT ... LOCK IN SHARE MODE'];
  return (
    `like every account of a ${server} server, the account can by itself wait and compute (SLEEP, BENCHMARK), take named locks ` +
    `(GET_LOCK), lock rows that it may read (${locks}), check tables that it may read (CHECK TABLE), set variables of its session, ` +
    'prepare XA transactions, change its own password and end its own sessions; no statement takes that from one account'
  );
}

interface JudgedFunction extends AccountFinding {
  /** Whether it is declared to change data. */
  readonly modifies: boolean;
}

/** The functions that the account may call and the file does not allow. */
function judgeFunctions(account: Account, capabilities: readonly Capability[]): readonly JudgedFunction[] {
  const allowed = new Set(capabilities.flatMap(({ allowFunctions }) => allowFunctions));
  return account.grants.filter(isCall).flatMap((grant) => {
    const called = account.functions.find((each) => isSame(grant.object, each.schema, each.name));
    const title = `${called?.schema}.${called?.name}`.toLowerCase();
    if (called !== undefined && (allowed.has(title) || allowed.has(called.name.toLowerCase()))) return [];
    const modifies = called?.modifies === true;
    const rights = called?.isDefiners === true ? `, with the rights of ${called.definer}` : '';
    const changes = modifies ? ', which is declared to change data' : '';
    const problem = `the account may call the function ${grant.object}${rights}${byWhom(grant.holders, account)}${changes}, and no capability may`;
    return [{ modifies, problem, remedy: revoke(grant, ['EXECUTE']).join('; ') }];
  });
}

function isCall({ kind, privileges }: Grant): boolean {
  return kind === 'FUNCTION' && privileges.some((privilege) => nameOfPrivilege(privilege) === 'EXECUTE');
}
