import type { AccountFinding } from '../../driver/driver.ts';
import { asPattern, quoted } from '../dialect/quoted.ts';
import { covers, nameOfPrivilege, type Grant, type RoleGrant } from './grants.ts';
import type { Account, Server } from './read-account.ts';

/** The privileges of an account that only reads. */
const READING = new Set(['USAGE', 'SELECT', 'SHOW VIEW']);
/** Tables of the database `mysql` without secrets. */
const HARMLESS = /^`mysql`\.`(?:help_|time_zone)\w+`$/i;
const SYSTEM = new Set(['information_schema', 'performance_schema', 'mysql', 'sys']);

/** What privileges and roles allow beyond reading, without the right to call single functions. */
export function judgeGrants(account: Account, database: string): readonly AccountFinding[] {
  return [
    ...account.unread.map(() => ({
      problem: 'the account has a grant that the audit cannot read',
      remedy: `look for it in SHOW GRANTS FOR ${account.name}, and revoke what is not for reading`,
    })),
    ...account.grants.flatMap((grant) => judgeGrant(grant, account, database)),
    ...account.roles.filter(({ hasAdminOption }) => hasAdminOption).map((role) => grantable(role, account)),
  ];
}

/**
 * Whether the grant lets the account read the database `mysql`, which holds hashes of passwords, and passwords of other
 * servers.
 */
export function readsAccounts({ object, privileges }: Grant, { partialRevokes, server }: Account): boolean {
  const isReading = privileges.some((each) => ['SELECT', 'ALL PRIVILEGES'].includes(nameOfPrivilege(each)));
  if (!isReading || HARMLESS.test(object) || !covers(object, server.hasLiteralNames, 'mysql')) return false;
  return !partialRevokes.some(
    (revoke) => revoke.privileges.includes('SELECT') && covers(revoke.object, true, 'mysql'),
  );
}

function judgeGrant(grant: Grant, account: Account, database: string): readonly AccountFinding[] {
  const isBeyond = readsAccounts(grant, account);
  const beyond = grant.privileges.filter((privilege) => {
    const name = nameOfPrivilege(privilege);
    if (grant.kind === 'FUNCTION' && name === 'EXECUTE') return false;
    return (name === 'SELECT' && isBeyond) || !READING.has(name);
  });
  if (beyond.length === 0) return [];
  const { object, kind } = grant;
  const what =
    beyond[0] === 'PROXY'
      ? `the account may act as ${object} (PROXY)`
      : `the account has ${beyond.join(', ')} on ${kind === '' ? object : `${kind.toLowerCase()} ${object}`}`;
  const files = beyond.includes('FILE') ? `; FILE reaches ${filesOf(account.server)}` : '';
  return [
    {
      problem: `${what}${byWhom(grant.holders, account)}${files}`,
      remedy: [...revoke(grant, beyond), ...giveBack(grant, beyond, account, database)].join('; '),
    },
  ];
}

export function byWhom([holder = '']: readonly string[], { name }: Account): string {
  if (holder === name) return '';
  return holder === 'PUBLIC' ? ', as every account has' : `, by the role ${holder}`;
}

function filesOf({ files }: Server): string {
  if (files === null) return 'no file while secure_file_priv is NULL';
  return files === '' ? 'every file that the server may read' : `files of the server below ${files}`;
}

/**
 * Each of several holders may have only a part. GRANT OPTION is revoked last: after that, a running MySQL keeps dynamic
 * privileges that were granted with it until FLUSH PRIVILEGES, whatever is revoked.
 */
export function revoke(
  { kind, object, holders, lacksOption = false }: Grant,
  privileges: readonly string[],
): readonly string[] {
  const option = 'GRANT OPTION';
  const lists = [privileges.filter((each) => each !== option), privileges.filter((each) => each === option)];
  const how = holders.length > 1 ? 'REVOKE IF EXISTS' : 'REVOKE';
  const on = kind === '' ? object : `${kind} ${object}`;
  const all = holders.join(', ');
  return [
    ...(lacksOption ? ['FLUSH PRIVILEGES'] : []),
    ...lists
      .filter((list) => list.length > 0)
      .map((list) => `${how} ${list.join(', ')} ON ${on} FROM ${all}`),
  ];
}

/** The part of the revoked privileges that capabilities may need. */
function giveBack(
  grant: Grant,
  beyond: readonly string[],
  account: Account,
  database: string,
): readonly string[] {
  const [holder = ''] = grant.holders;
  const give = (on: string): readonly string[] => [`GRANT SELECT, SHOW VIEW ON ${on} TO ${holder}`];
  const isAll = beyond.includes('ALL PRIVILEGES');
  if (!readsAccounts(grant, account)) return isAll ? give(grant.object) : [];
  const isNeeded = !SYSTEM.has(database.toLowerCase());
  const wasRead = covers(grant.object, account.server.hasLiteralNames, database);
  return isNeeded && wasRead ? give(`${quoted(asPattern(database))}.*`) : [];
}

function grantable({ role, holder }: RoleGrant, account: Account): AccountFinding {
  const problem = `the account may grant the role ${role} to others${byWhom([holder], account)}`;
  if (account.server.isMariaDb) return { problem, remedy: `REVOKE ADMIN OPTION FOR ${role} FROM ${holder}` };
  // MySQL revokes the option only with the role, and that also removes the role from the default roles.
  const defaults = holder === account.name ? account.defaultRoles : [];
  const isDefault = defaults.includes(role);
  const statements = [
    `REVOKE ${role} FROM ${holder}`,
    `GRANT ${role} TO ${holder}`,
    ...(isDefault ? [`SET DEFAULT ROLE ${defaults.join(', ')} TO ${holder}`] : []),
  ];
  return { problem, remedy: statements.join('; ') };
}
