import type { Statement } from '../connection/statement.ts';

export const MAX_NAMED: number = 10;

/** SQL for the first of many, in the order of `n`, and how many more there are. */
export const listed = (title: string, n: string): string =>
  `string_agg(${title}, ', ' order by ${n}) filter (where ${n} <= ${MAX_NAMED}),
    case when count(*) > ${MAX_NAMED} then format(' and %s more', count(*) - ${MAX_NAMED}) end`;

const PARAMETER_GRANTS_SINCE = 150_000;
const GRANTED_MEMBERSHIPS_SINCE = 160_000;
const BOOTSTRAP_SUPERUSER = 10;

const OWN_SCHEMAS = "n.nspname !~ '^pg_' and n.nspname <> 'information_schema'";

/**
 * From 16 on a membership may neither be inherited nor be taken on. Older servers lack these columns, so they are read
 * as JSON.
 */
const IS_OF_USE = `(coalesce((to_jsonb(m) ->> 'set_option')::bool, true)
    or (to_jsonb(m) ->> 'inherit_option')::bool or m.admin_option)`;

/** `me` is the account and every role that it may become, whether or not it inherits. */
export const PREAMBLE: string = `with recursive me as (
  select oid from pg_catalog.pg_roles where rolname = current_user
  union select m.roleid from me join pg_catalog.pg_auth_members m on m.member = me.oid and ${IS_OF_USE}
), account as (
  select rolname, rolsuper from pg_catalog.pg_roles where rolname = current_user
)`;

/** More findings would only hide this one. */
export const NO_SUPERUSER = 'not (select rolsuper from account)';

/**
 * A remedy of null means another account: revoking SUPERUSER could leave the server without any, and a change of owner
 * could stop those who work with what is owned.
 */
const SUPERUSER = `select 1, format('the account %I has the attribute SUPERUSER', rolname), null from account where rolsuper`;

const ATTRIBUTES = `select 1, format('the account %I has the attribute %s', r.rolname, a.name),
    format('ALTER ROLE %I NO%s', r.rolname, a.name)
  from pg_catalog.pg_roles r, lateral (values ('CREATEROLE', r.rolcreaterole), ('CREATEDB', r.rolcreatedb),
    ('REPLICATION', r.rolreplication), ('BYPASSRLS', r.rolbypassrls)) a (name, held)
  where ${NO_SUPERUSER} and r.rolname = current_user and a.held`;

/**
 * Roles named `pg_...` are the server's own, and give members something beyond their grants. Nobody can be made a member
 * of pg_database_owner.
 */
const IS_STRONG = `(g.rolname ~ '^pg_' or g.rolsuper or g.rolcreaterole or g.rolcreatedb or g.rolreplication or g.rolbypassrls)`;
const MEMBERS = `pg_catalog.pg_auth_members m join me on me.oid = m.member
  join pg_catalog.pg_roles g on g.oid = m.roleid join pg_catalog.pg_roles h on h.oid = m.member`;

/** From 16 on a membership has the one who granted it, and what its member granted on depends on it. */
function revokedRole(version: number, option: string): string {
  const revoke = `format('REVOKE ${option}%I FROM %I', g.rolname, h.rolname)`;
  if (version < GRANTED_MEMBERSHIPS_SINCE) return revoke;
  return `concat(${revoke}, case when m.grantor <> ${BOOTSTRAP_SUPERUSER}
      then format(' GRANTED BY %I', (select rolname from pg_catalog.pg_roles where oid = m.grantor)) end,
    case when exists (select from pg_catalog.pg_auth_members d where d.roleid = m.roleid and d.grantor = m.member) then ' CASCADE' end)`;
}

function memberships(version: number): string {
  return `select 2, format('the account may act as the role %I', g.rolname), ${revokedRole(version, '')}
  from ${MEMBERS}
  where ${NO_SUPERUSER} and ${IS_OF_USE} and h.rolname !~ '^pg_' and g.rolname <> 'pg_database_owner' and ${IS_STRONG}`;
}

/** Those who can add members to a role decide what the members can do. */
function adminOptions(version: number): string {
  return `select 2, format('the account may make others members of the role %I', g.rolname), ${revokedRole(version, 'ADMIN OPTION FOR ')}
  from ${MEMBERS} where ${NO_SUPERUSER} and m.admin_option and h.rolname !~ '^pg_' and not ${IS_STRONG}`;
}

/** Whom the grant `x` is for. */
export const GRANTEE = `case when x.grantee = 0 then 'PUBLIC'
    else (select quote_ident(rolname) from pg_catalog.pg_roles where oid = x.grantee) end`;
