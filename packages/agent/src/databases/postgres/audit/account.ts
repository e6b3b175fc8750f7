import type { AccountFinding } from '../../driver.ts';
import type { Capability } from '../../../capabilities/model.ts';
import { anotherAccount } from './another-account.ts';
import { runOwnStatements } from '../execute/own-statements.ts';
import { PIN_SEARCH_PATH } from '../execute/pin-search-path.ts';
import type { SessionPool } from '../pool/session-pool.ts';

const AUDIT_TIMEOUT_MS = 30_000;
/** How many of the things that the account owns are named. */
const MAX_NAMED = 10;

/** Roles that let their members write, reach the server's files and processes, or other sessions. */
const DANGEROUS_ROLES = [
  'pg_write_all_data',
  'pg_read_server_files',
  'pg_write_server_files',
  'pg_execute_server_program',
  'pg_signal_backend',
  'pg_maintain',
  'pg_checkpoint',
  'pg_create_subscription',
];

const OWN_SCHEMAS = "n.nspname !~ '^pg_' and n.nspname <> 'information_schema'";

/** `me`: the account and every role that it may become, also where membership is not inherited. */
const PREAMBLE = `with recursive me as (
  select oid from pg_catalog.pg_roles where rolname = current_user
  union select m.roleid from me join pg_catalog.pg_auth_members m on m.member = me.oid
), account as (
  select rolname, rolsuper from pg_catalog.pg_roles where rolname = current_user
)`;

/** A superuser may do everything already: more findings would only hide that one. */
const NO_SUPERUSER = 'not (select rolsuper from account)';

/**
 * A remedy of null is another account: revoking SUPERUSER could leave the server without any, and a change of owner could
 * stop those who work with what is owned.
 */
const SUPERUSER = `select 1, format('the account %I has the attribute SUPERUSER', rolname), null from account where rolsuper`;

const ATTRIBUTES = `select 1, format('the account %I has the attribute %s', r.rolname, a.name),
    format('ALTER ROLE %I NO%s', r.rolname, a.name)
  from pg_catalog.pg_roles r, lateral (values ('CREATEROLE', r.rolcreaterole), ('CREATEDB', r.rolcreatedb),
    ('REPLICATION', r.rolreplication), ('BYPASSRLS', r.rolbypassrls)) a (name, held)
  where ${NO_SUPERUSER} and r.rolname = current_user and a.held`;

const MEMBERSHIPS = `select 2, format('the account may act as the role %I', g.rolname),
    format('REVOKE %I FROM %I', g.rolname, h.rolname)
  from pg_catalog.pg_auth_members m join me on me.oid = m.member
  join pg_catalog.pg_roles g on g.oid = m.roleid join pg_catalog.pg_roles h on h.oid = m.member
  where ${NO_SUPERUSER} and (g.rolname in (${DANGEROUS_ROLES.map((role) => `'${role}'`).join(', ')})
    or g.rolsuper or g.rolcreaterole or g.rolcreatedb or g.rolreplication or g.rolbypassrls)`;

/** Grants to the account or to PUBLIC; what comes with ownership is a finding of its own. */
function grants(
  rank: number,
  kind: string,
  privileges: readonly string[],
  source: string,
  acl: string,
  name: string,
): string {
  return `select ${rank}, format('the account may %s on %s %s', string_agg(x.privilege_type, ', ' order by x.privilege_type), '${kind.toLowerCase()}', ${name}),
    format('REVOKE %s ON ${kind} %s FROM %s', string_agg(x.privilege_type, ', ' order by x.privilege_type), ${name},
      case when x.grantee = 0 then 'PUBLIC' else (select quote_ident(rolname) from pg_catalog.pg_roles where oid = x.grantee) end)
  from ${source}, lateral aclexplode(${acl}) x
  where ${NO_SUPERUSER} and (x.grantee = 0 or x.grantee in (select oid from me)) and x.grantee <> o.owner
    and x.privilege_type in (${privileges.map((privilege) => `'${privilege}'`).join(', ')})
  group by ${name}, x.grantee`;
}

function relations(kinds: string): string {
  return `(select c.oid, c.relkind, n.nspname, c.relname, c.relowner as owner, c.relacl as acl
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where c.relkind in (${kinds}) and ${OWN_SCHEMAS}) o`;
}

const TABLES = relations("'r', 'p', 'v', 'm', 'f'");
const SEQUENCES = relations("'S'");
const SCHEMAS = `(select n.nspname, n.nspowner as owner, n.nspacl as acl from pg_catalog.pg_namespace n where ${OWN_SCHEMAS}) o`;
const DATABASE =
  '(select datname, datdba as owner, datacl as acl from pg_catalog.pg_database where datname = current_database()) o';
