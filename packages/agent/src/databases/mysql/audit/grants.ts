import { quoted } from '../dialect/quoted.ts';

/** In quotes a name may hold any character. */
const NAME = '`(?:[^`]|``)*`';
const ACCOUNT = `(?:${NAME}@${NAME}|${NAME}|PUBLIC)`;
const GRANT = new RegExp(
  `^GRANT ((?:[^\`]|${NAME})+?) ON (?:(FUNCTION|PROCEDURE|PACKAGE BODY|PACKAGE|TABLE|LIBRARY) )?` +
    `((?:[^\\s\`]|${NAME})+) TO (${ACCOUNT})(.*)$`,
  's',
);
const ROLE = new RegExp(`^GRANT (${ACCOUNT}(?:, ?${ACCOUNT})*) TO (${ACCOUNT})(.*)$`, 's');
const PARTIAL_REVOKE = new RegExp(`^REVOKE (.+) ON ((?:[^\\s\`]|${NAME})+) FROM ${ACCOUNT}$`, 's');
/** MariaDB writes these names between apostrophes without escapes. */
const PROXY = /^GRANT PROXY ON '(.*)'@'(.*)' TO '(.*)'@'([^']*)'(?: WITH GRANT OPTION)?$/s;
const PRIVILEGE = new RegExp(`[A-Z_][A-Z_ ]*[A-Z](?: \\((?:[^\`)]|${NAME})*\\))?`, 'g');

/** Names are quoted. */
export interface Grant {
  /** Such as INSERT, UPDATE (`title`) and GRANT OPTION. */
  readonly privileges: readonly string[];
  /** Such as FUNCTION; empty for tables and databases. */
  readonly kind: string;
  /** Such as `shop`.*, or the account of PROXY. */
  readonly object: string;
  /** The accounts from which to revoke it. If there are several, each may have only a part. */
  readonly holders: readonly string[];
  /** Whether the dynamic privileges of MySQL have GRANT OPTION and the others do not. */
  readonly lacksOption?: boolean;
}

export interface RoleGrant {
  readonly role: string;
  readonly holder: string;
  readonly hasAdminOption: boolean;
}

/** A database that a grant on all databases excludes. */
interface PartialRevoke {
  readonly privileges: readonly string[];
  readonly object: string;
}

export interface Grants {
  readonly grants: readonly Grant[];
  readonly roles: readonly RoleGrant[];
  readonly partialRevokes: readonly PartialRevoke[];
  /** Lines that are none of these. */
  readonly unread: readonly string[];
}

/** Parses lines of SHOW GRANTS. */
export function readGrants(lines: readonly string[]): Grants {
  const grants = new Map<string, Grant>();
  const roles: RoleGrant[] = [];
  const partialRevokes: PartialRevoke[] = [];
  const unread: string[] = [];
  for (const line of lines) {
    const grant = grantOf(line);
    const [, list, holder = '', rest = ''] = ROLE.exec(line) ?? [];
    const [, revoked = '', from = ''] = PARTIAL_REVOKE.exec(line) ?? [];
    if (grant !== undefined) {
      const key = JSON.stringify([grant.kind, grant.object, grant.holders]);
      const first = grants.get(key);
      grants.set(key, first === undefined ? grant : inOne(first, grant));
    } else if (list !== undefined) {
      const hasAdminOption = rest.includes(' WITH ADMIN OPTION');
      const names = list.match(new RegExp(ACCOUNT, 'g')) ?? [];
      roles.push(...names.map((role) => ({ role, holder, hasAdminOption })));
    } else if (from !== '') partialRevokes.push({ privileges: revoked.split(/, ?/), object: from });
    else if (!line.startsWith('SET DEFAULT ROLE ')) unread.push(line);
  }
  return { grants: [...grants.values()], roles, partialRevokes, unread };
}

/** MySQL has separate lines for dynamic privileges with and without GRANT OPTION. */
function inOne(first: Grant, next: Grant): Grant {
  const option = 'GRANT OPTION';
  return {
    ...first,
    privileges: [...new Set([...first.privileges, ...next.privileges])],
    lacksOption:
      first.lacksOption === true || (!first.privileges.includes(option) && next.privileges.includes(option)),
  };
}

function grantOf(line: string): Grant | undefined {
  const proxy = PROXY.exec(line);
  if (proxy !== null) {
    const [user = '', host = '', holder = '', holderHost = ''] = proxy.slice(1).map(quoted);
    return {
      privileges: ['PROXY'],
      kind: '',
      object: `${user}@${host}`,
      holders: [`${holder}@${holderHost}`],
    };
  }
  const match = GRANT.exec(line);
  if (match === null) return undefined;
  const [, list = '', kind = '', object = '', holder = '', rest = ''] = match;
  const privileges = list.match(PRIVILEGE) ?? [];
  const options = / WITH GRANT OPTION/.test(rest) && list !== 'PROXY' ? ['GRANT OPTION'] : [];
  return { privileges: [...privileges, ...options], kind, object, holders: [holder] };
}

export function nameOfPrivilege(privilege: string): string {
  return privilege.replace(/ \(.*/s, '');
}

/** Splits UPDATE (`a`, `b`) into UPDATE (`a`) and UPDATE (`b`). */
export function byColumn(privilege: string): readonly string[] {
  const name = nameOfPrivilege(privilege);
  const columns = privilege.slice(name.length).match(new RegExp(NAME, 'g'));
  return columns?.map((column) => `${name} (${column})`) ?? [privilege];
}

/**
 * Whether a grant on `object` covers the table, or without `table` anything in the database. Unless `isLiteral`, GRANT
 * takes the name of a whole database for a LIKE pattern. Case is ignored, as on some servers.
 */
export function covers(object: string, isLiteral: boolean, schema: string, table?: string): boolean {
  const [, database, rest = ''] = new RegExp(`^(\\*|${NAME})\\.(\\*|${NAME})$`, 's').exec(object) ?? [];
  if (database === undefined) return false;
  if (database === '*') return true;
  if (rest !== '*') return isSame(table === undefined ? database : object, schema, table);
  const parts = [...unquoted(database).matchAll(/\\(.)|./gs)].map(([part, escaped]) => {
    if (!isLiteral && part === '%') return '.*';
    if (!isLiteral && part === '_') return '.';
    return (escaped ?? part).replace(/\W/, String.raw`\$&`);
  });
  return new RegExp(`^${parts.join('')}$`, 'is').test(schema);
}

export function isSame(object: string, ...names: readonly (string | undefined)[]): boolean {
  const parts = names.flatMap((name) => (name === undefined ? [] : [quoted(name)]));
  return object.toLowerCase() === parts.join('.').toLowerCase();
}

function unquoted(name: string): string {
  return name.slice(1, -1).replaceAll('``', '`');
}