export const GRANTED_TO_ME = '(x.grantee = 0 or x.grantee in (select oid from me))';

/** A REVOKE of the grants `x`. Only the one who granted them can revoke them, together with what was granted on by them. */
function revoked(statement: string, acl: string, owner: string): string {
  return `concat(case when x.grantor <> ${owner} then format('SET ROLE %I; ', (select rolname from pg_catalog.pg_roles where oid = x.grantor)) end,
    ${statement}, case when bool_or(exists (select from aclexplode(${acl}) y where y.grantor = x.grantee)) then ' CASCADE' end,
    case when x.grantor <> ${owner} then '; RESET ROLE' end)`;
}

/** What comes with ownership is a finding of its own. */
function grants(rank: number, kind: string, privileges: string, source: string, name: string): string {
  // A database without a list of its own lets everybody make temporary tables.
  const acl = kind === 'DATABASE' ? "coalesce(o.acl, acldefault('d', o.owner))" : 'o.acl';
  const list = `string_agg(x.privilege_type, ', ' order by x.privilege_type)`;
  const revoke = `format('REVOKE %s ON ${kind} %s FROM %s', ${list}, ${name}, ${GRANTEE})`;
  return `select ${rank}, format('the account has %s on %s %s', ${list}, '${kind.toLowerCase()}', ${name}), ${revoked(revoke, acl, 'o.owner')}
  from ${source}, lateral aclexplode(${acl}) x
  where ${NO_SUPERUSER} and ${GRANTED_TO_ME} and x.grantee <> o.owner
    and x.privilege_type in ('${privileges.replaceAll(', ', "', '")}')
  group by ${name}, x.grantee, x.grantor, o.owner`;
}

