import type { Statement } from '../connection/statement.ts';
import { BODIES, NEEDED, neededValue } from '../verify/grants/grants-query.ts';
import type { NeededObject } from '../verify/grants/needed-objects.ts';
import { GRANTED_TO_ME, GRANTEE, listed, MAX_NAMED, NO_SUPERUSER, PREAMBLE } from './findings-query.ts';

/** ('call', oid) of the functions that may be called; see also `BODIES`. */
export function calledStatement(needed: readonly NeededObject[]): Statement {
  return {
    text: `with recursive ${NEEDED}
select b.what, b.text, b.extra from (select distinct 1, 'call', l.oid::text, null from calls l union all ${BODIES}) b (rank, what, text, extra)`,
    values: [neededValue(needed)],
  };
}

/**
 * What is granted of tables and views, and what of it is needed, by grantee. What an extension has given everybody
 * counts as needed, since its own functions may read it.
 */
const READABLE = `readable as (
  select c.oid, quote_ident(n.nspname) as schema, format('%I.%I', n.nspname, c.relname) as name, g.grantee, g.grantor, g.is_whole,
    b.is_brought or exists (select from own where own.relation = c.oid) as is_needed,
    a.needed, a.beyond, b.is_brought or a.is_all as is_all
  from pg_class c join pg_namespace n on n.oid = c.relnamespace cross join lateral (
    select ${GRANTEE}, nullif(x.grantor, c.relowner), bool_or(x.number = 0), array_agg(x.number)
    from (select y.*, 0 from aclexplode(c.relacl) y union all select y.*, a.attnum from pg_attribute a, aclexplode(a.attacl) y
      where a.attrelid = c.oid and a.attacl is not null and not a.attisdropped) x (grantor, grantee, privilege_type, is_grantable, number)
    where ${GRANTED_TO_ME} and x.privilege_type = 'SELECT' and x.grantee <> c.relowner
    group by x.grantee, nullif(x.grantor, c.relowner)
  ) g (grantee, grantor, is_whole, numbers) cross join lateral (
    select string_agg(quote_ident(a.attname), ', ' order by a.attnum) filter (where o.col is not null),
      string_agg(quote_ident(a.attname), ', ' order by a.attnum)
        filter (where o.col is null and (g.is_whole or a.attnum = any (g.numbers))),
      bool_and(o.col is not null)
    from pg_attribute a left join own o on o.relation = a.attrelid and o.col = a.attnum
    where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  ) a (needed, beyond, is_all) cross join lateral (
    select exists (select from pg_init_privs i, lateral aclexplode(i.initprivs) d where i.classoid = 'pg_class'::regclass
      and i.objoid = c.oid and i.objsubid = 0 and d.grantee = 0 and d.privilege_type = 'SELECT')
  ) b (is_brought)
  where ${NO_SUPERUSER} and c.relkind in ('r', 'p', 'v', 'm', 'f') and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
    and c.relowner not in (select oid from me)),
partly as (select * from readable where is_needed and not is_all and needed is not null and beyond is not null),
unread as (select *, row_number() over (partition by grantee, grantor order by name) as n from readable where not is_needed)`;

const ROLE = "'SET ROLE ' || (select quote_ident(rolname) from pg_roles where oid = u.grantor) || '; '";

/** Many tables are revoked by their schemas; what is needed there is granted again. */
const UNREAD = `select 1, 'note', concat('the account has SELECT on what no capability names: ', ${listed('u.name', 'u.n')}),
    concat(${ROLE}, case when count(*) <= ${MAX_NAMED}
      then format('REVOKE SELECT ON %s FROM %s', string_agg(u.name, ', ' order by u.n), u.grantee)
      else format('REVOKE SELECT ON ALL TABLES IN SCHEMA %s FROM %s', string_agg(distinct u.schema, ', '), u.grantee)
        || coalesce((select string_agg(format('; GRANT SELECT%s ON %s TO %s',
            case when not r.is_all and r.needed is not null then format(' (%s)', r.needed) end, r.name, r.grantee), '' order by r.name)
          from readable r where r.is_needed and r.grantee = u.grantee and r.grantor is not distinct from u.grantor
            and r.schema = any (array_agg(u.schema))), '') end,
      case when u.grantor is not null then '; RESET ROLE' end)
  from unread u group by u.grantee, u.grantor`;

const COLUMNS = `select 2, 'note', concat('the account has SELECT on columns that no capability names: ', ${listed("format('%s (%s)', u.name, u.beyond)", 'u.n')}),
    concat(${ROLE}, string_agg(case when u.is_whole
        then format('REVOKE SELECT ON %1$s FROM %2$s; GRANT SELECT (%3$s) ON %1$s TO %2$s', u.name, u.grantee, u.needed)
        else format('REVOKE SELECT (%s) ON %s FROM %s', u.beyond, u.name, u.grantee) end, '; ' order by u.n),
      case when u.grantor is not null then '; RESET ROLE' end)
  from (select *, row_number() over (partition by grantee, grantor order by name) as n from partly) u group by u.grantee, u.grantor`;

const CALLED = `select 3, 'note', concat('capabilities may call what runs as its owner (SECURITY DEFINER): ', ${listed('f.title', 'f.n')}), null
  from (select p.oid::regprocedure::text, row_number() over (order by p.oid::regprocedure::text) from pg_proc p
    where p.oid in (select l.oid from calls l) and p.prosecdef and p.proowner not in (select oid from me)) f (title, n)
  having count(*) > 0`;

/** ('note', what, the statement that takes it away or null); see also `BODIES`. `PIN_SEARCH_PATH` goes before. */
export function notesStatement(needed: readonly NeededObject[]): Statement {
  return {
    text: `${PREAMBLE}, ${NEEDED},
own (relation, col) as materialized (select distinct r.relation, r.col from reads r join session s on s.oid = r.role),
${READABLE}
select f.what, f.text, f.extra from (${[UNREAD, COLUMNS, CALLED, BODIES].join('\nunion all ')}) f (rank, what, text, extra)
order by f.rank, f.text`,
    values: [neededValue(needed)],
  };
}
