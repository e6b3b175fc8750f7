import type { Catalog, ColumnGrant, CreatedAccount } from '../../driver/catalog.ts';
import type { ServerTarget } from '../../driver/server-target.ts';
import type { MysqlConfig } from '../config/config.ts';
import { unavailable, numberOf } from '../connection/server-errors.ts';
import { openSession } from '../connection/session.ts';
import { asPattern, quoted } from '../dialect/quoted.ts';

/** ER_CANNOT_USER, which gives no reason. Here the only possible reason is that the account exists. */
const EXISTS = 1396;
/** ER_DBACCESS_DENIED, ER_TABLEACCESS_DENIED, ER_COLUMNACCESS_DENIED, ER_SPECIFIC_ACCESS_DENIED, ER_ACCESS_DENIED. */
const NOT_ALLOWED = new Set([1044, 1045, 1142, 1143, 1227, 1410]);

/** Without semicolons. The account is locked until it has a password, since without one anybody could log in. */
export function accountStatements(
  catalog: Catalog,
  account: string,
  grants: readonly ColumnGrant[],
): readonly string[] {
  const user = userOf(account);
  const of = (name: string): string => `${quoted(catalog.name)}.${quoted(name)}`;
  // What a view does is judged like the SQL that reads it, and so is what stands behind it. In the name of a whole database
  // _ and % stand for other characters.
  const hasView = grants.some(({ table }) => table.kind === 'view');
  return [
    `CREATE USER ${user} ACCOUNT LOCK`,
    ...grants.map(({ table, columns }) => {
      const names = columns.map(({ name }) => quoted(name)).join(', ');
      return `GRANT SELECT (${names}) ON ${of(table.name)} TO ${user}`;
    }),
    ...(hasView ? [`GRANT SHOW VIEW ON ${quoted(asPattern(catalog.name))}.* TO ${user}`] : []),
  ];
}

export function passwordHint(account: string): string {
  return `ALTER USER ${userOf(account)} IDENTIFIED BY '...' ACCOUNT UNLOCK;`;
}

/** Runs `accountStatements`. If one fails, the account is dropped. */
export async function createAccount(
  { config }: ServerTarget<MysqlConfig>,
  [create = '', ...grants]: readonly string[],
  password: string,
): Promise<CreatedAccount> {
  const session = await openSession(config, new AbortController().signal).catch((error: unknown) => {
    throw unavailable(error);
  });
  session.onEnd(() => {});
  const [user = ''] = /'[^']*'@'%'/.exec(create) ?? [];
  let isMade = false;
  try {
    await session.ask('set session transaction read write');
    await session.ask(create);
    isMade = true;
    for (const grant of grants) await session.ask(grant);
    // The password has only letters, digits, - and _.
    await session.ask(`ALTER USER ${user} IDENTIFIED BY '${password}' ACCOUNT UNLOCK`);
    return 'created';
  } catch (error) {
    if (isMade) await session.ask(`DROP USER ${user}`).catch(() => {});
    const number = numberOf(error) ?? 0;
    if (number === EXISTS) return 'exists';
    if (NOT_ALLOWED.has(number)) return 'not_allowed';
    throw unavailable(error);
  } finally {
    session.close();
  }
}

function userOf(account: string): string {
  return `'${account}'@'%'`;
}