function relations(kinds: string, schemas = OWN_SCHEMAS): string {
  return `(select c.oid, c.relkind, n.nspname, c.relname, c.relowner as owner, c.relacl as acl
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where c.relkind in (${kinds}) and ${schemas}) o`;
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

const COLUMN_GRANTS = columnGrants(
  `format('the account has %s on the column %I of %s', x.privilege_type, a.attname, ${RELATION_NAME})`,
  'REVOKE',
  "x.privilege_type in ('INSERT', 'UPDATE', 'REFERENCES')",
);

function columnGrants(problem: string, revoke: string, condition: string): string {
  const statement = `format('${revoke} %s (%I) ON TABLE %s FROM %s', x.privilege_type, a.attname, ${RELATION_NAME}, ${GRANTEE})`;
  return `select 5, ${problem}, ${revoked(statement, 'a.attacl', 'o.owner')}
  from ${COLUMNS}, lateral aclexplode(a.attacl) x
  where ${NO_SUPERUSER} and ${GRANTED_TO_ME} and x.grantee <> o.owner and ${condition}
  group by ${RELATION_NAME}, a.attname, x.privilege_type, x.grantee, x.grantor, o.owner`;
}

const FUNCTIONS =
  '(select oid, proowner as owner, proacl as acl from pg_catalog.pg_proc where proacl is not null) o';
const TYPES =
  '(select oid, typowner as owner, typacl as acl from pg_catalog.pg_type where typacl is not null) o';
const LANGUAGES = '(select lanname, lanowner as owner, lanacl as acl from pg_catalog.pg_language) o';
const TABLESPACES = '(select spcname, spcowner as owner, spcacl as acl from pg_catalog.pg_tablespace) o';
const PARAMETERS = `(select (select string_agg(quote_ident(p.part), '.' order by p.n)
      from unnest(string_to_array(parname, '.')) with ordinality p (part, n)) as name, ${BOOTSTRAP_SUPERUSER}::oid as owner, paracl as acl
    from pg_catalog.pg_parameter_acl) o`;

/** Who can pass on a privilege can change who has it. */
function grantOptions(privilege: string, kind: string, source: string, name: string): string {
  const statement = `format('REVOKE GRANT OPTION FOR ${privilege} ON ${kind} %s FROM %s', ${name}, ${GRANTEE})`;
  const what = kind === 'TABLE' ? '' : `${kind.toLowerCase()} `;
  return `select 5, format('the account may GRANT ${privilege} on ${what}%s to others', ${name}), ${revoked(statement, 'o.acl', 'o.owner')}
  from ${source}, lateral aclexplode(o.acl) x
  where ${NO_SUPERUSER} and ${GRANTED_TO_ME} and x.grantee <> o.owner
    and x.privilege_type = '${privilege}' and x.is_grantable
  group by ${name}, x.grantee, x.grantor, o.owner`;
}

const GRANT_OPTIONS = [
  grantOptions('SELECT', 'TABLE', TABLES, RELATION_NAME),
  columnGrants(
    `format('the account may GRANT SELECT on the column %I of %s to others', a.attname, ${RELATION_NAME})`,
    'REVOKE GRANT OPTION FOR',
    "x.privilege_type = 'SELECT' and x.is_grantable",
  ),
  grantOptions('USAGE', 'SCHEMA', SCHEMAS, "format('%I', o.nspname)"),
  grantOptions('CONNECT', 'DATABASE', DATABASE, "format('%I', o.datname)"),
  grantOptions('EXECUTE', 'FUNCTION', FUNCTIONS, 'o.oid::regprocedure'),
  grantOptions('USAGE', 'TYPE', TYPES, 'format_type(o.oid, null)'),
  grantOptions('USAGE', 'LANGUAGE', LANGUAGES, "format('%I', o.lanname)"),
];

/** Such as the passwords of all roles. What everybody can read of the catalog is no finding. */
const KEPT_CATALOGS = `select 5, format('the account may SELECT from %s, which the server keeps from others', ${RELATION_NAME}),
    ${revoked(`format('REVOKE SELECT ON TABLE %s FROM %s', ${RELATION_NAME}, ${GRANTEE})`, 'o.acl', 'o.owner')}
  from ${relations("'r', 'v'", "n.nspname = 'pg_catalog'")}, lateral aclexplode(o.acl) x
  where ${NO_SUPERUSER} and ${GRANTED_TO_ME} and x.grantee <> o.owner and x.privilege_type = 'SELECT'
    and not exists (select from pg_catalog.pg_roles where oid = x.grantee and rolname ~ '^pg_')
    and not exists (select from pg_catalog.pg_init_privs i, lateral aclexplode(i.initprivs) d
      where i.classoid = 'pg_catalog.pg_class'::regclass and i.objoid = o.oid and i.objsubid = 0
        and d.privilege_type = 'SELECT' and d.grantee in (0, x.grantee))
  group by ${RELATION_NAME}, x.grantee, x.grantor, o.owner`;

/** DO runs code in it. A language that PUBLIC may use is no finding. */
const LANGUAGE_GRANTS = `select 9, format('the account has USAGE on language %I', o.lanname),
    ${revoked(`format('REVOKE USAGE ON LANGUAGE %I FROM %s', o.lanname, ${GRANTEE})`, 'o.acl', 'o.owner')}
  from ${LANGUAGES}, lateral aclexplode(o.acl) x
  where ${NO_SUPERUSER} and x.grantee in (select oid from me) and x.grantee <> o.owner
    and not exists (select from aclexplode(o.acl) p where p.grantee = 0)
  group by o.lanname, x.grantee, x.grantor, o.owner`;

/**
 * Functions that act, so that the server or an extension keeps them from PUBLIC, and that were granted afterwards.
 * Grants of the server's own roles are other findings.
 */
const KEPT_FUNCTIONS = `select 10, format('the account may EXECUTE the function %s', p.oid::regprocedure),
    ${revoked(`format('REVOKE EXECUTE ON FUNCTION %s FROM %s', p.oid::regprocedure, ${GRANTEE})`, 'p.proacl', 'p.proowner')}
  from pg_catalog.pg_init_privs i join pg_catalog.pg_proc p on p.oid = i.objoid, lateral aclexplode(p.proacl) x
  where ${NO_SUPERUSER} and i.classoid = 'pg_catalog.pg_proc'::regclass and ${GRANTED_TO_ME} and x.grantee <> p.proowner
    and not exists (select from pg_catalog.pg_roles where oid = x.grantee and rolname ~ '^pg_')
    and not exists (select from aclexplode(i.initprivs) d where d.grantee in (0, x.grantee))
  group by p.oid, x.grantee, x.grantor, p.proowner`;

/** These act inside or beyond the database, although PUBLIC may execute their functions. */
const ACTING_EXTENSIONS = ['dblink', 'http', 'pg_background', 'pg_cron', 'pg_net'];

const ACTS = `case when p.prosecdef then 'what runs as its owner (SECURITY DEFINER)'
      when e.extname in (${ACTING_EXTENSIONS.map((name) => `'${name}'`).join(', ')}) then format('what acts beyond the database (extension %I)', e.extname)
      when not l.lanpltrusted and l.lanname <> 'internal' and (l.lanname <> 'c' or e.extname is null)
        then format('code in the untrusted language %I', l.lanname) end`;

const CODE = `pg_catalog.pg_proc p join pg_catalog.pg_language l on l.oid = p.prolang
      left join pg_catalog.pg_depend d on d.classid = 'pg_catalog.pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e'
      left join pg_catalog.pg_extension e on e.oid = d.refobjid`;

/** (the server's version, whether the account is a superuser, whether any function acts) */
export const ABOUT_ACCOUNT: Statement = {
  text: `select current_setting('server_version_num'), rolsuper,
      exists (select from ${CODE} where p.oid >= 16384 and ${ACTS} is not null)
    from pg_roles where rolname = current_user`,
};

/** What the account can call and acts with other rights than its own; $1 are those that capabilities call. */
const ACTING_FUNCTIONS = `select 14, format('the account may EXECUTE %s: %s%s', f.what,
      string_agg(f.title, ', ' order by f.n) filter (where f.n <= ${MAX_NAMED}),
      case when count(*) > ${MAX_NAMED} then format(' and %s more', count(*) - ${MAX_NAMED}) end),
    concat('SET ROLE ' || f.grantor || '; ',
      format('REVOKE EXECUTE ON %s %s FROM %s', f.kind, string_agg(f.title, ', ' order by f.n), f.grantee),
      case when bool_or(f.is_granted_on) then ' CASCADE' end, case when f.grantor is not null then '; RESET ROLE' end)
  from (select a.*, row_number() over (partition by a.what, a.kind, a.grantee, a.grantor order by a.title) as n from (
    select ${ACTS}, p.oid::regprocedure::text, case p.prokind when 'p' then 'PROCEDURE' else 'FUNCTION' end, ${GRANTEE},
        (select quote_ident(rolname) from pg_catalog.pg_roles where oid = nullif(x.grantor, p.proowner)),
        exists (select from aclexplode(p.proacl) y where y.grantor = x.grantee)
      from ${CODE},
      lateral aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) x
      where ${NO_SUPERUSER} and ${GRANTED_TO_ME} and x.grantee <> p.proowner and p.proowner not in (select oid from me)
        and p.oid >= 16384 and p.oid <> all ($1::oid[]) and not 'internal'::regtype = any (p.proargtypes)
        and p.prorettype not in ('trigger'::regtype, 'event_trigger'::regtype, 'internal'::regtype)
        and exists (select from me where has_schema_privilege(me.oid, p.pronamespace, 'USAGE'))
    ) a (what, title, kind, grantee, grantor, is_granted_on) where a.what is not null) f
  group by f.what, f.kind, f.grantee, f.grantor`;

/** Logins at other servers. $2: whether capabilities read foreign tables, which need them. */
const LOGINS = `select 9, format('the account has a login at the foreign server %I', m.srvname),
    format('DROP USER MAPPING FOR %s SERVER %I', case when m.umuser = 0 then 'PUBLIC' else quote_ident(m.usename) end, m.srvname)
  from pg_catalog.pg_user_mappings m
  where ${NO_SUPERUSER} and not $2::bool and (m.umuser = 0 or m.umuser in (select oid from me))`;

/** One finding for each grantee, since there may be millions of objects. */
const LARGE_OBJECTS = `select 11, format('the account has UPDATE on large object %s%s',
      ${listed('l.oid::text', 'l.n')}),
    case when count(*) > ${MAX_NAMED} then format('DO $do$ DECLARE o oid; BEGIN FOR o IN SELECT oid FROM pg_largeobject_metadata LOOP '
        'EXECUTE format(%L, o); END LOOP; END $do$', format('REVOKE UPDATE ON LARGE OBJECT %%s FROM %s', replace(l.grantee, '%', '%%')))
      else format('REVOKE UPDATE ON LARGE OBJECT %s FROM %s', string_agg(l.oid::text, ', ' order by l.n), l.grantee) end
  from (select o.oid, ${GRANTEE}, row_number() over (partition by x.grantee order by o.oid)
    from pg_catalog.pg_largeobject_metadata o, lateral aclexplode(o.lomacl) x
    where ${NO_SUPERUSER} and ${GRANTED_TO_ME} and x.grantee <> o.lomowner and x.privilege_type = 'UPDATE') l (oid, grantee, n)
  group by l.grantee`;

const DEFAULT_PRIVILEGES = `select 12, format('the account will have %s on %s that %I makes', string_agg(x.privilege_type, ', ' order by x.privilege_type),
      lower(k.kind), r.rolname),
    format('ALTER DEFAULT PRIVILEGES FOR ROLE %I%s REVOKE %s ON %s FROM %s', r.rolname,
      case when n.nspname is not null then format(' IN SCHEMA %I', n.nspname) end,
      string_agg(x.privilege_type, ', ' order by x.privilege_type), k.kind, ${GRANTEE})
  from pg_catalog.pg_default_acl d join pg_catalog.pg_roles r on r.oid = d.defaclrole
  left join pg_catalog.pg_namespace n on n.oid = d.defaclnamespace
  join (values ('r', 'TABLES'), ('S', 'SEQUENCES'), ('n', 'SCHEMAS'), ('L', 'LARGE OBJECTS')) k (type, kind) on k.type = d.defaclobjtype,
  lateral aclexplode(d.defaclacl) x
  where ${NO_SUPERUSER} and ${GRANTED_TO_ME} and x.grantee <> d.defaclrole and (x.privilege_type not in ('SELECT', 'USAGE')
    or (x.privilege_type = 'USAGE' and d.defaclobjtype = 'S'))
  group by d.oid, r.rolname, n.nspname, k.kind, x.grantee`;

const OWNED = [
  `select 1, format('database %I', o.datname), o.owner from ${DATABASE}`,
  `select 2, format('schema %I', o.nspname), o.owner from ${SCHEMAS}`,
  `select 3, format('%s %s', lower(${RELATION_KIND}), ${RELATION_NAME}), o.owner from ${relations("'r', 'p', 'v', 'm', 'f', 'S'")}`,
  `select 4, pg_describe_object(d.classid, d.objid, 0), d.refobjid from pg_catalog.pg_shdepend d
    where d.deptype = 'o' and d.refclassid = 'pg_catalog.pg_authid'::regclass
      and d.dbid in (0, (select oid from pg_catalog.pg_database where datname = current_database()))
      and d.classid not in (${['database', 'namespace', 'class', 'default_acl', 'user_mapping'].map((name) => `'pg_catalog.pg_${name}'::regclass`).join(', ')})`,
];

/** They have the same remedy. */
const OWNERSHIP = `select 3, format('the account owns %s%s', ${listed('w.what', 'w.n')}), null
  from (select o.what, row_number() over (order by o.rank, o.what) from (${OWNED.join(' union all ')}) o (rank, what, owner)
    where ${NO_SUPERUSER} and o.owner in (select oid from me)) w (what, n) having count(*) > 0`;

const FINDINGS: readonly string[] = [
  SUPERUSER,
  ATTRIBUTES,
  OWNERSHIP,
  grants(
    4,
    'TABLE',
    'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER, MAINTAIN',
    TABLES,
    RELATION_NAME,
  ),
  COLUMN_GRANTS,
  grants(6, 'SEQUENCE', 'USAGE, UPDATE', SEQUENCES, RELATION_NAME),
  grants(7, 'SCHEMA', 'CREATE', SCHEMAS, "format('%I', o.nspname)"),
  grants(8, 'DATABASE', 'CREATE, TEMPORARY', DATABASE, "format('%I', o.datname)"),
  grants(9, 'FOREIGN SERVER', 'USAGE', SERVERS, "format('%I', o.srvname)"),
  grants(9, 'FOREIGN DATA WRAPPER', 'USAGE', WRAPPERS, "format('%I', o.fdwname)"),
  grants(9, 'TABLESPACE', 'CREATE', TABLESPACES, "format('%I', o.spcname)"),
  ...GRANT_OPTIONS,
  KEPT_CATALOGS,
  LANGUAGE_GRANTS,
  KEPT_FUNCTIONS,
  ACTING_FUNCTIONS,
  LOGINS,
  LARGE_OBJECTS,
  DEFAULT_PRIVILEGES,
];

/** (problem, remedy), with null for another account. `PIN_SEARCH_PATH` goes before. */
export function findingsStatement(
  version: number,
  called: readonly string[],
  readsForeignTables: boolean,
): Statement {
  const parameters = grants(13, 'PARAMETER', 'ALTER SYSTEM, SET', PARAMETERS, 'o.name');
  const findings = [
    ...FINDINGS,
    memberships(version),
    adminOptions(version),
    ...(version < PARAMETER_GRANTS_SINCE ? [] : [parameters]),
  ];
  const text = `${PREAMBLE}
select problem, remedy from (${findings.join('\nunion all ')}) f (rank, problem, remedy) order by rank, problem, remedy`;
  return { text, values: [`{${called.join(',')}}`, String(readsForeignTables)] };
}
