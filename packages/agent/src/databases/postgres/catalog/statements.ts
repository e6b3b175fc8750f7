import type { Statement } from '../connection/statement.ts';
import { PIN_SEARCH_PATH } from '../execute/own-statements.ts';

/**
 * The relations that a person made: no partitions, which their parent stands for, and nothing of extensions. The search
 * path is pinned, so names are those of pg_catalog.
 */
const RELATIONS = `pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p', 'v', 'm', 'f') and not c.relispartition and c.relpersistence <> 't'
    and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
    and not exists (select from pg_depend d
      where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')`;
const OWN = `select c.oid from ${RELATIONS}`;

/** The size of a table that was never analyzed tells roughly how many rows it has at most. */
const ROWS = (relation: string): string =>
  `case when ${relation}.reltuples > 0 then ${relation}.reltuples else pg_relation_size(${relation}.oid) / 8192 * 100 end`;

/**
 * What cannot be read, and why: materialized views without data, foreign tables, and the views and parents of partitions
 * that read these. A materialized view itself reads nothing.
 */
const UNREADABLE = `with recursive reads (reader, source) as (
    select i.inhparent, i.inhrelid from pg_inherits i
    union all
    select w.ev_class, d.refobjid from pg_rewrite w join pg_class v on v.oid = w.ev_class and v.relkind = 'v'
      join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = w.oid and d.refclassid = 'pg_class'::regclass),
  unreadable (id, cause) as (
    select c.oid, c.oid from pg_class c where c.relkind = 'f' or c.relkind = 'm' and not c.relispopulated
    union
    select r.reader, u.cause from unreadable u join reads r on r.source = u.id)
  select distinct on (u.id) u.id::bigint as id, case when c.relkind = 'f'
      then 'it reads the foreign table ' || f.name || ', and the server of that table may do more than read'
      else 'it has no rows until this is run: REFRESH MATERIALIZED VIEW ' || f.name end as reason
    from unreadable u join pg_class c on c.oid = u.cause join pg_namespace n on n.oid = c.relnamespace,
      lateral (select quote_ident(n.nspname) || '.' || quote_ident(c.relname)) f (name)
    order by u.id, u.id <> u.cause, c.oid`;

const TABLES = `select c.oid::bigint as id, n.nspname as schema, c.relname as name,
    quote_ident(n.nspname) || '.' || quote_ident(c.relname) as sql, c.relkind as kind,
    c.relrowsecurity as row_security, obj_description(c.oid, 'pg_class') as comment,
    case when c.relkind = 'p' then (select coalesce(sum(${ROWS('l')}), 0) from pg_partition_tree(c.oid) t
        join pg_class l on l.oid = t.relid where t.isleaf)
      when c.relkind in ('r', 'm') then ${ROWS('c')} end as rows
  from ${RELATIONS} order by n.nspname, c.relname`;

/** Not a parent's, whose children may hold nulls, nor by a constraint that old rows need not fulfil. */
const NOT_NULL = `(a.attnotnull
    and not exists (select from pg_class c where c.oid = a.attrelid and c.relkind = 'r' and c.relhassubclass)
    and not exists (select from pg_constraint k where k.conrelid = a.attrelid and k.contype = 'n' and not k.convalidated
      and a.attnum = any (k.conkey)))`;

const COLUMNS = `with recursive based as (
    select t.oid as type, t.oid as base, t.typbasetype as next, t.typtypmod as modifier, t.typnotnull as not_null
      from pg_type t
    union all
    select b.type, t.oid, t.typbasetype, case when b.modifier >= 0 then b.modifier else t.typtypmod end,
        b.not_null or t.typnotnull
      from based b join pg_type t on t.oid = b.next)
  select a.attrelid::bigint as id, a.attnum as number, a.attname as name, quote_ident(a.attname) as sql,
    format_type(a.atttypid, a.atttypmod) as type, ${NOT_NULL} or b.not_null as not_null,
    col_description(a.attrelid, a.attnum) as comment, t.typname as base, t.typtype as form,
    t.typcategory as category, n.nspname as base_schema, a.atttypid <> t.oid as is_domain,
    case when a.atttypmod >= 0 then a.atttypmod else b.modifier end as modifier,
    (select json_agg(e.enumlabel order by e.enumsortorder) from pg_enum e where e.enumtypid = t.oid) as labels,
    (select json_agg(pg_get_constraintdef(k.oid)) from pg_constraint k where k.contypid = a.atttypid) as checks
  from pg_attribute a join based b on b.type = a.atttypid and b.next = 0
  join pg_type t on t.oid = b.base join pg_namespace n on n.oid = t.typnamespace
  where a.attrelid in (${OWN}) and a.attnum > 0 and not a.attisdropped order by a.attrelid, a.attnum`;

const CONSTRAINTS = `select k.conrelid::bigint as id, k.contype as kind, k.conkey as columns,
    k.confrelid::bigint as target, k.confkey as target_columns,
    case when k.contype = 'c' then pg_get_constraintdef(k.oid) end as definition
  from pg_constraint k where k.contype in ('f', 'c') and k.conparentid = 0 and k.conrelid in (${OWN})
  order by k.conrelid, k.conkey, k.conname`;

const INDEXES = `select i.indrelid::bigint as id, i.indisprimary as "primary", i.indisunique as "unique",
    i.indpred is not null as partial, m.amname as method,
    (select json_agg(k.number order by k.at) from unnest(i.indkey::int2[]) with ordinality k (number, at)
      where k.at <= i.indnkeyatts) as columns,
    (select json_agg(o.opcname order by k.at) from unnest(i.indclass::oid[]) with ordinality k (class, at)
      join pg_opclass o on o.oid = k.class) as classes
  from pg_index i join pg_class x on x.oid = i.indexrelid join pg_am m on m.oid = x.relam
  where i.indisvalid and i.indislive and i.indrelid in (${OWN})
  order by i.indrelid, i.indisprimary desc, array_length(i.indkey::int2[], 1), x.relname`;

/** Nothing else of the statistics, which hold values of rows. */
const DISTINCT = `select s.schemaname as schema, s.tablename as "table", s.attname as "column", max(s.n_distinct) as "distinct"
  from pg_stats s where s.schemaname !~ '^pg_' and s.schemaname <> 'information_schema' group by 1, 2, 3`;

/** The number 0 stands for the whole table. */
const LABELS = `select l.objoid::bigint as id, l.objsubid as number, string_agg(l.label, ' ' order by l.provider) as label
  from pg_seclabel l where l.classoid = 'pg_class'::regclass group by 1, 2`;

const PARTS = {
  tables: TABLES,
  unreadable: UNREADABLE,
  columns: COLUMNS,
  constraints: CONSTRAINTS,
  indexes: INDEXES,
  distinct: DISTINCT,
  labels: LABELS,
  database: `select current_database() as name, (select json_agg(r.rolname) from pg_roles r) as accounts`,
};

/** Each yields one row with one JSON array, in the order of `PART_NAMES`. The first has no result. */
export const CATALOG_STATEMENTS: readonly Statement[] = [
  PIN_SEARCH_PATH,
  ...Object.values(PARTS).map((text) => ({ text: `select coalesce(json_agg(r), '[]') from (${text}) r` })),
];
export const PART_NAMES: readonly string[] = Object.keys(PARTS);
