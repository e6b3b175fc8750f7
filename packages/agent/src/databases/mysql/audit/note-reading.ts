import type { Capability } from '../../../capabilities/model.ts';
import type { AccountNote } from '../../driver/driver.ts';
import type { MysqlSession } from '../connection/session.ts';
import { distinct, quoted, titleOf, type Table } from '../dialect/quoted.ts';
import { findViews, tablesOf } from '../verify/judge-views.ts';
import { judgeText, readStatement } from '../verify/read-statement.ts';
import { covers, nameOfPrivilege, type Grant } from './grants.ts';
import { byWhom, readsAccounts, revoke } from './judge-grants.ts';
import { MOST_TABLES, type Account } from './read-account.ts';

const MAX_NAMED = 10;
/** The server's own databases that reveal other sessions. */
const TELLING = ['performance_schema', 'sys'];

/** The grants of SELECT on what no capability names, each with the statements that revoke it. */
export async function noteReading(
  session: MysqlSession,
  account: Account,
  database: string,
  capabilities: readonly Capability[],
): Promise<readonly AccountNote[]> {
  const needed = await namedTables(session, account, database, capabilities);
  return account.grants.flatMap((grant) => noteGrant(grant, account, needed));
}

function noteGrant(grant: Grant, account: Account, needed: ReadonlySet<string>): readonly AccountNote[] {
  const select = grant.privileges.filter((each) => nameOfPrivilege(each) === 'SELECT');
  // The audit reports the others.
  if (select.length === 0 || readsAccounts(grant, account)) return [];
  const { hasLiteralNames } = account.server;
  const covered = account.tables.filter(({ schema, name }) =>
    covers(grant.object, hasLiteralNames, schema, name),
  );
  const systems = TELLING.filter(
    (schema) => covers(grant.object, hasLiteralNames, schema) && !needed.has(schema),
  );
  const unread = [
    ...covered.filter((table) => !needed.has(keyOf(table))).map(titleOf),
    ...systems.map((schema) => `${quoted(schema)}.*`),
  ];
  if (unread.length === 0) return [];
  const more = unread.length > MAX_NAMED ? ` and ${unread.length - MAX_NAMED} more` : '';
  const named = `${unread.slice(0, MAX_NAMED).join(', ')}${more}`;
  const note = `the account has SELECT on what no capability names: ${named}${byWhom(grant.holders, account)}`;
  // A capability could need a table that was not looked at.
  if (account.tables.length >= MOST_TABLES) return [{ note }];
  const [holder = ''] = grant.holders;
  const kept = covered.filter((table) => needed.has(keyOf(table)));
  const again = kept.map((table) => `GRANT SELECT ON ${titleOf(table)} TO ${holder}`);
  return [{ note, remedy: [...revoke(grant, select), ...again].join('; ') }];
}

/** The tables and views that the capabilities name, those that the views read, and their databases. */
async function namedTables(
  session: MysqlSession,
  { tables }: Account,
  database: string,
  capabilities: readonly Capability[],
): Promise<ReadonlySet<string>> {
  const allowed = capabilities.flatMap(({ allowFunctions }) => allowFunctions);
  const known = new Set(tables.map(keyOf));
  const needed = new Set<string>();
  let next: readonly Table[] = capabilities.flatMap((capability) => {
    const result = readStatement(capability);
    if (!result.ok) return [];
    return result.read.select.names.map(({ schema = database, name }) => ({ schema, name }));
  });
  while (next.length > 0) {
    for (const { schema } of next) needed.add(schema.toLowerCase());
    const asked = next.filter((table) => known.has(keyOf(table)) && !needed.has(keyOf(table)));
    for (const table of asked) needed.add(keyOf(table));
    const views = await findViews(session, distinct(asked));
    next = views.flatMap(({ text }) => {
      const judged = judgeText(text, allowed);
      return judged.ok ? tablesOf(judged.select.body) : [];
    });
  }
  return needed;
}

/** Servers differ in whether names ignore case. */
function keyOf(table: Table): string {
  return titleOf(table).toLowerCase();
}
