import type { Statement } from '../../connection/statement.ts';
import type { NeededObject } from './needed-objects.ts';

/** Read by checks and audits; a server may keep them from PUBLIC. */
const CATALOGS =
  `pg_aggregate pg_amproc pg_attrdef pg_attribute pg_auth_members pg_cast pg_class pg_constraint pg_database
  pg_default_acl pg_depend pg_enum pg_extension pg_foreign_data_wrapper pg_foreign_server pg_foreign_table pg_index pg_inherits
  pg_init_privs pg_language pg_largeobject_metadata pg_namespace pg_operator pg_opclass pg_parameter_acl pg_policy
  pg_prepared_statements pg_proc pg_range pg_rewrite pg_roles pg_shdepend pg_tablespace pg_type pg_user_mappings`
    .split(/\s+/)
    .map((name) => `'${name}'`)
    .join(', ');

/** Asks for the grants on catalogs that the account lacks. */
export const CATALOG_GRANTS: Statement = {
  text: `select 'sure', format('GRANT SELECT ON %s.%I TO %I', c.relnamespace::regnamespace, c.relname, current_user), null
    from pg_class c where c.relnamespace = 'pg_catalog'::regnamespace and c.relname in (${CATALOGS})
      and not has_table_privilege(c.oid, 'SELECT') order by 2`,
};

const IS_INVOKER = `exists (select from pg_options_to_table(c.reloptions) o
        where o.option_name = 'security_invoker' and o.option_value::bool)`;

/**
 * Everything that is read, with the role whose privileges count: (relation, column, role). The column 0 stands for the
 * relation as such. A view is read as its owner, and a policy as the role that reads the table.
 */
const READS = `reads (relation, col, role) as (
    (select f.oid, a.attnum, s.oid from relations f join w on w.i = f.i cross join session s
      join pg_attribute a on a.attrelid = f.oid and a.attnum > 0 and not a.attisdropped
      where w."isWhole" or w.columns ? a.attname::text or (w."rowName" is not null and not exists (
        select from pg_attribute b where b.attrelid = f.oid and b.attname::text = w."rowName" and b.attnum > 0))
    union all select f.oid, 0::int2, s.oid from relations f cross join session s)
    union select e.relation, e.col, e.role from reads r join pg_class c on c.oid = r.relation and r.col = 0
      join pg_roles o on o.oid = r.role cross join lateral (
        select d.refobjid, x.col, case when ${IS_INVOKER} then (select oid from session) else c.relowner end
          from pg_rewrite v join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = v.oid
          cross join lateral (values (d.refobjsubid::int2), (0::int2)) x (col)
          where c.relkind = 'v' and v.ev_class = c.oid and v.ev_type = '1'
            and d.refclassid = 'pg_class'::regclass and d.refobjid <> c.oid
        union all select d.refobjid, x.col, r.role
          from pg_policy p join pg_depend d on d.classid = 'pg_policy'::regclass and d.objid = p.oid
          cross join lateral (values (d.refobjsubid::int2), (0::int2)) x (col)
          where c.relrowsecurity and p.polrelid = c.oid and p.polcmd in ('r', '*') and not (o.rolsuper or o.rolbypassrls)
            and (c.relforcerowsecurity or not pg_has_role(r.role, c.relowner, 'USAGE'))
            and exists (select from unnest(p.polroles) m (oid) where m.oid = 0 or pg_has_role(r.role, m.oid, 'USAGE'))
            and d.refclassid = 'pg_class'::regclass and d.refobjid <> c.oid
      ) e (relation, col, role))`;

/**
 * What is needed of the objects of $1, as parts of a WITH RECURSIVE query: `session`, the account; `reads`; and `calls`,
 * the functions, with one number for those of which one is meant.
 */
