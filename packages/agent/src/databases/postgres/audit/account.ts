import type { AccountFinding } from '../../driver.ts';
import type { Capability } from '../../../capabilities/model.ts';
import { anotherAccount } from './another-account.ts';
import { runOwnStatements } from '../execute/own-statements.ts';
import { PIN_SEARCH_PATH } from '../execute/pin-search-path.ts';
import type { SessionPool } from '../pool/session-pool.ts';

const AUDIT_TIMEOUT_MS = 30_000;
/** How many of the things that the account owns are named. */
const MAX_NAMED = 10;

/** The servers whose parameters can be granted. */
const PARAMETER_GRANTS_SINCE = 150_000;

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

/**
 * Roles of the server's own have names with `pg_`: each gives its members something beyond their grants, and what it has of
 * others comes and goes with it. Nobody can be made a member of pg_database_owner.
 */
const MEMBERSHIPS = `select 2, format('the account may act as the role %I', g.rolname),
    format('REVOKE %I FROM %I', g.rolname, h.rolname)
  from pg_catalog.pg_auth_members m join me on me.oid = m.member
  join pg_catalog.pg_roles g on g.oid = m.roleid join pg_catalog.pg_roles h on h.oid = m.member
  where ${NO_SUPERUSER} and h.rolname !~ '^pg_' and g.rolname <> 'pg_database_owner' and (g.rolname ~ '^pg_'
    or g.rolsuper or g.rolcreaterole or g.rolcreatedb or g.rolreplication or g.rolbypassrls)`;

/** Of the grant `x`. */
const GRANTEE = `case when x.grantee = 0 then 'PUBLIC'
    else (select quote_ident(rolname) from pg_catalog.pg_roles where oid = x.grantee) end`;