const SERVERS = '(select srvname, srvowner as owner, srvacl as acl from pg_catalog.pg_foreign_server) o';
const WRAPPERS =
  '(select fdwname, fdwowner as owner, fdwacl as acl from pg_catalog.pg_foreign_data_wrapper) o';
const COLUMNS = `${TABLES} join (select attrelid, attname, attacl from pg_catalog.pg_attribute
    where attacl is not null and not attisdropped) a on a.attrelid = o.oid`;

const RELATION_NAME = "format('%I.%I', o.nspname, o.relname)";
const RELATION_KIND = `case o.relkind when 'v' then 'VIEW' when 'm' then 'MATERIALIZED VIEW' when 'f' then 'FOREIGN TABLE'
      when 'S' then 'SEQUENCE' else 'TABLE' end`;

const COLUMN_GRANTS = `select 5, format('the account may %s the column %I of %s', x.privilege_type, a.attname, ${RELATION_NAME}),
    format('REVOKE %s (%I) ON TABLE %s FROM %s', x.privilege_type, a.attname, ${RELATION_NAME},
      case when x.grantee = 0 then 'PUBLIC' else (select quote_ident(rolname) from pg_catalog.pg_roles where oid = x.grantee) end)
  from ${COLUMNS}, lateral aclexplode(a.attacl) x
  where ${NO_SUPERUSER} and (x.grantee = 0 or x.grantee in (select oid from me)) and x.grantee <> o.owner
    and x.privilege_type in ('INSERT', 'UPDATE')`;

const OWNED = [
  `select 1, format('database %I', o.datname), o.owner from ${DATABASE}`,
  `select 2, format('schema %I', o.nspname), o.owner from ${SCHEMAS}`,
  `select 3, format('%s %s', lower(${RELATION_KIND}), ${RELATION_NAME}), o.owner from ${relations("'r', 'p', 'v', 'm', 'f', 'S'")}`,
];

/** One finding for all of them, since they have the same remedy. */
const OWNERSHIP = `select 3, format('the account owns %s%s', string_agg(w.what, ', ' order by w.n) filter (where w.n <= ${MAX_NAMED}),
    case when count(*) > ${MAX_NAMED} then format(' and %s more', count(*) - ${MAX_NAMED}) end), null
  from (select o.what, row_number() over (order by o.rank, o.what) from (${OWNED.join(' union all ')}) o (rank, what, owner)
    where ${NO_SUPERUSER} and o.owner in (select oid from me)) w (what, n) having count(*) > 0`;

const FINDINGS = [
  SUPERUSER,
  ATTRIBUTES,
  MEMBERSHIPS,
  OWNERSHIP,
  grants(
    4,
    'TABLE',
    ['INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'TRIGGER', 'MAINTAIN'],
    TABLES,
    'o.acl',
    RELATION_NAME,
  ),
  COLUMN_GRANTS,
  grants(6, 'SEQUENCE', ['USAGE', 'UPDATE'], SEQUENCES, 'o.acl', RELATION_NAME),
  grants(7, 'SCHEMA', ['CREATE'], SCHEMAS, 'o.acl', "format('%I', o.nspname)"),
  // A database without a list of its own lets everybody make temporary tables.
  grants(
    8,
    'DATABASE',
    ['CREATE', 'TEMPORARY'],
    DATABASE,
    `coalesce(o.acl, acldefault('d', o.owner))`,
    "format('%I', o.datname)",
  ),
  grants(9, 'FOREIGN SERVER', ['USAGE'], SERVERS, 'o.acl', "format('%I', o.srvname)"),
  grants(9, 'FOREIGN DATA WRAPPER', ['USAGE'], WRAPPERS, 'o.acl', "format('%I', o.fdwname)"),
];

const AUDIT = `${PREAMBLE}
select problem, remedy from (${FINDINGS.join('\nunion all ')}) f (rank, problem, remedy) order by rank, problem, remedy`;

/** What the account may do beyond reading, each with its remedy. Throws `DatabaseError`. */
export async function auditAccount(
  pool: SessionPool,
  capabilities: readonly Capability[],
): Promise<readonly AccountFinding[]> {
  const { results } = await runOwnStatements(pool, {
    statements: [PIN_SEARCH_PATH, { text: AUDIT }],
    capability: '',
    timeoutMs: AUDIT_TIMEOUT_MS,
  });
  const findings = results[1]?.rows ?? [];
  const needsAnother = findings.some(([, remedy]) => typeof remedy !== 'string');
  const another = needsAnother ? await anotherAccount(pool, capabilities) : '';
  return findings.map(([problem, remedy]) => ({ problem: problem ?? '', remedy: remedy ?? another }));
}
