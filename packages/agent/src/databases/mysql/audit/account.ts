import type { AccountFinding } from '../../driver.ts';
import type { Pool } from '../../sessions/pool.ts';
import { withSession } from '../connect.ts';
import { unavailable } from '../connection/server-errors.ts';
import type { MysqlSession } from '../connection/session.ts';
import { quoted } from '../quoted.ts';

/** What an account that reads may have. */
const READING = new Set(['SELECT', 'SHOW VIEW', 'USAGE']);
/** A name may hold whatever it likes, in quotes. */
const NAME = '`(?:[^`]|``)*`';
const GRANT = new RegExp(
  `^GRANT ((?:[^\`]|${NAME})+?) ON (?:(FUNCTION|PROCEDURE|PACKAGE BODY|PACKAGE|TABLE|LIBRARY) )?` +
    `((?:[^\\s\`']|${NAME}|'[^']*')+) TO ((?:[^\`]|${NAME})+)$`,
);
/** Those of columns stand in parentheses behind the privilege. */
const PRIVILEGE = new RegExp(`[A-Z_][A-Z_ ]*[A-Z](?: \\((?:[^\`)]|${NAME})*\\))?`, 'g');

/** What the account may do beyond reading, each with its remedy. Throws `DatabaseError`. */
export async function auditAccount(pool: Pool<MysqlSession>): Promise<readonly AccountFinding[]> {
  try {
    return await withSession(pool, async (session) => {
      const findings = (await allGrants(session)).flatMap(judgeGrant);
      return [...new Map(findings.map((finding) => [finding.remedy, finding])).values()];
    });
  } catch (error) {
    throw unavailable(error);
  }
}

/** Those of the account, of each role that it may take on, and of everybody. */
async function allGrants(session: MysqlSession): Promise<readonly string[]> {
  const own = await grantsOf(session, 'show grants for current_user()');
  const roles = own.flatMap((line) => (GRANT.test(line) ? [] : rolesOf(line)));
  if (!session.isMariaDb) {
    if (roles.length === 0) return own;
    return grantsOf(session, `show grants for current_user() using ${roles.join(', ')}`);
  }
  // PUBLIC came with 10.11; an older server refuses the question.
  const everybody = await grantsOf(session, 'show grants for public').catch(() => []);
  return [...own, ...(await grantsInRoles(session, roles)), ...everybody];
}

/** MariaDB shows those of a role, and of the roles of that role, only to who has taken it on. */
async function grantsInRoles(session: MysqlSession, roles: readonly string[]): Promise<readonly string[]> {
  if (roles.length === 0) return [];
  const [before] = await session.ask('select current_role() as role');
  const role: unknown = before?.['role'];
  const grants: string[] = [];
  try {
    for (const each of roles) {
      await session.ask(`set role ${each}`);
      // With FOR it would leave the role out.
      grants.push(...(await grantsOf(session, 'show grants')));
    }
  } finally {
    await session.ask(`set role ${typeof role === 'string' ? quoted(role) : 'none'}`);
  }
  return grants;
}

async function grantsOf(session: MysqlSession, question: string): Promise<readonly string[]> {
  const rows = await session.ask(question);
  return rows.flatMap((row) => Object.values(row).map(String));
}

/** As in GRANT `a`@`%`,`b`@`%` TO `me`@`%`, and in MariaDB's GRANT `a` TO `me`@`%`. */
function rolesOf(line: string): readonly string[] {
  const list = /^GRANT (.+) TO /.exec(line)?.[1] ?? '';
  return list.match(/[`'](?:[^`']|``|'')+[`'](?:@[`'][^`']*[`'])?/g) ?? [];
}

/**
 * Whether `object` takes in the database `mysql`, where the accounts are: GRANT takes its name for a pattern, as
 * LIKE has them, and some servers take large and small letters for the same.
 */
function reachesAccounts(object: string): boolean {
  const database = /^(?:\*|`((?:[^`]|``)*)`)\./.exec(object);
  if (database === null) return false;
  const [, pattern = '%'] = database;
  const parts = [...pattern.matchAll(/\\(.)|./gs)].map(([part, escaped]) =>
    part === '%' ? '.*' : part === '_' ? '.' : (escaped ?? part).replace(/\W/, String.raw`\$&`),
  );
  return new RegExp(`^${parts.join('')}$`, 'is').test('mysql');
}

function judgeGrant(line: string): readonly AccountFinding[] {
  const match = GRANT.exec(line);
  if (match === null) return [];
  const [, list = '', kind = '', object = '', rest = ''] = match;
  const [account = ''] = new RegExp(`^(?:[^\\s\`]|${NAME})+`).exec(rest) ?? [];
  const on = kind === '' ? object : `${kind} ${object}`;
  const privileges = list.match(PRIVILEGE) ?? [];
  const beyond = privileges.filter((privilege) => {
    const name = privilege.replace(/ \(.*/s, '');
    // Statements call only those that the file allows.
    if (name === 'EXECUTE' && kind === 'FUNCTION') return false;
    if (name === 'SELECT' && reachesAccounts(object)) return true;
    return !READING.has(name);
  });
  const findings = [...beyond];
  if (/ WITH GRANT OPTION/.test(rest)) findings.push('GRANT OPTION');
  if (findings.length === 0) return [];
  const what = findings.join(', ');
  return [{ problem: `the account may ${what} on ${on}`, remedy: `REVOKE ${what} ON ${on} FROM ${account}` }];
}