const GRANTED_TO_ME = '(x.grantee = 0 or x.grantee in (select oid from me))';

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
    format('REVOKE %s ON ${kind} %s FROM %s', string_agg(x.privilege_type, ', ' order by x.privilege_type), ${name}, ${GRANTEE})
  from ${source}, lateral aclexplode(${acl}) x
  where ${NO_SUPERUSER} and ${GRANTED_TO_ME} and x.grantee <> o.owner
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
    format('REVOKE %s (%I) ON TABLE %s FROM %s', x.privilege_type, a.attname, ${RELATION_NAME}, ${GRANTEE})
  from ${COLUMNS}, lateral aclexplode(a.attacl) x
  where ${NO_SUPERUSER} and ${GRANTED_TO_ME} and x.grantee <> o.owner
    and x.privilege_type in ('INSERT', 'UPDATE')`;

const TABLESPACES = '(select spcname, spcowner as owner, spcacl as acl from pg_catalog.pg_tablespace) o';
const PARAMETERS = `(select (select string_agg(quote_ident(p.part), '.' order by p.n)
      from unnest(string_to_array(parname, '.')) with ordinality p (part, n)) as name, 0::oid as owner, paracl as acl
    from pg_catalog.pg_parameter_acl) o`;

/** Whoever may pass on what it reads may change the list of who reads. */
const GRANT_OPTIONS = `select 5, format('the account may GRANT SELECT on %s to others', ${RELATION_NAME}),
    format('REVOKE GRANT OPTION FOR SELECT ON TABLE %s FROM %s', ${RELATION_NAME}, ${GRANTEE})
  from ${TABLES}, lateral aclexplode(o.acl) x
  where ${NO_SUPERUSER} and ${GRANTED_TO_ME} and x.grantee <> o.owner
    and x.privilege_type = 'SELECT' and x.is_grantable`;

/**
 * Functions that the server or an extension keeps from PUBLIC, since they act, and that were granted afterwards. What members of
 * the server's own roles get by these is not named again.
 */
const FUNCTIONS = `select 10, format('the account may EXECUTE the function %s', p.oid::regprocedure),
    format('REVOKE EXECUTE ON FUNCTION %s FROM %s', p.oid::regprocedure, ${GRANTEE})
  from pg_catalog.pg_init_privs i join pg_catalog.pg_proc p on p.oid = i.objoid, lateral aclexplode(p.proacl) x
  where ${NO_SUPERUSER} and i.classoid = 'pg_catalog.pg_proc'::regclass and ${GRANTED_TO_ME} and x.grantee <> p.proowner
    and not exists (select from pg_catalog.pg_roles where oid = x.grantee and rolname ~ '^pg_')
    and not exists (select from aclexplode(i.initprivs) d where d.grantee in (0, x.grantee))`;

/** There may be millions of them: one finding for each that they are granted to. */
const LARGE_OBJECTS = `select 11, format('the account may UPDATE large object %s%s',
      string_agg(l.oid::text, ', ' order by l.n) filter (where l.n <= ${MAX_NAMED}),
      case when count(*) > ${MAX_NAMED} then format(' and %s more', count(*) - ${MAX_NAMED}) end),
    case when count(*) > ${MAX_NAMED} then format('DO $do$ DECLARE o oid; BEGIN FOR o IN SELECT oid FROM pg_largeobject_metadata LOOP '
        'EXECUTE format(%L, o); END LOOP; END $do$', format('REVOKE UPDATE ON LARGE OBJECT %%s FROM %s', replace(l.grantee, '%', '%%')))
      else format('REVOKE UPDATE ON LARGE OBJECT %s FROM %s', string_agg(l.oid::text, ', ' order by l.n), l.grantee) end
  from (select o.oid, ${GRANTEE}, row_number() over (partition by x.grantee order by o.oid)
    from pg_catalog.pg_largeobject_metadata o, lateral aclexplode(o.lomacl) x
    where ${NO_SUPERUSER} and ${GRANTED_TO_ME} and x.grantee <> o.lomowner and x.privilege_type = 'UPDATE') l (oid, grantee, n)
  group by l.grantee`;

/** What is granted on tables and sequences that are still to be made. */
const DEFAULT_PRIVILEGES = `select 12, format('the account may %s on %s that %I will make', string_agg(x.privilege_type, ', ' order by x.privilege_type),
      lower(k.kind), r.rolname),
    format('ALTER DEFAULT PRIVILEGES FOR ROLE %I%s REVOKE %s ON %s FROM %s', r.rolname,
      case when n.nspname is not null then format(' IN SCHEMA %I', n.nspname) end,
      string_agg(x.privilege_type, ', ' order by x.privilege_type), k.kind, ${GRANTEE})
  from pg_catalog.pg_default_acl d join pg_catalog.pg_roles r on r.oid = d.defaclrole
  left join pg_catalog.pg_namespace n on n.oid = d.defaclnamespace
  join (values ('r', 'TABLES'), ('S', 'SEQUENCES'), ('n', 'SCHEMAS')) k (type, kind) on k.type = d.defaclobjtype,
  lateral aclexplode(d.defaclacl) x
  where ${NO_SUPERUSER} and ${GRANTED_TO_ME} and x.grantee <> d.defaclrole and (x.privilege_type not in ('SELECT', 'USAGE', 'REFERENCES')
    or (x.privilege_type = 'USAGE' and d.defaclobjtype = 'S'))
  group by d.oid, r.rolname, n.nspname, k.kind, x.grantee`;

const OWNED = [
  `select 1, format('database %I', o.datname), o.owner from ${DATABASE}`,
  `select 2, format('schema %I', o.nspname), o.owner from ${SCHEMAS}`,
  `select 3, format('%s %s', lower(${RELATION_KIND}), ${RELATION_NAME}), o.owner from ${relations("'r', 'p', 'v', 'm', 'f', 'S'")}`,
  `select 4, pg_describe_object(d.classid, d.objid, 0), d.refobjid from pg_catalog.pg_shdepend d
    where d.deptype = 'o' and d.refclassid = 'pg_catalog.pg_authid'::regclass
      and d.dbid in (0, (select oid from pg_catalog.pg_database where datname = current_database()))
      and d.classid not in (${['database', 'namespace', 'class', 'default_acl'].map((name) => `'pg_catalog.pg_${name}'::regclass`).join(', ')})`,
];

/** One finding for all of them, since they have the same remedy. */
const OWNERSHIP = `select 3, format('the account owns %s%s', string_agg(w.what, ', ' order by w.n) filter (where w.n <= ${MAX_NAMED}),
    case when count(*) > ${MAX_NAMED} then format(' and %s more', count(*) - ${MAX_NAMED}) end), null
  from (select o.what, row_number() over (order by o.rank, o.what) from (${OWNED.join(' union all ')}) o (rank, what, owner)
    where ${NO_SUPERUSER} and o.owner in (select oid from me)) w (what, n) having count(*) > 0`;

const FINDINGS: readonly string[] = [
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
  grants(9, 'TABLESPACE', ['CREATE'], TABLESPACES, 'o.acl', "format('%I', o.spcname)"),
  GRANT_OPTIONS,
  FUNCTIONS,
  LARGE_OBJECTS,
  DEFAULT_PRIVILEGES,
];

const VERSION = "select pg_catalog.current_setting('server_version_num')";

function auditOf(version: number): string {
  const parameters = grants(13, 'PARAMETER', ['ALTER SYSTEM', 'SET'], PARAMETERS, 'o.acl', 'o.name');
  const findings = version < PARAMETER_GRANTS_SINCE ? FINDINGS : [...FINDINGS, parameters];
  return `${PREAMBLE}
select problem, remedy from (${findings.join('\nunion all ')}) f (rank, problem, remedy) order by rank, problem, remedy`;
}

/** What the account may do beyond reading, each with its remedy. Throws `DatabaseError`. */
export async function auditAccount(
  pool: SessionPool,
  capabilities: readonly Capability[],
): Promise<readonly AccountFinding[]> {
  const ask = (text: string): ReturnType<typeof runOwnStatements> =>
    runOwnStatements(pool, {
      statements: [PIN_SEARCH_PATH, { text }],
      capability: '',
      timeoutMs: AUDIT_TIMEOUT_MS,
    });
  const version = Number((await ask(VERSION)).results[1]?.rows[0]?.[0]);
  const findings = (await ask(auditOf(version))).results[1]?.rows ?? [];
  const needsAnother = findings.some(([, remedy]) => typeof remedy !== 'string');
  const another = needsAnother ? await anotherAccount(pool, capabilities) : '';
  return findings.map(([problem, remedy]) => ({ problem: problem ?? '', remedy: remedy ?? another }));
}
