import type { MysqlSession } from '../connection/session.ts';
import { distinct, quoted, type Table } from '../dialect/quoted.ts';
import { byColumn, readGrants, type Grant, type Grants, type RoleGrant } from './grants.ts';

interface CallableFunction extends Table {
  readonly definer: string;
  readonly isDefiners: boolean;
  readonly modifies: boolean;
}

export interface Server {
  readonly isMariaDb: boolean;
  /** Whether grants take names of databases literally and not as patterns. */
  readonly hasLiteralNames: boolean;
  /** secure_file_priv. */
  readonly files: string | null;
}

export interface Account extends Grants, Surroundings {
  readonly server: Server;
  /** In quotes, with its host. */
  readonly name: string;
  /** Roles that the account has by default, in quotes; empty on MariaDB, whose remedies leave them alone. */
  readonly defaultRoles: readonly string[];
}

/** Everything that the account sees in any of its roles, without the server's own databases. */
interface Surroundings {
  readonly tables: readonly Table[];
  readonly functions: readonly CallableFunction[];
}

export const MOST_TABLES = 10_000;
export const SYSTEM = "('information_schema', 'performance_schema', 'mysql', 'sys')";
const TABLES = `select table_schema as s, table_name as n from information_schema.tables
  where table_schema not in ${SYSTEM} order by 1, 2 limit ${MOST_TABLES}`;
const FUNCTIONS = `select routine_schema as s, routine_name as n, definer as d, security_type as t, sql_data_access as a
  from information_schema.routines where routine_type = 'FUNCTION' and routine_schema not in ${SYSTEM}`;
const ROLES = `select grantee as g, grantee_host as h, role_name as r, role_host as o, is_grantable as a, is_default as d
  from information_schema.applicable_roles`;

/** All grants to the account, to each role that it may take, and to everybody. */
export async function readAccount(session: MysqlSession): Promise<Account> {
  const server = await settingsOf(session);
  const [before] = await session.ask('select current_role() as role');
  const role: unknown = before?.['role'];
  try {
    await session.ask('set role none');
    const account = await (session.isMariaDb ? readOnMariaDb(session) : readOnMysql(session));
    return { server, ...account };
  } finally {
    const isNone = typeof role !== 'string' || role === 'NONE';
    // MySQL gives the list of roles in quotes, MariaDB the name of one.
    await session.ask(`set role ${isNone ? 'none' : session.isMariaDb ? quoted(role) : role}`);
  }
}

async function settingsOf(session: MysqlSession): Promise<Server> {
  const { isMariaDb } = session;
  const [row] = await session.ask(
    `select @@secure_file_priv as f${isMariaDb ? '' : ', @@partial_revokes as p'}`,
  );
  const files: unknown = row?.['f'];
  return {
    isMariaDb,
    hasLiteralNames: Number(row?.['p'] ?? 0) === 1,
    files: typeof files === 'string' ? files : null,
  };
}

/** SHOW GRANTS lists the grants and roles of a role only while that role is active, but those of PUBLIC always. */
async function readOnMariaDb(session: MysqlSession): Promise<Omit<Account, 'server'>> {
  const own = await linesOf(session, 'show grants');
  const seen = [await lookAround(session)];
  const lines = new Set(own);
  for (const { role, holder } of readGrants(own).roles) {
    if (!holder.includes('`@`')) continue;
    await session.ask(`set role ${role}`);
    for (const line of await linesOf(session, 'show grants')) lines.add(line);
    seen.push(await lookAround(session));
  }
  return {
    name: accountOf(readGrants(own)),
    ...readGrants([...lines]),
    defaultRoles: [],
    ...together(seen),
  };
}

/**
 * SHOW GRANTS lists the grants of a role and its roles as if the account had them. Those that the account lacks by
 * itself are theirs.
 */
async function readOnMysql(session: MysqlSession): Promise<Omit<Account, 'server'>> {
  const own = readGrants(await linesOf(session, 'show grants'));
  const edges = (await session.ask(ROLES)).map(({ g, h, r, o, a, d }) => ({
    role: `${quoted(String(r))}@${quoted(String(o))}`,
    holder: `${quoted(String(g))}@${quoted(String(h))}`,
    hasAdminOption: a === 'YES',
    isDefault: d === 'YES',
  }));
  const grants = [...own.grants];
  const unread = [...own.unread];
  for (const { role } of own.roles) {
    const withRole = readGrants(await linesOf(session, `show grants for current_user() using ${role}`));
    const holders = [role, ...rolesOf(role, edges)];
    grants.push(...withRole.grants.flatMap((grant) => beyond(grant, own.grants, holders)));
  }
  await session.ask('set role all');
  const name = accountOf(own);
  return {
    name,
    grants,
    roles: edges,
    partialRevokes: own.partialRevokes,
    unread,
    defaultRoles: edges.flatMap(({ role, holder, isDefault }) =>
      isDefault && holder === name ? [role] : [],
    ),
    ...(await lookAround(session)),
  };
}

/** Each account has a line for *.*, at least USAGE. */
function accountOf({ grants }: Grants): string {
  const [holder = ''] = grants.flatMap(({ object, holders }) =>
    object === '*.*' ? holders.filter((each) => each.includes('`@`')) : [],
  );
  return holder;
}

function rolesOf(role: string, edges: readonly RoleGrant[], seen = new Set([role])): readonly string[] {
  return edges.flatMap((edge) => {
    if (edge.holder !== role || seen.has(edge.role)) return [];
    seen.add(edge.role);
    return [edge.role, ...rolesOf(edge.role, edges, seen)];
  });
}

/** The privileges of `grant` that none of `own` has. */
function beyond(grant: Grant, own: readonly Grant[], holders: readonly string[]): readonly Grant[] {
  const same = own.filter(({ kind, object }) => kind === grant.kind && object === grant.object);
  const known = new Set(same.flatMap(({ privileges }) => privileges.flatMap(byColumn)));
  const privileges = grant.privileges.flatMap(byColumn).filter((privilege) => !known.has(privilege));
  return privileges.length === 0 ? [] : [{ ...grant, privileges, holders }];
}

async function lookAround(session: MysqlSession): Promise<Surroundings> {
  const tables = await session.ask(TABLES);
  const functions = await session.ask(FUNCTIONS);
  return {
    tables: tables.map(({ s, n }) => ({ schema: String(s), name: String(n) })),
    functions: functions.map(({ s, n, d, t, a }) => ({
      schema: String(s),
      name: String(n),
      definer: String(d),
      isDefiners: t === 'DEFINER',
      modifies: a === 'MODIFIES SQL DATA',
    })),
  };
}

function together(seen: readonly Surroundings[]): Surroundings {
  return {
    tables: distinct(seen.flatMap(({ tables }) => tables)),
    functions: distinct(seen.flatMap(({ functions }) => functions)),
  };
}

async function linesOf(session: MysqlSession, question: string): Promise<readonly string[]> {
  const rows = await session.ask(question);
  return rows.flatMap((row) => Object.values(row).map(String));
}