export const NEEDED: string = `session (oid) as materialized (select oid from pg_roles where rolname = current_user),
  w as materialized (select * from jsonb_to_recordset($1::jsonb) as w (i int, kind text, schemas jsonb, "isQualified" bool,
    name text, columns jsonb, "isWhole" bool, "rowName" text, arguments int)),
  places (i, schema, ord, usable) as materialized (select w.i, n.oid, s.ord, has_schema_privilege(n.oid, 'USAGE')
    from w cross join lateral jsonb_array_elements_text(w.schemas) with ordinality s (name, ord)
    join pg_namespace n on n.nspname = s.name::name),
  objects (i, kind, oid, schema, ord, usable) as materialized (
    select w.i, w.kind, c.oid, p.schema, p.ord, p.usable from w join places p on p.i = w.i
      join pg_class c on c.relnamespace = p.schema and c.relname = w.name::name
      where w.kind = 'relation' and c.relkind in ('r', 'v', 'm', 'f', 'p', 'S')
    union all select w.i, w.kind, f.oid, p.schema, p.ord, p.usable from w join places p on p.i = w.i
      join pg_proc f on f.pronamespace = p.schema and f.proname = w.name::name
      where w.kind = 'function' and w.arguments >= f.pronargs - f.pronargdefaults - (f.provariadic <> 0)::int
        and (w.arguments <= f.pronargs or f.provariadic <> 0)
    union all select w.i, w.kind, t.oid, p.schema, p.ord, p.usable from w join places p on p.i = w.i
      join pg_type t on t.typnamespace = p.schema and t.typname = w.name::name where w.kind = 'type'),
  relations (i, oid) as materialized (
    select distinct on (o.i) o.i, o.oid from objects o where o.kind = 'relation' order by o.i, o.usable desc, o.ord),
  schemas (oid) as (
    select p.schema from places p join w on w.i = p.i where w."isQualified" and not p.usable
    union select o.schema from objects o where not o.usable and not exists (select from objects u where u.i = o.i and u.usable)),
  ${READS},
  tables as (select r.relation, r.role, has_any_column_privilege(r.role, r.relation, 'SELECT') as has_some,
      count(*) filter (where r.col > 0) as columns,
      string_agg(quote_ident(a.attname), ', ' order by r.col)
        filter (where r.col > 0 and not has_column_privilege(r.role, r.relation, r.col, 'SELECT')) as missing
    from reads r left join pg_attribute a on a.attrelid = r.relation and a.attnum = r.col and r.col > 0
    where not has_table_privilege(r.role, r.relation, 'SELECT') group by r.relation, r.role),
  calls (i, oid) as (
    select o.i, o.oid from objects o where o.kind = 'function' and (o.usable
      or not exists (select from objects u where u.i = o.i and u.usable))
    union select -d.refobjid::int8, d.refobjid from reads r join pg_class c on c.oid = r.relation and c.relkind = 'v'
      join pg_rewrite v on v.ev_class = c.oid and v.ev_type = '1'
      join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = v.oid and d.refclassid = 'pg_proc'::regclass
    union select -d.refobjid::int8, d.refobjid from reads r
      join pg_policy p on p.polrelid = r.relation and p.polcmd in ('r', '*')
      join pg_depend d on d.classid = 'pg_policy'::regclass and d.objid = p.oid and d.refclassid = 'pg_proc'::regclass)`;

/** Functions of SQL whose text has to be read: ('body', their text, their search path). */
export const BODIES: string = `select distinct 4, 'body', f.prosrc, (select substr(x, 13) from unnest(f.proconfig) x where x like 'search_path=%')
    from calls l join pg_proc f on f.oid = l.oid join pg_language k on k.oid = f.prolang
    where k.lanname = 'sql' and not f.prosecdef and f.prokind = 'f' and f.prosrc <> '' and f.oid >= 16384`;

const GRANTS = `with recursive ${NEEDED}
select g.what, g.text, g.extra from (
  select 1, 'sure', format('GRANT USAGE ON SCHEMA %s TO %I', s.oid::regnamespace, current_user), null from schemas s
  union all select 2, 'sure', format('GRANT SELECT%s ON %s%I.%I TO %I', case when t.has_some then format(' (%s)', t.missing) end,
      case when c.relkind = 'S' then 'SEQUENCE ' end, n.nspname, c.relname, o.rolname), null
    from tables t join pg_class c on c.oid = t.relation join pg_namespace n on n.oid = c.relnamespace
      join pg_roles o on o.oid = t.role
    where t.missing is not null or (t.columns = 0 and not t.has_some)
  union all select distinct 3, case when (select count(*) from calls a where a.i = l.i) = 1 then 'sure' else 'maybe' end,
      format('GRANT EXECUTE ON FUNCTION %s TO %I', l.oid::regprocedure, current_user), null
    from calls l where not has_function_privilege(l.oid, 'EXECUTE')
  union all ${BODIES}
) g (rank, what, text, extra) order by g.rank, g.text`;

/**
 * Asks what the account lacks: ('sure', a GRANT) if it is needed, ('maybe', a GRANT) if one of several functions is
 * meant, and ('body', its text, its search path) of functions whose text has to be read. `PIN_SEARCH_PATH` goes before.
 */
export function grantsStatement(needed: readonly NeededObject[]): Statement {
  return { text: GRANTS, values: [neededValue(needed)] };
}

export function neededValue(needed: readonly NeededObject[]): string {
  return JSON.stringify(needed.map((each, i) => ({ i, ...each })));
}
